//! The objects that clients read, each with its fields. They lead to each other, so these files import each other:
//! the only circle of imports in this folder's house.

pub mod comments;
pub mod groups;
pub mod inbox;
pub mod inbox_entries;
pub mod nodes;
pub mod notes;
pub mod users;
pub mod visibility;
