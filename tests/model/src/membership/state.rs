//! One actor with three targets on one shard.

/// Number of targets; a set of targets is a set of bits.
pub const TARGETS: u8 = 3;
/// Maximum number of flips in a run.
pub const MOST_FLIPS: usize = 4;

/// Generation and number of a log entry.
pub type Offset = (u8, u8);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub shard: Shard,
    /// The state that a failover or a restart restores.
    pub copy: Option<Shard>,
    pub rows: Rows,
    pub standby: Option<Rows>,
    /// PostgreSQL failed over, which the owner has not detected yet.
    pub has_new_timeline: bool,
    pub load: Option<Load>,
    pub row: Option<Row>,
    pub batch: Option<Batch>,
    /// Targets that are on according to acknowledged flips that are not lost.
    pub truth: u8,
    /// Result of the first action under the key.
    pub first_result: Option<bool>,
    pub flips_left: u8,
    pub loads_left: u8,
    /// Faults that have happened, as bits.
    pub happened: u8,
    pub wrong: Wrong,
}

/// The actor's shard in Redis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shard {
    pub has_meta: bool,
    pub is_recovered: bool,
    /// `generation`
    pub generation: u8,
    /// `members_retired`: the retirement of members continues from here.
    pub members_retired: Offset,
    /// Flips up to this offset may have left the pending overlay.
    pub flips_retired: Offset,
    /// Flips up to there have left the overlay, but `members_retired` is not yet written.
    pub unwritten: Option<Offset>,
    pub log: Log,
    /// `{s}:p:<actor>`: on or off, and the offset.
    pub pending: [Option<(bool, Offset)>; TARGETS as usize],
    pub set: Option<Set>,
    /// Changed by retirement, not by flips: readers apply pending flips.
    pub newest: Option<Newest>,
    /// `{s}:idem:<actor>:<key>`: whether the action changed something.
    pub key: Option<bool>,
}

/// Flips of one generation, as `(target, on)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Log {
    pub length: u8,
    pub flips: [(u8, bool); MOST_FLIPS],
}

impl Log {
    pub fn after(&self, from: u8, to: u8) -> &[(u8, bool)] {
        &self.flips[usize::from(from.min(to))..usize::from(to)]
    }

    pub fn push(&mut self, target: u8, on: bool) {
        self.flips[usize::from(self.length)] = (target, on);
        self.length += 1;
    }
}

/// `{s}:e:<kind>:<actor>` with its floor, with room for one target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Set {
    pub generation: u8,
    pub members: u8,
    /// Lowest target of a truncated set; `None` for a complete one.
    pub floor: Option<u8>,
}

impl Set {
    /// A truncated set takes no target below its floor.
    pub fn switch(&mut self, target: u8, on: bool) {
        if self.floor.is_none_or(|floor| target >= floor) {
            switch(&mut self.members, &[(target, on)]);
        }
    }
}

/// `{s}:nw:<kind>:<actor>`: the actor's edges that are on, newest first. The order, and that only the newest
/// are kept, do not matter here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Newest {
    pub generation: u8,
    pub targets: u8,
}

/// PostgreSQL: targets that are on, and the log's offset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rows {
    pub on: u8,
    pub persisted: Offset,
}

/// Rows that will become a set or the newest edges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Load {
    pub generation: u8,
    pub rows: Rows,
}

/// The row of one edge, read for an action.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Row {
    pub target: u8,
    pub is_on: bool,
    pub persisted: Offset,
}

/// A batch that the persister has read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Batch {
    pub from: Offset,
    pub to: Offset,
    /// The log at the time of the read.
    pub log: Log,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Wrong {
    pub decision: bool,
    pub key: bool,
}

pub fn switch(rows: &mut u8, flips: &[(u8, bool)]) {
    for (target, on) in flips {
        *rows = if *on { *rows | 1 << target } else { *rows & !(1 << target) };
    }
}
