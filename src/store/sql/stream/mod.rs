//! The stream of events, and the webhook that delivers it.

pub mod events;
pub(super) mod json;
pub(super) mod new_event;
pub mod retention;
pub mod webhooks;
