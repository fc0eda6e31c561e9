//! Subscriptions, and the fan-out of their events: an event is executed and encoded once for all subscriptions
//! that select the same.
//!
//! - [`subscriptions`]: the root fields; [`topic`]: what they and the engine tell each other
//! - [`fanout`]: all shared subscriptions of this process, by their keys
//! - [`key`]: which subscriptions may share one execution; [`viewers`]: whether a document shows each viewer
//!   something else
//! - [`shared`]: the task of one shared subscription; [`pace`]: how often it may send
//! - [`subscriber`]: the events of one subscription; [`ready_set`]: which of its topics have new ones

pub mod fanout;
pub mod key;
pub mod pace;
pub mod ready_set;
pub mod shared;
pub mod subscriber;
pub mod subscriptions;
pub mod topic;
pub mod viewers;
