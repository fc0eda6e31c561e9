//! Circuit breaker of the endpoint: pauses calls after several failures in a row.

use std::time::Duration;

use failsafe::{
    Config, Instrument, StateMachine,
    backoff::{self, Constant},
    failure_policy::{self, ConsecutiveFailures},
};

pub(super) type EndpointBreaker = StateMachine<ConsecutiveFailures<Constant>, Log>;

/// Opens after `failures` in a row. After `open_time` it is half-open: the first call to end closes it, or opens
/// it again if it failed.
pub(super) fn new(failures: u32, open_time: Duration) -> EndpointBreaker {
    let policy = failure_policy::consecutive_failures(failures, backoff::constant(open_time));
    Config::new().failure_policy(policy).instrument(Log).build()
}

pub(super) struct Log;

impl Instrument for Log {
    fn on_call_rejected(&self) {}

    fn on_open(&self) {
        tracing::warn!("the moderator keeps failing; calls are paused");
    }

    fn on_half_open(&self) {
        tracing::info!("calling the moderator again");
    }

    /// Also called when the breaker is created.
    fn on_closed(&self) {}
}
