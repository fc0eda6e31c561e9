//! The processes of Redis: where shards are, whether they may be trusted, and how a call gets there.

pub mod cluster;
pub mod connection;
pub mod deployment;
pub mod handover;
pub mod identity;
pub mod installation;
pub mod link;
pub mod log_connection;
pub mod log_reads;
pub mod map;
pub mod moves;
pub mod node;
pub mod process;
pub mod refusals;
pub mod rights;
pub mod server;
pub mod shards_of_nodes;
pub mod sync;
