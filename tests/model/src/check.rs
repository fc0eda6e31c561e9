//! Explores the states of a model and reports the shortest path to a violation.

use std::{
    fmt::{self, Debug, Display},
    hash::Hash,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use stateright::{Checker, HasDiscoveries, Model};

/// Bound of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// States, counted each time they are reached.
    pub states: usize,
    pub time: Duration,
}

/// Result of an exploration.
#[derive(Debug)]
pub struct Findings {
    /// Distinct states.
    pub states: usize,
    /// States, counted each time they were reached.
    pub reached: usize,
    pub depth: usize,
    pub duration: Duration,
    /// Whether every reachable state was visited.
    pub is_exhaustive: bool,
    pub failure: Option<Failure>,
}

/// A property that does not hold, and the shortest path to a violation.
#[derive(Debug)]
pub struct Failure {
    pub property: &'static str,
    pub steps: Vec<String>,
    pub last_state: String,
}

/// Visits all states within `bound`, breadth first, until a property fails. A single thread makes the first failure the
/// nearest one, and the same each time.
pub fn explore<M>(model: M, bound: Bound) -> Findings
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Clone + PartialEq + Debug + Send + Sync + 'static,
    M::Action: Clone + PartialEq + Debug,
{
    let start = Instant::now();
    let checker = model
        .checker()
        .finish_when(HasDiscoveries::AnyFailures)
        .target_state_count(bound.states)
        .timeout(bound.time)
        .spawn_bfs()
        .join();
    let duration = start.elapsed();
    let failures = checker.discoveries().into_iter().map(|(property, path)| Failure {
        property,
        last_state: format!("{:#?}", path.last_state()),
        steps: path.into_actions().iter().map(|action| format!("{action:?}")).collect(),
    });
    let failure = failures.min_by_key(|failure| (failure.steps.len(), failure.property));
    let is_exhaustive = failure.is_none() && checker.state_count() < bound.states && duration < bound.time;
    Findings {
        states: checker.unique_state_count(),
        reached: checker.state_count(),
        depth: checker.max_depth(),
        duration,
        is_exhaustive,
        failure,
    }
}

/// Calls `work` for each item, two at a time. Returns the results in the order of the items.
pub fn for_each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(0..items.len());
    let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    let take = || next.lock().ok().and_then(|mut next| next.next());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(i) = take() {
                    let result = work(&items[i]);
                    if let Ok(mut results) = results.lock() {
                        results[i] = Some(result);
                    }
                }
            });
        }
    });
    results.into_inner().map(|results| results.into_iter().flatten().collect()).unwrap_or_default()
}

impl Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, depth, duration, is_exhaustive, .. } = self;
        let extent = if *is_exhaustive { "all" } else { "the first" };
        write!(f, "{extent} {states} states, {depth} steps deep, {duration:.1?}")?;
        if let Some(failure) = &self.failure {
            write!(f, "; does not hold: {}", failure.property)?;
            for (i, step) in failure.steps.iter().enumerate() {
                write!(f, "\n  {}. {step}", i + 1)?;
            }
        }
        Ok(())
    }
}
