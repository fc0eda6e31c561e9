//! Notes, comments and groups: writing, reading and counting them.

pub mod activity;
pub mod app_keys;
pub mod changes;
pub mod comment_text;
pub mod comments;
pub mod edits;
pub mod feed;
pub mod groups;
pub mod notes;
pub mod rankings;
pub mod ratings;
pub mod upserts;
pub mod views;
