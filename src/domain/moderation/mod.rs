//! Decisions of people about texts, reports and groups.

pub(super) mod groups;
pub(super) mod reports;
pub(super) mod texts;
