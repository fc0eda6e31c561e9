//! Decisions about notes, comments and groups, and reports.

pub mod comments;
pub mod groups;
pub mod notes;
pub mod reports;
