//! Subscriptions, and the fan-out of their messages: subscriptions with equal document, variables and viewer share one
//! execution per message, and its bytes go to all of them.
//!
//! - [`subscriptions`]: the root fields; [`topic`]: the data that they exchange with the engine
//! - [`changes`]: the messages of lists; [`message`]: a message as JSON
//! - [`fanout`]: the shared subscriptions of this process, by key and topic
//! - [`key`]: which subscriptions are equal; [`memory`]: the error of those that take too much
//! - [`shared`]: a shared subscription, its members and messages; [`message_task`]: its task
//! - [`signals`]: when there may be a message; [`pace`]: how often it sends
//! - [`stream`]: the messages of one client's subscription; [`ready_set`]: which of its topics have a new message

pub mod changes;
pub mod fanout;
pub mod key;
mod memory;
pub mod message;
mod message_task;
pub mod pace;
pub mod ready_set;
pub mod shared;
pub mod signals;
pub mod stream;
pub mod subscriptions;
pub mod topic;
