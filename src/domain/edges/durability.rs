//! Durability: what a crash could still take back of an action that was acknowledged.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// From the lowest. An action has the highest of these words that is known to be true.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Durability {
    /// A crash of Redis may take it back; for views, a crash of the process that buffers them.
    Memory,
    /// It is in the append-only file of Redis, on disk.
    Disk,
    /// As many replicas of Redis have it as `redis_replicas` says.
    Replicated,
    /// PostgreSQL has committed it.
    Database,
}

/// The lowest durability of the actions of one request.
#[derive(Debug)]
pub struct LowestDurability(AtomicU8);

const ALL: [Durability; 4] =
    [Durability::Memory, Durability::Disk, Durability::Replicated, Durability::Database];

impl Durability {
    /// The value of the extension `durability`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "MEMORY",
            Self::Disk => "DISK",
            Self::Replicated => "REPLICATED",
            Self::Database => "DATABASE",
        }
    }
}

impl Default for LowestDurability {
    fn default() -> Self {
        Self(AtomicU8::new(ALL.len() as u8))
    }
}

impl LowestDurability {
    /// Records an acknowledged action.
    pub fn note(&self, durability: Durability) {
        self.0.fetch_min(durability as u8, Relaxed);
    }

    /// `None` before the first action.
    pub fn get(&self) -> Option<Durability> {
        ALL.get(usize::from(self.0.load(Relaxed))).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_of_all_actions_counts() {
        let lowest = LowestDurability::default();
        assert_eq!(lowest.get(), None);
        for (noted, expected) in [
            (Durability::Database, Durability::Database),
            (Durability::Disk, Durability::Disk),
            (Durability::Replicated, Durability::Disk),
            (Durability::Memory, Durability::Memory),
        ] {
            lowest.note(noted);
            assert_eq!(lowest.get(), Some(expected));
        }
    }
}
