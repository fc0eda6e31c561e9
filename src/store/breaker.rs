//! Circuit breaker: calls to a store that does not answer fail within microseconds instead of at a timeout.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use failsafe::{
    Config, Instrument, StateMachine,
    failure_policy::{self, ConsecutiveFailures},
};

use super::{ErrorClass, StoreError, StoreResult};

/// Number of calls in a row without an answer that open the breaker.
const FAILURES: u32 = 3;
/// How long the breaker then stays open: twice as long after each failed probe, up to the longest. Jitter adds up to
/// as much again, so that processes do not all probe at the same moment.
const FIRST_REST: Duration = Duration::from_millis(50);
const LONGEST_REST: Duration = Duration::from_millis(500);

/// What a call does while its store does not answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitPolicy {
    /// Fails at once. For requests.
    FailFast,
    /// Is always sent, and closes the breaker when it is answered. For the pipeline, which waits for the store.
    Wait,
}

impl WaitPolicy {
    /// Histogram of the durations of such calls, in a store's metric.
    pub fn seconds(self, metric: &'static str) -> metrics::Histogram {
        let caller = match self {
            Self::FailFast => "request",
            Self::Wait => "pipeline",
        };
        metrics::histogram!(metric, "caller" => caller)
    }
}

/// One breaker per store. Only a call without an answer is a failure: any answer, even an error, shows that the store
/// is up.
pub struct Breaker {
    machine: StateMachine<ConsecutiveFailures<Rests>, StoreState>,
    state: StoreState,
    /// Whether a request's call probes the store now; other requests are refused meanwhile.
    probing: AtomicBool,
}

impl Breaker {
    /// `store`: its name in errors and metrics.
    pub fn new(store: &'static str) -> Self {
        for class in ErrorClass::ALL {
            errors_total(store, class).increment(0);
        }
        let policy = failure_policy::consecutive_failures(FAILURES, Rests(FIRST_REST));
        let state = StoreState { store, is_open: Arc::default() };
        let machine = Config::new().failure_policy(policy).instrument(state.clone()).build();
        Self { machine, state, probing: AtomicBool::new(false) }
    }

    /// Whether the breaker is open.
    pub fn is_open(&self) -> bool {
        self.state.is_open.load(Relaxed)
    }

    /// Admits a call, unless the breaker is open and the policy is to fail fast. (A guard, and not a
    /// function around the call: futures of statements are large, and each layer around them costs stack.)
    ///
    /// # Errors
    /// [`StoreError::Resting`], at once, if the breaker refuses the call.
    pub fn admit(&self, policy: WaitPolicy) -> StoreResult<CallPermit<'_>> {
        let is_probe = policy == WaitPolicy::FailFast && self.is_open();
        if is_probe && (!self.machine.is_call_permitted() || self.probing.swap(true, Relaxed)) {
            return Err(StoreError::Resting(self.state.store));
        }
        Ok(CallPermit { breaker: self, is_probe })
    }

    /// The store answered a call: closes the breaker.
    pub fn answered(&self) {
        self.machine.on_success();
        if self.is_open() {
            self.machine.reset();
        }
    }
}

/// Permission for one call.
pub struct CallPermit<'a> {
    breaker: &'a Breaker,
    is_probe: bool,
}

impl CallPermit<'_> {
    /// Whether a request's call finds out if the store is back. Its caller can do without the store, and must not wait.
    pub const fn is_probe(&self) -> bool {
        self.is_probe
    }

    /// Records the result of the call. A cancelled call records nothing.
    pub fn ended<T>(self, result: StoreResult<T>) -> StoreResult<T> {
        let Breaker { machine, state, .. } = self.breaker;
        match &result {
            Err(error) if error.is_silence() => machine.on_error(),
            _ => self.breaker.answered(),
        }
        if let Err(error) = &result {
            errors_total(state.store, error.class()).increment(1);
        }
        result
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        if self.is_probe {
            self.breaker.probing.store(false, Relaxed);
        }
    }
}

/// Lengths of successive rests; the field is the next one, without jitter. (The crate's own backoff has a minimum of
/// one second, and backon's cannot be reset.)
#[derive(Clone)]
struct Rests(Duration);

impl Iterator for Rests {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let rest = self.0;
        self.0 = (rest * 2).min(LONGEST_REST);
        Some(rest + rest.mul_f32(rand::random()))
    }
}

fn errors_total(store: &'static str, class: ErrorClass) -> metrics::Counter {
    metrics::counter!("plaudit_store_errors_total", "dependency" => store, "class" => class.name())
}

/// Reports in the log and a metric whether the breaker is open.
#[derive(Clone)]
struct StoreState {
    store: &'static str,
    is_open: Arc<AtomicBool>,
}

impl StoreState {
    fn show(&self, is_open: bool) {
        metrics::gauge!("plaudit_breaker_open", "dependency" => self.store).set(f64::from(u8::from(is_open)));
    }
}

impl Instrument for StoreState {
    fn on_call_rejected(&self) {}

    /// Also called for each probe that fails.
    fn on_open(&self) {
        if !self.is_open.swap(true, Relaxed) {
            self.show(true);
            tracing::warn!(
                store = self.store,
                "the store does not answer; requests that need it are refused at once"
            );
        }
    }

    fn on_half_open(&self) {}

    /// Also called at the start.
    fn on_closed(&self) {
        self.show(false);
        if self.is_open.swap(false, Relaxed) {
            tracing::info!(store = self.store, "the store answers again");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io, time::Instant};

    use super::*;

    fn silence() -> StoreResult<()> {
        Err(redis::RedisError::from(io::Error::from(io::ErrorKind::TimedOut)).into())
    }

    fn call<T>(
        breaker: &Breaker,
        policy: WaitPolicy,
        answer: impl FnOnce() -> StoreResult<T>,
    ) -> StoreResult<T> {
        let admitted = breaker.admit(policy)?;
        admitted.ended(answer())
    }

    /// A breaker that has just opened.
    fn opened() -> Breaker {
        let breaker = Breaker::new("A store");
        for _ in 0..FAILURES {
            assert!(!breaker.is_open());
            let _ = call(&breaker, WaitPolicy::FailFast, silence);
        }
        assert!(breaker.is_open());
        breaker
    }

    /// Retries until a call is admitted.
    fn next_admitted(breaker: &Breaker) -> CallPermit<'_> {
        let began = Instant::now();
        loop {
            match breaker.admit(WaitPolicy::FailFast) {
                Ok(admitted) => return admitted,
                Err(error) => assert_eq!(error.class(), ErrorClass::Transient),
            }
            assert!(began.elapsed() < 10 * LONGEST_REST);
        }
    }

    #[test]
    fn a_silent_store_is_not_called_while_it_rests() {
        let (breaker, began) = (opened(), Instant::now());
        for _ in 0..1_000 {
            let refused = breaker.admit(WaitPolicy::FailFast).is_err();
            assert!(refused || began.elapsed() >= FIRST_REST);
        }
    }

    #[test]
    fn one_request_probes_the_store_and_the_others_fail_fast() {
        let breaker = opened();
        let probe = next_admitted(&breaker);
        assert!(matches!(breaker.admit(WaitPolicy::FailFast), Err(StoreError::Resting("A store"))));
        // After a dropped probe the next call is admitted, and its answer closes the breaker.
        drop(probe);
        next_admitted(&breaker).ended(Ok(())).unwrap();
        assert!(!breaker.is_open());
    }

    #[test]
    fn a_probe_without_an_answer_prolongs_the_rest() {
        let breaker = opened();
        assert!(next_admitted(&breaker).ended(silence()).is_err());
        assert!(breaker.is_open());
    }

    #[test]
    fn a_call_that_waits_is_admitted_and_its_answer_closes_the_breaker() {
        let breaker = opened();
        assert!(call(&breaker, WaitPolicy::Wait, silence).is_err());
        call(&breaker, WaitPolicy::Wait, || Ok(())).unwrap();
        assert!(!breaker.is_open());
        call(&breaker, WaitPolicy::FailFast, || Ok(())).unwrap();
    }

    #[test]
    fn rests_grow_up_to_a_second_and_are_short_again_after_an_answer() {
        let first = Rests(FIRST_REST);
        let lengths: Vec<Duration> = first.clone().take(10).collect();
        assert!(lengths[0] < 2 * FIRST_REST && lengths[9] >= LONGEST_REST);
        assert!(lengths.iter().all(|length| *length < 2 * LONGEST_REST));
        assert!(first.clone().next().unwrap() < 2 * FIRST_REST);
    }

    #[test]
    fn an_answer_never_counts_against_a_store() {
        let breaker = Breaker::new("A store");
        for _ in 0..10 * FAILURES {
            let refused = || StoreResult::<()>::Err(StoreError::RedisBusy("OOM".into()));
            let _ = call(&breaker, WaitPolicy::FailFast, refused);
            let _ = call(&breaker, WaitPolicy::FailFast, silence);
        }
        assert!(!breaker.is_open());
    }
}
