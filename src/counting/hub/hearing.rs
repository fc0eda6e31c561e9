//! Whether this process hears of changes. While it does not, what it has cached of entities is not used; and when Redis
//! cannot be read either, answers come from rows and are stale.

use std::{
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};

/// Longer than any read takes: who joins a read that began before may get its result.
const JOINED: Duration = Duration::from_secs(2);

/// Clones share one state.
#[derive(Clone)]
pub struct Hearing(Arc<HearingState>);

struct HearingState {
    is_on: AtomicBool,
    began: Instant,
    /// When something was read without Redis last: ms since `began`, and one more; 0 for never.
    last_stale: AtomicU64,
}

impl Default for Hearing {
    fn default() -> Self {
        let (is_on, last_stale) = (AtomicBool::new(false), AtomicU64::new(0));
        Self(Arc::new(HearingState { is_on, began: Instant::now(), last_stale }))
    }
}

impl Hearing {
    /// One that hears.
    pub fn on() -> Self {
        let hearing = Self::default();
        hearing.set(true);
        hearing
    }

    /// Whether the invalidations of all shards are heard.
    pub fn is_on(&self) -> bool {
        self.0.is_on.load(Acquire)
    }

    pub(super) fn set(&self, is_on: bool) {
        self.0.is_on.store(is_on, Release);
    }

    /// Something is read without Redis.
    pub fn note_stale_read(&self) {
        let since = self.0.began.elapsed().as_millis() as u64;
        self.0.last_stale.fetch_max(since + 1, Relaxed);
    }

    /// Whether a request that began then may have got something that was read without Redis.
    pub fn was_stale_since(&self, request_began: Instant) -> bool {
        let last = self.0.last_stale.load(Relaxed);
        let request_began = request_began.saturating_duration_since(self.0.began);
        last > 0 && Duration::from_millis(last) + JOINED > request_began
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_around_a_read_without_redis_are_stale() {
        let hearing = Hearing::default();
        assert!(!hearing.was_stale_since(Instant::now()));
        hearing.note_stale_read();
        assert!(hearing.was_stale_since(Instant::now()));
        assert!(!hearing.was_stale_since(Instant::now() + 2 * JOINED));
    }
}
