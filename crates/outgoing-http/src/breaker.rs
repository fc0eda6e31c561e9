//! Circuit breaker of an endpoint: pauses calls after failures in a row.

use std::time::Duration;

use failsafe::{
    Config, Instrument, StateMachine,
    failure_policy::{self, ConsecutiveFailures},
};

pub type Breaker<Pauses> = StateMachine<ConsecutiveFailures<Pauses>, Log>;

/// Opens after `failures` in a row, for the next of the pauses. After that it is half-open: the first call to
/// end closes it, or opens it again if it failed, for the pause after that. `of`: the endpoint in the log;
/// `None` if the caller reports failures.
pub fn breaker<Pauses>(of: Option<&'static str>, failures: u32, pauses: Pauses) -> Breaker<Pauses>
where
    Pauses: Iterator<Item = Duration> + Clone,
{
    let policy = failure_policy::consecutive_failures(failures, pauses);
    Config::new().failure_policy(policy).instrument(Log(of)).build()
}

pub struct Log(Option<&'static str>);

impl Instrument for Log {
    fn on_call_rejected(&self) {}

    fn on_open(&self) {
        if let Some(of) = self.0 {
            tracing::warn!("{of} keeps failing; calls are paused");
        }
    }

    fn on_half_open(&self) {
        if let Some(of) = self.0 {
            tracing::info!("{of} is called again");
        }
    }

    /// Also called when the breaker is created.
    fn on_closed(&self) {}
}
