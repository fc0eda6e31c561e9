//! Edges of a user: flips, cached sets, pending flips and the newest ones.

pub(super) mod claim;
pub(super) mod flip;
pub(super) mod newest;
pub(super) mod pending;
pub(super) mod sets;
