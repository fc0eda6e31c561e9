//! The stream of events, and the webhook that delivers it.

pub mod events;
pub mod json;
pub mod new_event;
pub mod removals;
pub mod retention;
pub mod webhooks;
