//! Leaves an endpoint alone that fails again and again.

use std::time::Duration;

use failsafe::{
    Config, Instrument, StateMachine,
    backoff::{self, Constant},
    failure_policy::{self, ConsecutiveFailures},
};

pub(super) type EndpointBreaker = StateMachine<ConsecutiveFailures<Constant>, Log>;

/// Opens after so many `failures` in a row. After a `rest` calls are made again: if the first to end
/// fails it is open again, else closed.
pub(super) fn new(failures: u32, rest: Duration) -> EndpointBreaker {
    let policy = failure_policy::consecutive_failures(failures, backoff::constant(rest));
    Config::new().failure_policy(policy).instrument(Log).build()
}

pub(super) struct Log;

impl Instrument for Log {
    fn on_call_rejected(&self) {}

    fn on_open(&self) {
        tracing::warn!("the moderator fails again and again; no calls for a while");
    }

    fn on_half_open(&self) {
        tracing::info!("calling the moderator again");
    }

    /// Also called at the start.
    fn on_closed(&self) {}
}
