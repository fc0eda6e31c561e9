//! Memory of subscriptions: bytes that users and addresses make this process keep.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// The part of all memory that one user or address may take.
const PART: u64 = 32;

/// Bytes that are kept now, and the most that may be.
#[derive(Debug)]
pub(super) struct Memory {
    bytes: AtomicU64,
    most: u64,
}

impl Memory {
    pub const fn new(most: u64) -> Self {
        Self { bytes: AtomicU64::new(0), most }
    }

    /// Of one user or address, or of so many.
    pub const fn part(&self, times: u32) -> Self {
        Self::new(self.most / PART * times as u64)
    }

    pub const fn most(&self) -> u64 {
        self.most
    }

    /// Whether there was room for so many bytes, which are counted then.
    fn take(&self, bytes: u64) -> bool {
        let sum = |kept: u64| kept.checked_add(bytes).filter(|sum| *sum <= self.most);
        self.bytes.fetch_update(Relaxed, Relaxed, sum).is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }
}

/// The memories that the same bytes count for.
pub(super) type Memories = Arc<[Arc<Memory>]>;

/// Bytes that count as kept until this is dropped.
#[derive(Debug)]
pub struct Kept {
    memories: Memories,
    bytes: u64,
}

impl Kept {
    /// `None` if one of the memories has no room.
    pub(super) fn of(memories: &Memories, bytes: usize) -> Option<Self> {
        let bytes = bytes as u64;
        for (taken, memory) in memories.iter().enumerate() {
            if !memory.take(bytes) {
                memories[..taken].iter().for_each(|memory| memory.give_back(bytes));
                return None;
            }
        }
        Some(Self { memories: Arc::clone(memories), bytes })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.memories.iter().for_each(|memory| memory.give_back(self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_for_all_memories_or_for_none_and_until_they_are_dropped() {
        let all = Arc::new(Memory::new(320));
        let [ann, bob] = [(); 2].map(|()| Memories::from([Arc::new(all.part(1)), Arc::clone(&all)]));
        let kept = Kept::of(&ann, 10).unwrap();
        assert!(Kept::of(&ann, 1).is_none(), "a thirty-second of all");
        let most =
            (0..99).map_while(|_| Kept::of(&Memories::from([Arc::clone(&all)]), 10)).collect::<Vec<_>>();
        assert_eq!(most.len(), 31);
        assert!(Kept::of(&bob, 1).is_none(), "all is full");
        drop(kept);
        assert!(Kept::of(&bob, 10).is_some());
        drop(most);
        assert_eq!(all.bytes.load(Relaxed), 0);
        assert!(Kept::of(&ann, usize::MAX).is_none());
    }
}
