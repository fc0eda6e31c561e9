//! Edges: switching one on or off, and the lists along them.

pub mod collects;
pub mod durability;
pub mod follows;
pub mod joins;
pub mod likes;
pub mod lists;
pub mod switch;
