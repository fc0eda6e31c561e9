//! The fields of `Mutation`, by domain word: input, payload and what each does. [`action`] is what all of them
//! have in common.

pub mod action;
pub mod coins;
pub mod collects;
pub mod comments;
pub mod follows;
pub mod groups;
pub mod inbox;
pub mod likes;
pub mod moderation;
pub mod notes;
pub mod ratings;
pub mod views;
pub mod visibility;
