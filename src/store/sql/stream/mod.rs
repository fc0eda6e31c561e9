//! The stream of events, and the webhook that delivers it.

pub mod events;
pub mod json;
pub mod retention;
pub mod webhooks;
