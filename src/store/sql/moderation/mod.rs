//! Decisions about notes, comments and groups, and reports.

pub mod decisions;
pub mod groups;
pub mod queue;
pub mod reports;
