//! The state of the model: Redis, PostgreSQL, the owners, a load and a hub.

use super::{faults::Faults, log::Log};

/// Epoch and change number.
pub type Version = (u8, u8);

/// A single counter, for example a note's likes, on one target shard, with two logs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub target: Target,
    /// The Redis that holds the target.
    pub redis: Redis,
    /// The replica's state, which a failover of the target restores.
    pub replica: Option<Target>,
    pub log: Log,
    /// The Redis of before a failover, if it may come back. Only with [`super::Fault::FormerReturns`].
    pub former_redis: Option<FormerRedis>,
    /// What this Redis and the one before it say about the change, if both are there.
    pub handover: Option<Handover>,
    /// The Redis that the keys have left by a move, if they may come back. Only with [`super::Fault::SlotAssigned`].
    pub moved_from: Option<Redis>,
    pub sql: Sql,
    /// The standby's state, which a failover of PostgreSQL restores.
    pub standby: Option<Sql>,
    /// The former primary after a failover, while it still serves reads.
    pub former: Option<Sql>,
    /// Owner of log 0.
    pub owner: Owner,
    /// An earlier owner that still has an unsent batch.
    pub late_owner: Owner,
    /// The reset that the target's owner is about to send.
    pub reset: Option<Reset>,
    pub late_reset: Option<Reset>,
    pub invalidation: Invalidation,
    pub load: Load,
    pub hub: Hub,
    pub reshard: Reshard,
    /// Fence that the reshard has.
    pub reshard_fence: u8,
    /// Faults that have happened.
    pub happened: Faults,
    pub direct_change_is_done: bool,
}

/// All that a Redis had when another took its place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FormerRedis {
    pub target: Target,
    pub redis: Redis,
    pub log: Log,
}

/// The identity of a Redis (`src/store/redis/nodes/identity.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Redis {
    /// `run_id`: the process.
    pub run: u8,
    /// `master_replid`: changes with each promotion, and sometimes without one.
    pub sequence: u8,
    /// Whether it says that it was promoted (`master_replid2`).
    pub is_promoted: bool,
    /// Whether Plaudit's process, which verifies the target, saw the Redis before this one lately.
    pub is_watched: bool,
}

/// What the former Redis and the present one say about the change from one to the other
/// (`src/store/redis/nodes/handover.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Handover {
    /// Replication id of the former one at that moment.
    pub of: u8,
    /// The former one says that it gave everything away, and has changed nothing since.
    pub is_given: bool,
    /// The present one says that it has everything.
    pub is_taken: bool,
    /// The target was not verified since.
    pub is_new: bool,
}

impl Handover {
    pub const fn of(redis: &Redis) -> Self {
        Self { of: redis.sequence, is_given: true, is_taken: true, is_new: true }
    }
}

/// The target shard in Redis: `{s}:meta`, one counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Target {
    pub has_meta: bool,
    pub epoch: u8,
    /// `change`; moves only in runs with a hub.
    pub change: u8,
    /// `redis_run_id`
    pub run: u8,
    /// `redis_history`
    pub recovered_on: u8,
    /// `timeline`
    pub timeline: u8,
    /// `folded:<source>`
    pub folded: [u8; 2],
    /// `fence:0`
    pub fence: u8,
    pub counter: Option<Counter>,
}

/// `{s}:c:<entity>`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Counter {
    pub epoch: u8,
    /// `v`
    pub change: u8,
    /// The total; while `is_loading`, only the part that was folded since the load began.
    pub total: i16,
    /// `load`: the load that has begun may install.
    pub is_loading: bool,
}

/// PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Sql {
    pub timeline: u8,
    /// Epoch of the target's counters.
    pub epoch: u8,
    /// Fence of the newest owner of log 0.
    pub fence: u8,
    /// Persisted offset of each log.
    pub persisted: [u8; 2],
    /// `digest`: the event that was persisted last. Only in runs that compare it.
    pub last: u8,
    /// Events of each log that have rows.
    pub rows: [u8; 2],
    pub has_direct_change: bool,
    /// `reshard_to`: nobody gets a lease.
    pub is_resharding: bool,
    /// Rows of `invalidation`, one bit per id.
    pub invalidations: u8,
}

/// The owner of log 0, from the lease to the end of its leadership.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Owner {
    pub fence: u8,
    /// Replication id under which the recovery began.
    pub sequence: u8,
    /// Timeline of PostgreSQL that the owner has read.
    pub timeline: u8,
    pub phase: Phase,
    /// Epoch that PostgreSQL had for the target when the recovery ended (`Leadership::epochs`).
    pub epoch: u8,
    /// `persisted` of the progress: the offset that the owner assumes to be persisted. Only in small steps.
    pub persisted: u8,
    /// The event there.
    pub last: u8,
    /// Batches that were read, but not sent. Only in small steps.
    pub fold: Option<Batch>,
    pub persist: Option<Batch>,
}

impl Owner {
    pub const fn has_unsent_batch(&self) -> bool {
        self.fold.is_some() || self.persist.is_some()
    }

    pub fn drop_batches(&mut self) {
        (self.fold, self.persist) = (None, None);
    }
}

/// How far the reshard is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Reshard {
    #[default]
    NotBegun,
    /// No process has a lease.
    Taken,
    Closed,
    Persisted,
    /// The command has read the log's end.
    Compares {
        end: u8,
    },
    Done,
}

/// Phase of a leadership.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Phase {
    #[default]
    Works,
    /// The owner has its fence.
    Leased,
    /// The owner has written its fence to the target and read the target's folded offset.
    Compares { folded: u8 },
    /// The log lost entries. Next, surviving entries are persisted.
    Rescues,
    /// Surviving entries are persisted. Next, PostgreSQL gets the next generation.
    Raises,
    /// PostgreSQL has the next generation. Next, its genesis marker is appended.
    Begins,
}

/// Entries that were read from log 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Batch {
    pub from: u8,
    pub to: u8,
    pub events: u8,
    /// The event at `to`. Only in runs that compare it.
    pub last: u8,
    /// Epoch of the target at the time of the read.
    pub epoch: u8,
}

/// Result of `raise_epoch`, with which the target will be reset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reset {
    pub epoch: u8,
    pub timeline: u8,
    /// The target is reset, and the ends of the logs are to be read again.
    pub is_applied: bool,
    /// The persisted offset or the end of each log, whichever is later.
    pub reached: [u8; 2],
    pub fence: u8,
    pub redis: Redis,
}

/// The job that processes rows of `invalidation`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Invalidation {
    #[default]
    Idle,
    /// The job has read these rows.
    Read { ids: u8 },
    /// The job has invalidated the counts in Redis.
    Invalidated { ids: u8 },
    /// Only without [`super::Guard::InvalidateBeforeDelete`]: the rows are deleted, the counts are not yet invalidated.
    Deleted,
}

/// A load of a total that Redis does not have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Load {
    #[default]
    Idle,
    /// The counter is marked as loading; folded offsets of that moment.
    HasBegun {
        folded: [u8; 2],
    },
    HasTotals {
        folded: [u8; 2],
        timeline: u8,
        persisted: [u8; 2],
        total: i16,
    },
    /// `base`: the total of the rows, and the events after it up to the folded offsets.
    HasBase {
        timeline: u8,
        base: i16,
    },
}

/// A hub with one client that watches the counter. Only in runs with a hub.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Hub {
    /// Version that was last sent to the client.
    pub sent: Version,
    pub sent_total: i16,
    pub held: Held,
    /// A message was missed, and the next one will reveal it.
    pub has_gap: bool,
    /// A reply of Redis that the hub has not received yet.
    pub reading: Option<(Version, i16)>,
    /// Newest version that was published.
    pub newest: Version,
    /// Violations that happened.
    pub wrong: Wrong,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Held {
    #[default]
    Empty,
    /// The hub has the version that it sent to the client.
    Known,
    /// A read of version `since` or a later one fills it. `total` was received since, at version `received`.
    Unknown { since: Version, received: Version, total: Option<i16> },
}

/// What a message says about the counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// All counters of the entity, after a load.
    All(i16),
    /// The counters that a fold changed: not enough for a hub that does not have the others.
    Moved(i16),
    Invalidated,
}

/// Violations that are visible only during a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Wrong {
    pub version_fell: bool,
    pub two_values: bool,
    pub taken_back: bool,
}
