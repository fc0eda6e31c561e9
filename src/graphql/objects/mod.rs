//! The object types of the schema, with their fields.

pub mod comments;
pub mod groups;
pub mod inbox;
pub mod inbox_entries;
pub mod nodes;
pub mod note_lists;
pub mod notes;
pub mod users;
pub mod visibility;
