//! Object types: their fields, by domain word.

pub mod activity;
pub mod coins;
pub mod comments;
pub mod events;
pub mod groups;
pub mod inbox;
pub mod inbox_badges;
pub mod inbox_entries;
pub mod lists;
pub mod moderation_states;
pub mod nodes;
pub mod notes;
pub mod pending_edits;
pub mod ratings;
pub mod reports;
pub mod suspension;
pub mod users;
pub mod viewer;
pub mod visibility;
