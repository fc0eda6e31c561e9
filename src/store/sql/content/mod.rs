//! Notes, comments and groups with their texts, and the lists of them.

pub mod changes;
pub mod comments;
pub(super) mod given_ids;
pub mod groups;
pub(super) mod keys;
pub(super) mod note_lists;
pub mod notes;
pub(super) mod removed_texts;
pub mod threads;
