//! The fields of `Query`, by domain word. Files with the same names hold the objects in [`super::objects`] and the
//! writes in [`super::mutations`].

pub mod feed;
pub mod groups;
pub mod history;
pub mod moderation;
pub mod nodes;
pub mod notes;
pub mod rankings;
pub mod users;
pub mod visibility;
