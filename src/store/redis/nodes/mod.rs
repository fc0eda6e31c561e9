//! The processes of Redis: where shards are, whether they may be trusted, and how a call gets there.

pub mod acl;
pub mod call;
pub mod cluster;
pub mod deployment;
pub mod handover;
pub mod history;
pub mod installation;
pub mod link;
pub mod map;
pub mod moves;
pub mod node;
pub mod places;
pub mod process;
pub mod refusals;
pub mod rights;
pub mod server;
pub mod sync;
pub mod tags;
pub mod waiting;
