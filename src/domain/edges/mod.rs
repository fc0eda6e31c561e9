//! Edges: switching one on or off, whether it is on, and the lists along them.

pub mod collects;
pub mod durability;
pub mod follows;
pub mod joins;
pub mod likes;
pub mod lists;
pub mod membership;
pub mod switch;
