//! One state of the model: Redis, PostgreSQL, the owners, a loader and a hub.

use super::{faults::Faults, log::Log};

/// Epoch and change number, as clients see them.
pub type Version = (u8, u8);

/// A single counter, for example a note's likes, on a single target shard, moved by two logs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub target: Target,
    /// Redis process that holds the target.
    pub process: u8,
    /// The state to which a failover of the target would go back.
    pub replica: Option<Target>,
    pub log: Log,
    pub sql: Sql,
    /// The state to which a failover of PostgreSQL would go back.
    pub standby: Option<Sql>,
    /// The former primary after a failover, while it still answers reads.
    pub former: Option<Sql>,
    /// Owner of log 0.
    pub owner: Owner,
    /// An earlier owner that still has a batch in hand.
    pub late_owner: Owner,
    /// The reset that the target's owner is about to send.
    pub reset: Option<Reset>,
    pub late_reset: Option<Reset>,
    pub invalidation: Invalidation,
    pub load: Load,
    pub hub: Hub,
    /// Faults that have happened.
    pub happened: Faults,
    pub direct_change_is_done: bool,
}

/// The target shard in Redis: `{s}:meta`, one load token, one counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Target {
    pub has_meta: bool,
    pub epoch: u8,
    /// `change`; moves only in runs with a hub.
    pub change: u8,
    /// `redis_run_id`
    pub recovered_on: u8,
    /// `timeline`
    pub timeline: u8,
    /// `folded:<source>`
    pub folded: [u8; 2],
    /// `retired:<source>`
    pub retired: [u8; 2],
    /// `folded_before_reset:<source>`
    pub folded_before_reset: [u8; 2],
    /// `fence:0`
    pub fence: u8,
    /// `{s}:ld:<entity>`
    pub has_token: bool,
    pub counter: Option<Counter>,
}

/// `{s}:c:<entity>`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Counter {
    pub epoch: u8,
    /// `v`
    pub change: u8,
    /// Total including the pending overlay, if it was loaded.
    pub total: Option<i16>,
    /// The pending overlay's share.
    pub pending: i16,
    /// Low (exclusive) and high watermark of the pending overlay, per source.
    pub marks: [Option<Mark>; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mark {
    pub after: u8,
    pub last: u8,
}

/// PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Sql {
    pub timeline: u8,
    /// Of the target's counters.
    pub epoch: u8,
    /// Of log 0's newest owner.
    pub fence: u8,
    /// Offset of each log.
    pub persisted: [u8; 2],
    /// Events written as rows, of each log.
    pub rows: [u8; 2],
    pub has_direct_change: bool,
    /// Rows of `invalidation`, one bit per id.
    pub lines: u8,
}

/// The owner of log 0, from the lease to the end of its tenure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Owner {
    pub fence: u8,
    /// Redis process on which its recovery began.
    pub run: u8,
    /// Timeline of PostgreSQL that it has read.
    pub timeline: u8,
    pub phase: Phase,
    /// `progress.persisted`: the offset that it believes to be persisted. Only in small steps.
    pub persisted: u8,
    /// `progress.folded`. Only in small steps.
    pub folded: u8,
    /// Batches in hand: read, not yet sent. Only in small steps.
    pub fold: Option<Batch>,
    pub persist: Option<Batch>,
    pub retire: Option<Batch>,
}

impl Owner {
    pub const fn has_in_hand(&self) -> bool {
        self.fold.is_some() || self.persist.is_some() || self.retire.is_some()
    }

    pub fn forget(&mut self) {
        (self.fold, self.persist, self.retire) = (None, None, None);
    }
}

/// Phase of a leadership.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Phase {
    #[default]
    Works,
    /// It has its fence.
    Leased,
    /// It has written its fence to the target and read the target's folded offset.
    Compares { folded: u8 },
    /// The log lost entries; surviving ones are to be persisted.
    Rescues,
    /// Surviving entries are persisted.
    Raises,
    /// PostgreSQL has the next generation; its genesis marker is to be appended.
    Begins,
}

/// Entries that were read from log 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Batch {
    pub from: u8,
    pub to: u8,
    pub events: u8,
    /// Epoch of the target as it was then.
    pub epoch: u8,
}

/// Answer of `raise_epoch`, with which the target is to be reset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reset {
    pub epoch: u8,
    pub timeline: u8,
    pub persisted: [u8; 2],
    pub fence: u8,
    pub run: u8,
}

/// The job that carries out rows of `invalidation`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Invalidation {
    #[default]
    Idle,
    /// It has read these rows.
    Read { lines: u8 },
    /// It has invalidated the counts in Redis.
    Dropped { lines: u8 },
    /// Only without [`super::Guard::InvalidateBeforeDelete`]: the rows are gone, the counts are not yet invalidated.
    Deleted,
}

/// A load on a miss.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Load {
    #[default]
    Idle,
    HasToken {
        epoch: u8,
        retired: [u8; 2],
    },
    HasRead {
        epoch: u8,
        timeline: u8,
        persisted: [u8; 2],
        total: i16,
    },
}

/// A hub with one client that watches the counter. Only in runs with a hub.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Hub {
    /// Version that the client was sent last.
    pub sent: Version,
    pub sent_total: i16,
    pub slot: Slot,
    /// A message was missed, and the next one will reveal it.
    pub has_gap: bool,
    /// An answer of Redis under way.
    pub reading: Option<(Version, i16)>,
    /// Newest version that was visible anywhere.
    pub newest: Version,
    /// Violations that were seen.
    pub wrong: Wrong,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Slot {
    #[default]
    Empty,
    /// The version that the client was sent.
    Known,
    Invalidated(Version),
}

/// Violations that are visible at one step only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Wrong {
    pub version_fell: bool,
    pub two_values: bool,
    pub taken_back: bool,
}
