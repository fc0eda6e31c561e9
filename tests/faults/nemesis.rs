//! Faults of real processes, and the plans that name them. Each fault lasts for a time and is then undone.

use std::{fmt, time::Duration};

use plaudit_catalogue::primitives::fault::Point;
use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};

use crate::plan::Crash;
use support::proxy::Line;

/// A fault of a process or a connection.
#[derive(Clone, Debug)]
pub enum Nemesis {
    /// `kill -9`. Undone: it starts, and may crash at a fail point.
    KillServer { server: usize, next: Option<Crash> },
    /// SIGTERM. Undone: it starts.
    StopServer(usize),
    /// SIGSTOP. Undone: SIGCONT.
    PauseServer(usize),
    /// It starts again with a clock that is so many hours off. Undone: again, with the right one.
    ShiftClock { server: usize, hours: i32 },
    /// `kill -9` of the only Redis, which starts again by itself.
    KillRedis,
    /// `kill -9` of the only PostgreSQL, which starts again by itself.
    KillPostgres,
    /// A fault of the master of a shard.
    Master { shard: u16, fault: MasterFault },
    /// A fault of the PostgreSQL that has a standby.
    Primary(PrimaryFault),
}

/// A fault of a master of a Redis Cluster.
#[derive(Clone, Copy, Debug)]
pub enum MasterFault {
    /// `kill -9`. Undone: it starts, as a replica if its own was promoted.
    Kill,
    /// SIGSTOP. Undone: SIGCONT.
    Pause,
    /// `kill -9` of its replica. Undone: it starts.
    KillReplica,
    /// Its replica takes over when it has everything. Undone: the same back again.
    FailOver,
    /// Its replica takes over without asking anybody, and without having everything. Undone: the same back again.
    TakeOver,
    /// The slot of the shard moves key by key to another master. Stays there.
    MoveSlot,
    /// It may use no more memory. Undone: it may.
    FillMemory,
    /// It may write no more to its files. Undone: it may.
    FillDisk,
    /// How its connections carry. Undone: straight.
    Line(Line),
    /// Its connections break.
    Cut,
}

/// A fault of a PostgreSQL that has a standby.
#[derive(Clone, Copy, Debug)]
pub enum PrimaryFault {
    /// `kill -9`, and its standby is promoted. Undone: there is a new standby.
    FailOver,
    /// `kill -9` of the standby. Undone: there is a new one.
    KillStandby,
    /// SIGSTOP of the standby. Undone: SIGCONT.
    PauseStandby,
    /// It may write no more to its files, and ends. Undone: it starts.
    FillDisk,
    /// How connections to it carry. Undone: straight.
    Line(Line),
    /// Connections to it break.
    Cut,
}

#[derive(Clone, Debug)]
pub struct Planned {
    /// After this many steps of all users.
    at: usize,
    pub nemesis: Nemesis,
    /// Until it is undone.
    pub lasts: Duration,
}

/// What happens to servers and, beside it, to stores; each after the one before was undone.
#[derive(Default)]
pub struct Plan {
    pub servers: Vec<Planned>,
    pub stores: Vec<Planned>,
    /// Whether PostgreSQL commits only what its standby has.
    pub is_synchronous: bool,
}

/// What a plan may contain.
pub struct Bounds {
    pub servers: usize,
    pub shards: u16,
    /// Steps of all users.
    pub steps: usize,
    /// Whether another clock can be given to a process.
    pub has_clocks: bool,
}

impl Planned {
    fn after(at: usize, nemesis: Nemesis, lasts: Duration) -> Self {
        Self { at, nemesis, lasts }
    }

    pub const fn is_due(&self, steps: usize) -> bool {
        steps >= self.at
    }
}

impl Plan {
    /// For two servers with one Redis and one PostgreSQL.
    pub fn of_single_stores(rng: &mut StdRng, steps: usize) -> Self {
        let bounds = Bounds { servers: 2, shards: 0, steps, has_clocks: false };
        let mut plan = Self::default();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..steps);
            match rng.random_range(0..12) {
                0..8 => plan.servers.push(of_server(rng, &bounds, at)),
                8..10 => plan.stores.push(Planned::after(at, Nemesis::KillRedis, Duration::ZERO)),
                _ => plan.stores.push(Planned::after(at, Nemesis::KillPostgres, Duration::ZERO)),
            }
        }
        plan.in_order()
    }

    /// For one of these servers that crashes while it stops.
    pub fn of_crash_at_stop(point: Point) -> Self {
        let crash = Crash { point, after: 0 };
        let kill = Nemesis::KillServer { server: 0, next: Some(crash) };
        let servers = vec![
            Planned::after(1, kill, Duration::ZERO),
            Planned::after(40, Nemesis::StopServer(0), Duration::ZERO),
        ];
        Self { servers, ..Self::default() }
    }

    /// For a Redis Cluster and a PostgreSQL with a standby.
    pub fn of_cluster(rng: &mut StdRng, bounds: &Bounds) -> Self {
        let mut plan = Self { is_synchronous: rng.random_bool(0.7), ..Self::default() };
        for _ in 0..rng.random_range(1..3) {
            let at = rng.random_range(0..bounds.steps);
            plan.stores.push(of_store(rng, bounds, at, plan.is_synchronous));
        }
        for _ in 0..rng.random_range(0..3) {
            let at = rng.random_range(0..bounds.steps);
            plan.servers.push(of_server(rng, bounds, at));
        }
        plan.in_order()
    }

    fn in_order(mut self) -> Self {
        self.servers.sort_by_key(|planned| planned.at);
        self.stores.sort_by_key(|planned| planned.at);
        self
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.servers.iter().chain(&self.stores);
        let faults: Vec<String> = all
            .map(|Planned { at, nemesis, lasts }| format!("after {at} steps {nemesis:?} for {lasts:?}"))
            .collect();
        let standby = if self.is_synchronous { ", synchronous standby" } else { "" };
        write!(f, "{}{standby}", faults.join(", "))
    }
}

fn of_server(rng: &mut StdRng, bounds: &Bounds, at: usize) -> Planned {
    let server = rng.random_range(0..bounds.servers);
    let nemesis = match rng.random_range(0..9) {
        0..5 => Nemesis::KillServer { server, next: rng.random_bool(0.6).then(|| Crash::any(rng)) },
        5 => Nemesis::StopServer(server),
        6 if bounds.has_clocks => {
            Nemesis::ShiftClock { server, hours: if rng.random_bool(0.5) { 1 } else { -1 } }
        }
        _ => Nemesis::PauseServer(server),
    };
    let millis = match nemesis {
        Nemesis::PauseServer(_) => 300..2_500,
        Nemesis::ShiftClock { .. } => 1_000..3_000,
        _ => 0..800,
    };
    Planned::after(at, nemesis, Duration::from_millis(rng.random_range(millis)))
}

fn of_store(rng: &mut StdRng, bounds: &Bounds, at: usize, is_synchronous: bool) -> Planned {
    let lines = [Line::Slow(Duration::from_millis(30)), Line::Sliced, Line::DeafToAnswers, Line::HalfOpen];
    let line = *lines.choose(rng).unwrap();
    if rng.random_bool(0.25) {
        let fault = match rng.random_range(0..10) {
            // What an asynchronous standby lacks is lost, and told by no answer.
            0..4 if is_synchronous => PrimaryFault::FailOver,
            0..4 => PrimaryFault::KillStandby,
            4 | 5 => PrimaryFault::PauseStandby,
            6 => PrimaryFault::FillDisk,
            7 => PrimaryFault::Cut,
            _ => PrimaryFault::Line(line),
        };
        let lasts = Duration::from_millis(rng.random_range(100..2_500));
        return Planned::after(at, Nemesis::Primary(fault), lasts);
    }
    let fault = match rng.random_range(0..20) {
        0..4 => MasterFault::Kill,
        4..7 => MasterFault::Pause,
        7 => MasterFault::KillReplica,
        8..11 => MasterFault::FailOver,
        11..13 => MasterFault::TakeOver,
        13..16 => MasterFault::MoveSlot,
        16 => MasterFault::FillMemory,
        17 => MasterFault::FillDisk,
        18 => MasterFault::Line(line),
        _ => MasterFault::Cut,
    };
    let millis = match fault {
        // Short ones end before the replica is promoted, long ones after it.
        MasterFault::Kill | MasterFault::Pause => 200..4_000,
        MasterFault::MoveSlot | MasterFault::Cut => 0..1,
        _ => 50..2_000,
    };
    let nemesis = Nemesis::Master { shard: rng.random_range(0..bounds.shards), fault };
    Planned::after(at, nemesis, Duration::from_millis(rng.random_range(millis)))
}
