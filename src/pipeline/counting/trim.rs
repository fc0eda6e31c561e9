//! Keeps the log within bounds. Usually it is trimmed ten minutes behind the slowest reader: a PostgreSQL that
//! failed over may need to read what it had persisted once more. A log that takes more than half of what it
//! may is trimmed to what is cleaned, at once. The events of a full one are refused until there is room.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use crate::{
    pipeline::leadership::{Context, Leadership},
    primitives::{
        Offset, ShardId,
        fault::{self, Point},
    },
    store::{
        StoreError, StoreResult,
        redis::{LogExtent, Pages},
    },
};

const EVERY: Duration = Duration::from_secs(1);
/// Looks between two positions that are remembered.
const MINUTE: u64 = 60;
/// Remembered positions that are kept in the log.
const BEHIND: usize = 10;
/// Looks between two questions that cost Redis more.
const SELDOM: u64 = 10;

/// What an event takes in Redis until it is cleaned: 64 bytes in the log, 138 at most as a pending flip.
/// Measured, Redis 7.0 with 7-digit ids: 202 for people with one pending flip each, 170 for one with many.
const BYTES_PER_EVENT: u64 = 210;
/// However little memory there is.
const LEAST_ENTRIES: u64 = 100;

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let mut trimmer = Trimmer::new(leadership);
    loop {
        match trimmer.look().await {
            Err(error) if !error.is_transient() => return error,
            _ => tokio::time::sleep(EVERY).await, // what failed is done by the next look
        }
    }
}

/// The number up to which a log may grow that nobody trims meanwhile; 0 when it is full.
pub async fn room(context: &Context, shard: ShardId) -> StoreResult<u64> {
    let limit = limit(context).await?;
    let extent = context.redis.log_extent(shard).await?.ok_or(StoreError::NotRecovered)?;
    Ok(room_of(extent, limit))
}

const fn room_of(extent: LogExtent, limit: u64) -> u64 {
    if extent.entries < limit { extent.end.number + limit - extent.entries } else { 0 }
}

/// Entries that a shard's log may have.
async fn limit(context: &Context) -> StoreResult<u64> {
    let (memory, shards) = (context.redis.memory().await?, context.redis.shards().get() as u64);
    Ok(entries_in(memory, context.settings.redis_log_share, shards))
}

/// How many entries a shard's log may have, for `percent` of `memory` bytes.
fn entries_in(memory: u64, percent: u32, shards: u64) -> u64 {
    (memory / 100 * u64::from(percent) / shards / BYTES_PER_EVENT).max(LEAST_ENTRIES)
}

struct Trimmer {
    leadership: Arc<Leadership>,
    looks: u64,
    limit: u64,
    /// Where the clean was, minute by minute; the oldest is the one that may go.
    minutes: VecDeque<Offset>,
    /// What was said last. It changes with each trim, and without one nothing that was found full has room.
    room: Option<u64>,
    strain: Strain,
}

/// How much of its bound the log takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Strain {
    Little,
    /// More than half.
    High,
    Full,
}

impl Strain {
    const fn of(entries: u64, limit: u64) -> Self {
        if entries >= limit {
            Self::Full
        } else if entries > limit / 2 {
            Self::High
        } else {
            Self::Little
        }
    }
}

impl Trimmer {
    fn new(leadership: Arc<Leadership>) -> Self {
        let minutes = VecDeque::with_capacity(BEHIND + 1);
        Self { leadership, looks: 0, limit: 0, minutes, room: None, strain: Strain::Little }
    }

    async fn look(&mut self) -> StoreResult<()> {
        if self.looks.is_multiple_of(SELDOM) {
            self.look_closely().await?;
        }
        if self.looks.is_multiple_of(MINUTE) {
            self.forget_a_minute().await?;
        }
        self.looks += 1;
        let mut extent = self.extent().await?;
        if Strain::of(extent.entries, self.limit) > Strain::Little {
            let cleaned = *self.leadership.progress.cleaned.borrow();
            self.trim(cleaned, Pages::Cut).await?;
            extent = self.extent().await?;
        }
        self.make_room(extent).await?;
        self.tell(Strain::of(extent.entries, self.limit));
        self.gauge("plaudit_log_entries", extent.entries);
        Ok(())
    }

    async fn look_closely(&mut self) -> StoreResult<()> {
        self.limit = limit(&self.leadership.context).await?;
        self.gauge("plaudit_log_limit_entries", self.limit);
        self.gauge("plaudit_log_bytes", self.leadership.redis().log_bytes(self.shard()).await?);
        Ok(())
    }

    async fn forget_a_minute(&mut self) -> StoreResult<()> {
        self.minutes.push_back(*self.leadership.progress.cleaned.borrow());
        if self.minutes.len() > BEHIND
            && let Some(offset) = self.minutes.pop_front()
        {
            self.trim(offset, Pages::Whole).await?;
        }
        Ok(())
    }

    async fn trim(&self, offset: Offset, pages: Pages) -> StoreResult<()> {
        fault::reached(Point::BeforeTrim)?;
        self.leadership.redis().trim_log(self.shard(), offset, pages).await
    }

    async fn extent(&self) -> StoreResult<LogExtent> {
        let extent =
            self.leadership.redis().log_extent(self.shard()).await?.ok_or(StoreError::NotRecovered)?;
        self.leadership.context.status.see(self.shard(), extent.end);
        Ok(extent)
    }

    async fn make_room(&mut self, extent: LogExtent) -> StoreResult<()> {
        let room = room_of(extent, self.limit);
        if self.room != Some(room) {
            self.leadership.redis().set_append_limit(self.shard(), self.leadership.lease.fence, room).await?;
            self.room = Some(room);
        }
        Ok(())
    }

    /// Logs only what is new.
    fn tell(&mut self, strain: Strain) {
        let (shard, limit) = (self.shard().0, self.limit);
        match strain {
            _ if strain == self.strain => {}
            Strain::Full => tracing::error!(
                shard,
                limit,
                "the shard's log is full: actions answer RETRY_LATER until PostgreSQL has caught up"
            ),
            Strain::High => tracing::warn!(
                shard,
                limit,
                "the shard's log takes more than half of what it may: nothing that is persisted stays in it"
            ),
            Strain::Little => tracing::info!(shard, limit, "the shard's log has room again"),
        }
        self.strain = strain;
    }

    fn gauge(&self, name: &'static str, value: u64) {
        metrics::gauge!(name, "shard" => self.shard().to_string()).set(value as f64);
    }

    fn shard(&self) -> ShardId {
        self.leadership.lease.shard
    }
}

/// Whoever owns the shard next tells of its log.
impl Drop for Trimmer {
    fn drop(&mut self) {
        for name in ["plaudit_log_entries", "plaudit_log_limit_entries", "plaudit_log_bytes"] {
            self.gauge(name, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_memory_is_divided_among_the_shards() {
        assert_eq!(entries_in(21_000_000, 50, 2), 25_000);
        assert_eq!(entries_in(0, 50, 2), LEAST_ENTRIES);
    }

    #[test]
    fn a_log_has_room_for_what_its_bound_leaves() {
        let end = Offset::new(7, 42);
        assert_eq!(room_of(LogExtent { entries: 10, end }, 100), 132);
        assert_eq!(room_of(LogExtent { entries: 99, end }, 100), 43);
        assert_eq!(room_of(LogExtent { entries: 100, end }, 100), 0);
    }

    #[test]
    fn a_log_is_strained_beyond_half_of_its_bound() {
        let strains = [50, 51, 99, 100].map(|entries| Strain::of(entries, 100));
        assert_eq!(strains, [Strain::Little, Strain::High, Strain::High, Strain::Full]);
    }
}
