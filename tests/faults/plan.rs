//! The plan of a schedule: its faults and their times, chosen by the seed.

use std::{fmt, time::Duration};

use plaudit_catalogue::primitives::fault::Point;
use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};

/// The points that nodes of schedules reach. The others are of commands, of processes that come and leave, which tests of
/// sharing kill there, and of a Redis that takes another's place.
pub fn points_of_nodes() -> Vec<Point> {
    points_but(&["import.", "reshard.", "release.", "handover."])
}

/// The points that processes of schedules reach, whose Redis fails over.
fn points_of_processes() -> Vec<Point> {
    points_but(&["import.", "reshard.", "release."])
}

/// All points but those whose names begin so.
fn points_but(others: &[&str]) -> Vec<Point> {
    let is_one = |point: &Point| !others.iter().any(|other| point.name().starts_with(other));
    Point::ALL.iter().copied().filter(is_one).collect()
}

/// A fault at a fail point.
#[derive(Clone, Debug)]
pub struct Trap {
    pub point: Point,
    /// Passes of the point before the fault.
    pub after: u32,
    pub effect: Effect,
}

#[derive(Clone, Debug)]
pub enum Effect {
    /// The node is killed.
    Kill,
    /// The task panics; the node continues.
    Panic,
    /// The step returns an error, but may have taken effect.
    Fail,
    /// The thread stalls, and continues later.
    Stall(Duration),
}

impl Trap {
    pub fn any(rng: &mut StdRng, points: &[Point]) -> Self {
        let effect = match rng.random_range(0..10) {
            0..4 => Effect::Kill,
            4..6 => Effect::Panic,
            6..8 => Effect::Fail,
            _ => Effect::Stall(Duration::from_millis(rng.random_range(50..1_000))),
        };
        Self { point: *points.choose(rng).unwrap(), after: rng.random_range(0..12), effect }
    }

    /// The trap in the syntax of the crate `fail`.
    pub fn actions(&self) -> String {
        let action = match &self.effect {
            Effect::Kill => format!("return({KILL})"),
            Effect::Panic => "return(panicked)".to_owned(),
            Effect::Fail => "return(fail)".to_owned(),
            Effect::Stall(time) => format!("sleep({})", time.as_millis()),
        };
        format!("{}*off->1*{action}->off", self.after)
    }
}

/// Prefix of the panic message that kills a node.
pub const KILL: &str = "killed";

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {} after {}", self.effect, self.point.name(), self.after)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let traps: Vec<String> = self.traps.iter().map(ToString::to_string).collect();
        let Self { faults, batch_events, batch_wait, log_share, .. } = self;
        write!(
            f,
            "traps {traps:?}, faults {faults:?}, batches of {batch_events} in {batch_wait:?}, log {log_share} %"
        )
    }
}

/// A fault at a fail point of a real process: it crashes there.
#[derive(Clone, Debug)]
pub struct Crash {
    pub point: Point,
    /// Passes of the point before it.
    pub after: u32,
}

impl Crash {
    pub fn any(rng: &mut StdRng) -> Self {
        Self { point: *points_of_processes().choose(rng).unwrap(), after: rng.random_range(0..8) }
    }
}

/// As the value of `FAILPOINTS`.
impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}*off->1*return(die)", self.point.name(), self.after)
    }
}

/// A fault of a store, a connection or a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreFault {
    KillNode(usize),
    StopNode(usize),
    FlushScripts,
    /// All connections to Redis break.
    CutRedis,
    /// All connections to PostgreSQL break.
    CutPostgres,
    /// Redis evicts all keys that it may evict.
    Evict,
    /// A shard's state is deleted.
    ForgetTarget,
    /// All keys are deleted. Loses events that are not persisted.
    FlushAll,
    /// A shard's log is deleted, in a Redis that seems to have restarted. Loses events that are not persisted.
    LoseLog,
}

impl StoreFault {
    pub const fn loses(self) -> bool {
        matches!(self, Self::FlushAll | Self::LoseLog)
    }
}

/// One in this many schedules may lose events.
const LOSSY_ONE_IN: u64 = 8;

#[derive(Debug)]
pub struct Plan {
    pub traps: Vec<Trap>,
    /// After this many steps of all users.
    pub faults: Vec<(usize, StoreFault)>,
    pub batch_events: usize,
    pub batch_wait: Duration,
    /// Percent of the memory of Redis; with 0 logs are so short that they are trimmed all the time.
    pub log_share: u32,
}

impl Plan {
    /// A plan for two nodes in one process. `steps` is the number of steps of all users.
    pub fn new(seed: u64, rng: &mut StdRng, steps: usize) -> Self {
        let points = points_of_nodes();
        let traps = (0..rng.random_range(1..4)).map(|_| Trap::any(rng, &points)).collect();
        let mut faults: Vec<(usize, StoreFault)> = (0..rng.random_range(0..3))
            .map(|_| {
                let fault = match rng.random_range(0..9) {
                    0 | 1 => StoreFault::KillNode(rng.random_range(0..2)),
                    2 => StoreFault::StopNode(rng.random_range(0..2)),
                    3 => StoreFault::FlushScripts,
                    4 => StoreFault::CutRedis,
                    5 => StoreFault::CutPostgres,
                    6 | 7 => StoreFault::Evict,
                    _ => StoreFault::ForgetTarget,
                };
                (rng.random_range(0..steps), fault)
            })
            .collect();
        if seed.is_multiple_of(LOSSY_ONE_IN) {
            let fault = if rng.random_bool(0.5) { StoreFault::FlushAll } else { StoreFault::LoseLog };
            faults.push((rng.random_range(steps / 4..steps), fault));
        }
        faults.sort_by_key(|(step, _)| *step);
        Self {
            traps,
            faults,
            batch_events: *[1, 3, 10, 1_000].choose(rng).unwrap(),
            batch_wait: Duration::from_millis(*[0, 5, 50].choose(rng).unwrap()),
            log_share: *[0, 50].choose(rng).unwrap(),
        }
    }

    /// Kills the first node that reaches this point. The plan causes the faults that some points need.
    pub fn of_point(point: Point) -> Self {
        let faults = match point {
            Point::BeforeGenesis => vec![(30, StoreFault::LoseLog)],
            _ => Vec::new(),
        };
        let traps = vec![Trap { point, after: 0, effect: Effect::Kill }];
        Self { traps, faults, batch_events: 10, batch_wait: Duration::from_millis(5), log_share: 0 }
    }

    pub fn is_lossless(&self) -> bool {
        !self.faults.iter().any(|(_, fault)| fault.loses())
    }
}
