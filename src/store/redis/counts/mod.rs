//! Counters, their loads and the messages about their changes; and heat.

pub mod channel;
pub mod counters;
pub mod heat;
pub mod loads;
pub mod push_queue;
