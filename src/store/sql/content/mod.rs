//! Notes, comments and groups with their texts, also those that wait to be judged, and the lists of them.

pub mod changes;
pub mod comments;
pub mod given_ids;
pub mod groups;
pub mod keys;
pub mod note_lists;
pub mod notes;
pub mod removed_texts;
pub mod submissions;
pub mod texts;
pub mod threads;
