//! Connections of clients: accepting them, their limits, and which makes room for another.

pub(super) mod connection;
pub(super) mod counts;
pub(super) mod idle;
pub(super) mod listener;
pub(super) mod serve;
pub(super) mod sockets;
