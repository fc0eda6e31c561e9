//! Subscriptions, and the fan-out of their events: subscriptions with equal document, variables and viewer share one
//! execution per event, and its bytes go to all of them.
//!
//! - [`subscriptions`]: the root fields; [`topic`]: the data that they exchange with the engine
//! - [`changes`]: the events of lists; [`event`]: an event as JSON
//! - [`fanout`]: the shared subscriptions of this process, by key and topic
//! - [`key`]: which subscriptions are equal; [`memory`]: the error of those that take too much
//! - [`shared`]: a shared subscription, its members and events; [`event_task`]: its task
//! - [`signals`]: when there may be an event; [`pace`]: how often it sends
//! - [`stream`]: the events of one client's subscription; [`ready_set`]: which of its topics have a new event

pub mod changes;
pub mod event;
mod event_task;
pub mod fanout;
pub mod key;
mod memory;
pub mod pace;
pub mod ready_set;
pub mod shared;
pub mod signals;
pub mod stream;
pub mod subscriptions;
pub mod topic;
