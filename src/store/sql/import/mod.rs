//! Imports: rows of an app's history, written set by set. One method per statement.

pub mod edges;
pub mod entities;
pub mod names;
pub mod ratings;
pub mod runs;
