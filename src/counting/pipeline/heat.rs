//! Heat of notes: retired events gather for some seconds, so that events of one note are added together, and are then
//! added to the shard's buckets together with a position of their own. Rankings stand still while nothing is retired.

use std::time::{Duration, Instant};

use crate::leadership::Leadership;
use plaudit_catalogue::{
    UnixMillis,
    event_log::{Entry, Heat, heat_of},
    primitives::Offset,
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{LogReader, counts::heat},
};

/// How long events gather. A ranking is cached for longer.
const GATHER: Duration = Duration::from_secs(4);
/// Entries per read of what the last owner retired, but did not add.
const READ_AT_ONCE: usize = 5_000;

/// Events of one shard's log whose heat is not added yet.
pub struct PendingHeat {
    /// Only events from this moment on count.
    since: Option<UnixMillis>,
    added: Offset,
    seen: Offset,
    heat: Heat,
    due: Instant,
}

impl PendingHeat {
    /// Continues where the last owner stopped: `retired` is how far it retired the log.
    pub async fn begin(leadership: &Leadership, reader: &LogReader, retired: Offset) -> StoreResult<Self> {
        let mut pending = Self::read(leadership, retired).await?;
        while pending.seen < retired {
            match reader.range(pending.seen, retired, READ_AT_ONCE).await {
                Ok(entries) => pending.take(&entries),
                Err(StoreError::LogGap { .. }) => {
                    heat::lose_heat(leadership.redis(), leadership.lease.shard, retired).await?;
                    return Self::read(leadership, retired).await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(pending)
    }

    async fn read(leadership: &Leadership, retired: Offset) -> StoreResult<Self> {
        let (redis, shard) = (leadership.redis(), leadership.lease.shard);
        let (since, added) = match heat::heat_position(redis, shard).await? {
            (since, Some(added)) => (since, added),
            (_, None) => {
                heat::lose_heat(redis, shard, retired).await?;
                (None, retired)
            }
        };
        // Differs, so that the shards of a process do not all add their heat at one moment.
        let first_gather = GATHER.mul_f32(rand::random());
        Ok(Self { since, added, seen: added, heat: Heat::new(), due: Instant::now() + first_gather })
    }

    /// Takes the next events of the log.
    pub fn take(&mut self, entries: &[Entry]) {
        let since = self.since.unwrap_or(UnixMillis::MAX);
        let counts = |entry: &&Entry| entry.event.at().is_some_and(|at| at >= since);
        let now = plaudit_catalogue::primitives::now();
        for (bucket, notes) in heat_of(entries.iter().filter(counts), now) {
            let sums = self.heat.entry(bucket).or_default();
            for (note, heat) in notes {
                *sums.entry(note).or_default() += heat;
            }
        }
        self.seen = entries.last().map_or(self.seen, |last| last.offset);
    }

    /// Adds what has gathered, if it is time. If heat has begun again meanwhile, what gathered is read again.
    pub async fn add_if_due(&mut self, leadership: &Leadership, reader: &LogReader) -> StoreResult<()> {
        if self.seen == self.added || Instant::now() < self.due {
            return Ok(());
        }
        let of = (leadership.lease.shard, leadership.lease.fence);
        let redis = leadership.redis();
        if heat::advance_heat(redis, of, self.added, self.seen, self.since, &self.heat).await? {
            self.heat.clear();
            (self.added, self.due) = (self.seen, Instant::now() + GATHER);
        } else {
            *self = Self::begin(leadership, reader, self.seen).await?;
            self.due = Instant::now();
        }
        Ok(())
    }

    /// When to add what has gathered; `None` if nothing has.
    pub fn due_in(&self) -> Option<Duration> {
        (self.seen > self.added).then(|| self.due.saturating_duration_since(Instant::now()))
    }
}
