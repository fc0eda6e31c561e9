//! Inboxes: what users are told, how long it lasts, and what an erasure takes out.

pub mod entries;
pub(super) mod erasure;
pub mod notices;
pub(super) mod notifications;
pub(super) mod retention;
