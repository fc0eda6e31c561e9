//! Virtual shards: the parts into which logs, memberships and counters are divided.

use std::fmt;

use super::Id;

/// A division of the installation into shards; each `plaudit reshard` begins the next one. The names of a shard's keys
/// contain it, so a process with another layout finds none of them, and its actions are refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Layout(pub u16);

impl Layout {
    pub const FIRST: Self = Self(0);

    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Number of a virtual shard, in `0..V`, and its layout.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShardId(pub u16, pub Layout);

impl ShardId {
    /// A shard of an installation whose number of shards has never changed.
    pub const fn first(number: u16) -> Self {
        Self(number, Layout::FIRST)
    }

    /// Another shard of the same layout.
    pub const fn sibling(self, number: u16) -> Self {
        Self(number, self.1)
    }

    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many virtual shards this installation has (`V`), in its layout. Chosen at its first start; `plaudit
/// reshard` changes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShardCount(u16, Layout);

impl ShardCount {
    pub const MAX: u16 = 1024;
    /// On one server of Redis, if nothing else is set.
    pub const OF_SERVER: Self = Self(2, Layout::FIRST);
    /// On a Redis Cluster, if nothing else is set.
    pub const OF_CLUSTER: Self = Self(16, Layout::FIRST);

    /// In the first layout. `None` if `count` is not in `1..=MAX`.
    pub const fn new(count: u16) -> Option<Self> {
        if count >= 1 && count <= Self::MAX { Some(Self(count, Layout::FIRST)) } else { None }
    }

    pub const fn in_layout(self, layout: Layout) -> Self {
        Self(self.0, layout)
    }

    pub const fn layout(self) -> Layout {
        self.1
    }

    pub const fn get(self) -> usize {
        self.0 as usize
    }

    /// The shard with this number.
    pub const fn shard(self, number: u16) -> ShardId {
        ShardId(number, self.1)
    }

    /// The shard to which an actor or entity belongs. Ids are dense, so the remainder spreads them evenly.
    pub const fn shard_of(self, id: Id) -> ShardId {
        self.shard((id.get() % self.0 as i64) as u16)
    }

    pub fn all(self) -> impl Iterator<Item = ShardId> + Clone {
        (0..self.0).map(move |number| self.shard(number))
    }
}
