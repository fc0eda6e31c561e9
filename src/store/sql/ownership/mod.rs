//! Which process runs the pipeline of which shard, and how far it is.

pub mod installation;
pub mod reshard;
pub mod shards;
pub mod sharing;
