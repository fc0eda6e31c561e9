//! Inboxes: the notifications of users, how long they last, and which ones an erasure takes out.

pub mod entries;
pub mod erasure;
pub mod notices;
pub mod notifications;
pub mod retention;
