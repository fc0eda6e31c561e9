//! The object types of the schema, with their fields. They refer to each other, so these files import each other: the
//! only circular imports in the GraphQL layer.

pub mod comments;
pub mod groups;
pub mod inbox;
pub mod inbox_entries;
pub mod nodes;
pub mod notes;
pub mod users;
pub mod visibility;
