//! Consumer lag: how far a shard's fold and persister are behind its log, for the metrics.

use std::time::Duration;

use metrics::gauge;

use crate::leadership::Leadership;
use plaudit_catalogue::primitives::Offset;
use plaudit_store::{StoreResult, redis::log::reading};

/// Without the positions of fold and persister the whole log would count as lag.
fn has_begun(leadership: &Leadership) -> bool {
    let positions = [&leadership.progress.folded, &leadership.progress.persisted];
    positions.iter().all(|position| *position.borrow() > Offset::default())
}

/// Lag of one shard.
#[derive(Default)]
struct Lag {
    fold_events: u64,
    persist_events: u64,
    /// Age of the oldest event that is not persisted.
    persist_age: Duration,
}

impl Lag {
    /// Of a log that ends at `end`.
    async fn measure(leadership: &Leadership, end: Offset) -> StoreResult<Self> {
        let (redis, shard) = (leadership.redis(), leadership.lease.shard);
        let persisted = *leadership.progress.persisted.borrow();
        let oldest =
            if end > persisted { reading::first_after(redis, shard, persisted).await? } else { None };
        let age = |at: i64| (plaudit_catalogue::primitives::now() - at).max(0) as u64;
        Ok(Self {
            fold_events: events_behind(end, *leadership.progress.folded.borrow()),
            persist_events: events_behind(end, persisted),
            persist_age: Duration::from_millis(oldest.and_then(|entry| entry.event.at()).map_or(0, age)),
        })
    }
}

/// Entries after `at` up to `end`. Within a generation numbers have no gaps.
fn events_behind(end: Offset, at: Offset) -> u64 {
    if end.generation == at.generation {
        end.number.saturating_sub(at.number)
    } else if end > at {
        end.number + 1
    } else {
        0
    }
}

/// Gauges fall to zero with the leadership: the next owner measures the shard.
pub struct LagGauges {
    shard: String,
}

impl LagGauges {
    pub fn of(leadership: &Leadership) -> Self {
        Self { shard: leadership.lease.shard.to_string() }
    }

    /// Shows how far fold and persister are behind the log, which ends at `end`.
    pub async fn show(&self, leadership: &Leadership, end: Offset) -> StoreResult<()> {
        if has_begun(leadership) {
            self.set(Lag::measure(leadership, end).await?);
        }
        Ok(())
    }

    fn set(&self, lag: Lag) {
        gauge!("plaudit_fold_lag_events", "shard" => self.shard.clone()).set(lag.fold_events as f64);
        gauge!("plaudit_persist_lag_events", "shard" => self.shard.clone()).set(lag.persist_events as f64);
        gauge!("plaudit_persist_lag_seconds", "shard" => self.shard.clone())
            .set(lag.persist_age.as_secs_f64());
    }
}

impl Drop for LagGauges {
    fn drop(&mut self) {
        self.set(Lag::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_counts_entries_of_the_newest_generation_only() {
        let at = Offset::new;
        assert_eq!(events_behind(at(2, 9), at(2, 4)), 5);
        assert_eq!(events_behind(at(2, 9), at(2, 9)), 0);
        assert_eq!(events_behind(at(2, 9), at(1, 70)), 10);
        assert_eq!(events_behind(at(2, 4), at(2, 9)), 0);
    }
}
