//! Edges of a user: flips, cached sets, pending flips and the newest ones.

pub mod claim;
pub mod flip;
pub mod newest;
pub mod pending;
pub mod sets;
pub mod waiting;
