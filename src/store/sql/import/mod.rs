//! Imports: rows of an app's past, written set by set, a function for each statement; and lines to import elsewhere.

pub mod edges;
pub mod lines;
pub mod names;
pub mod ratings;
pub mod runs;
