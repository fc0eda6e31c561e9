//! Counters, their loads and the messages about their changes; and heat.

pub(super) mod channel;
pub(super) mod counters;
pub(super) mod heat;
pub(super) mod inspect;
pub(super) mod loads;
pub(super) mod push_queue;
