//! One state of the model: what Redis, PostgreSQL, the owners, a loader and a hub hold.

use super::{faults::Faults, log::Log};

/// Epoch and change number, as clients see them.
pub type Version = (u8, u8);

/// One note's likes, say: a single counter on a single target shard, moved by two logs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub target: Target,
    /// Redis process that holds the target.
    pub process: u8,
    /// What a failover of the target would bring back.
    pub replica: Option<Target>,
    pub log: Log,
    pub sql: Sql,
    /// What a failover of PostgreSQL would bring back.
    pub standby: Option<Sql>,
    /// The former primary after a failover, as long as it still answers reads.
    pub former: Option<Sql>,
    /// Owner of log 0.
    pub owner: Owner,
    /// A former owner that still has something in hand.
    pub late_owner: Owner,
    /// What the target's owner is about to do.
    pub restart: Option<Restart>,
    pub late_restart: Option<Restart>,
    pub correction: Correction,
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
    /// `seq`; moves only in runs with a hub.
    pub change: u8,
    /// `run`
    pub verified_on: u8,
    /// `tl`
    pub timeline: u8,
    /// `w:<source>`
    pub folded: [u8; 2],
    /// `k:<source>`
    pub cleaned: [u8; 2],
    /// `shown:<source>`
    pub shown: [u8; 2],
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
    /// Total including what is pending, if it was loaded.
    pub total: Option<i16>,
    /// The pending part.
    pub pending: i16,
    /// Where pending changes of each source begin (exclusive) and end.
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
    /// Events that have become rows, of each log.
    pub rows: [u8; 2],
    pub has_direct_change: bool,
    /// Lines of `stale_base`, one bit per id.
    pub lines: u8,
}

/// The owner of log 0, from the lease to the end of its tenure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Owner {
    pub fence: u8,
    /// Redis process on which its verification began.
    pub run: u8,
    /// Timeline of PostgreSQL that it knows.
    pub timeline: u8,
    pub phase: Phase,
    /// `progress.persisted`: what it believes to be persisted. Only in small steps.
    pub persisted: u8,
    /// `progress.folded`. Only in small steps.
    pub folded: u8,
    /// Batches in hand: read, not yet sent. Only in small steps.
    pub fold: Option<Batch>,
    pub persist: Option<Batch>,
    pub clean: Option<Batch>,
}

impl Owner {
    pub const fn has_in_hand(&self) -> bool {
        self.fold.is_some() || self.persist.is_some() || self.clean.is_some()
    }

    pub fn forget(&mut self) {
        (self.fold, self.persist, self.clean) = (None, None, None);
    }
}

/// How far a tenure has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Phase {
    #[default]
    Works,
    /// It has its fence.
    Leased,
    /// It has shown its fence to the target and read how far that had folded.
    Compares { folded: u8 },
    /// The log is too short; survivors are to be persisted.
    Rescues,
    /// Survivors are persisted.
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

/// What `raise_epoch` gave: the target is to begin anew with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Restart {
    pub epoch: u8,
    pub timeline: u8,
    pub persisted: [u8; 2],
    pub fence: u8,
    pub run: u8,
}

/// The one who makes the corrections that `stale_base` asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Correction {
    #[default]
    Idle,
    /// It has read these lines.
    Read { lines: u8 },
    /// It has dropped the base.
    Dropped { lines: u8 },
    /// Only without [`super::Guard::DropBeforeDelete`]: the lines are gone, the drop is to come.
    Deleted,
}

/// A load on a miss.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Load {
    #[default]
    Idle,
    HasToken {
        epoch: u8,
        cleaned: [u8; 2],
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
    /// What the client was told last.
    pub told: Version,
    pub told_total: i16,
    pub slot: Slot,
    /// A message was missed, and the next one will show it.
    pub has_gap: bool,
    /// An answer of Redis under way.
    pub reading: Option<(Version, i16)>,
    /// Newest version that anybody could see.
    pub newest: Version,
    /// What went wrong, if anything.
    pub wrong: Wrong,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Slot {
    #[default]
    Empty,
    /// What the client was told.
    Known,
    Unknown(Version),
}

/// Failures that are seen at one step only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Wrong {
    pub version_fell: bool,
    pub two_values: bool,
    pub taken_back: bool,
}
