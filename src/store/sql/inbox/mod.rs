//! Inboxes: what users are told, how long it lasts, and what an erasure takes out.

pub mod entries;
pub mod erasure;
pub mod notices;
pub mod notifications;
pub mod retention;
