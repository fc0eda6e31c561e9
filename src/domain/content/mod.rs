//! Notes, comments and groups: writing, reading and counting them.

pub(super) mod app_keys;
pub(super) mod changes;
pub(super) mod comment_edits;
pub(super) mod comment_text;
pub(super) mod comments;
pub(super) mod feed;
pub(super) mod groups;
pub(super) mod history;
pub(super) mod invisible;
pub(super) mod notes;
pub(super) mod rankings;
pub(super) mod ratings;
pub(super) mod text;
pub(super) mod upserts;
pub(super) mod view_window;
pub(super) mod views;
