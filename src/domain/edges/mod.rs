//! Edges: switching one on or off, whether it is on, and the lists along them.

pub(super) mod collects;
pub(super) mod durability;
pub(super) mod follows;
pub(super) mod likes;
pub(super) mod lists;
pub(super) mod membership;
pub(super) mod switch;
