//! Virtual shards: the parts into which logs, memberships and counters are divided.

use std::fmt;

use super::Id;

/// Number of a virtual shard, in `0..V`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShardId(pub u16);

impl ShardId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many virtual shards this installation has (`V`); fixed at its first start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShardCount(u16);

impl ShardCount {
    pub const MAX: u16 = 1024;

    /// `None` if `count` is not in `1..=MAX`.
    pub const fn new(count: u16) -> Option<Self> {
        if count >= 1 && count <= Self::MAX { Some(Self(count)) } else { None }
    }

    pub const fn get(self) -> usize {
        self.0 as usize
    }

    /// The shard to which an actor or entity belongs. Ids are dense, so the remainder spreads them evenly.
    pub const fn shard_of(self, id: Id) -> ShardId {
        ShardId((id.get() % self.0 as i64) as u16)
    }

    pub fn all(self) -> impl Iterator<Item = ShardId> + Clone {
        (0..self.0).map(ShardId)
    }
}
