//! Decisions of people about texts, reports and groups.

pub mod groups;
pub mod reports;
pub mod texts;
