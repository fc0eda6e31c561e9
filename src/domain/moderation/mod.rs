//! Decisions of people about texts, reports and groups.

pub mod decisions;
pub mod groups;
pub mod reports;
