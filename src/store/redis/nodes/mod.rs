//! The processes of Redis: where shards are, whether they may be trusted, and how a call gets there.

pub(crate) mod acl;
pub(super) mod call;
pub(super) mod cluster;
pub(super) mod deployment;
pub(super) mod handover;
pub(super) mod history;
pub(super) mod installation;
pub(super) mod link;
pub(super) mod map;
pub(super) mod moves;
pub(super) mod node;
pub(super) mod places;
pub(super) mod process;
pub(super) mod refusals;
pub(super) mod rights;
pub(super) mod server;
pub(super) mod sync;
pub(super) mod tags;
pub(super) mod waiting;
