//! Trimming: keeps the shard's log within its share of Redis' memory. Usually the log is trimmed ten minutes
//! behind the retired offset: after a failover PostgreSQL may have to persist events once more. A log above
//! half of its limit is trimmed to the retired offset at once. A full log refuses events until there is room.
//! What is read of the log for that also gives the lag of its readers.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use super::lag::LagGauges;
use crate::leadership::{Context, Leadership, ticks};
use plaudit_catalogue::primitives::{
    Offset, ShardId,
    fault::{self, Point},
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{LogExtent, Pages, log::reading},
};

const EVERY: Duration = Duration::from_secs(1);
/// Rounds between two recordings of the retired offset.
const ROUNDS_PER_MINUTE: u64 = 60;
/// Minutes of retired events that stay in the log.
const MINUTES_KEPT: usize = 10;
/// Rounds between two measurements that are more expensive for Redis.
const ROUNDS_PER_MEASUREMENT: u64 = 10;

/// Memory of an event in Redis until it is retired: 64 bytes in the log, at most 138 in the pending overlay.
/// Measured, Redis 7.0 with 7-digit ids: 202 for actors with one pending flip each, 170 for one actor with many.
const BYTES_PER_EVENT: u64 = 210;
/// Texts of entities take at most this share of the memory that the log leaves.
const TEXT_PERCENT: u64 = 25;
/// Lower bound of a log's limit, for any amount of memory.
const MIN_ENTRIES: u64 = 100;

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let mut trimmer = Trimmer::new(leadership);
    loop {
        match trimmer.round().await {
            Err(error) if !error.is_transient() => return error,
            _ => ticks::tick(EVERY).await, // the next round repeats what failed
        }
    }
}

/// The entry number up to which the shard's log may grow until it is trimmed again; 0 when it is full.
pub async fn append_limit(context: &Context, shard: ShardId) -> StoreResult<u64> {
    let limit = Limits::of(context, shard).await?.entries;
    let extent = reading::log_extent(&context.redis, shard).await?.ok_or(StoreError::NotRecovered)?;
    Ok(append_limit_of(extent, limit))
}

const fn append_limit_of(extent: LogExtent, limit: u64) -> u64 {
    if extent.entries < limit { extent.end.number + limit - extent.entries } else { 0 }
}

/// What a shard may take of the memory of its Redis.
#[derive(Clone, Copy, Default)]
struct Limits {
    /// Of its log.
    entries: u64,
    /// Of the texts of its entities.
    text_bytes: u64,
}

impl Limits {
    async fn of(context: &Context, shard: ShardId) -> StoreResult<Self> {
        let (memory, shards) = reading::memory(&context.redis, shard).await?;
        let percent = context.settings.redis_log_share;
        let text_bytes = memory / 10_000 * (100 - u64::from(percent)) * TEXT_PERCENT / shards;
        Ok(Self { entries: entries_in(memory, percent, shards), text_bytes })
    }
}

/// How many entries a shard's log may have, for `percent` of `memory` bytes.
fn entries_in(memory: u64, percent: u32, shards: u64) -> u64 {
    (memory / 100 * u64::from(percent) / shards / BYTES_PER_EVENT).max(MIN_ENTRIES)
}

struct Trimmer {
    leadership: Arc<Leadership>,
    rounds: u64,
    limits: Limits,
    /// The retired offsets of the last minutes, oldest first.
    minutes: VecDeque<Offset>,
    /// The limit that was last written to Redis. It changes with each trim: until then a full log stays full.
    append_limit: Option<u64>,
    fill: LogFill,
    /// As last read, and not trimmed since.
    extent: Option<LogExtent>,
    lag: LagGauges,
}

/// How full the log is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum LogFill {
    Low,
    /// More than half of its limit.
    High,
    Full,
}

impl LogFill {
    const fn of(entries: u64, limit: u64) -> Self {
        if entries >= limit {
            Self::Full
        } else if entries > limit / 2 {
            Self::High
        } else {
            Self::Low
        }
    }
}

impl Trimmer {
    fn new(leadership: Arc<Leadership>) -> Self {
        let (minutes, lag) = (VecDeque::with_capacity(MINUTES_KEPT + 1), LagGauges::of(&leadership));
        Self {
            leadership,
            rounds: 0,
            limits: Limits::default(),
            minutes,
            append_limit: None,
            fill: LogFill::Low,
            extent: None,
            lag,
        }
    }

    async fn round(&mut self) -> StoreResult<()> {
        if self.rounds.is_multiple_of(ROUNDS_PER_MEASUREMENT) {
            self.measure().await?;
            self.extent = None;
        }
        if self.rounds.is_multiple_of(ROUNDS_PER_MINUTE) {
            self.trim_oldest_minute().await?;
        }
        self.rounds += 1;
        let mut extent = match self.extent.filter(|extent| self.is_all_done(extent.end)) {
            Some(extent) => extent,
            None => self.read_extent().await?,
        };
        if LogFill::of(extent.entries, self.limits.entries) > LogFill::Low {
            let retired = *self.leadership.progress.retired.borrow();
            self.trim(retired, Pages::Cut).await?;
            extent = self.read_extent().await?;
        }
        self.write_append_limit(extent).await?;
        self.log_change(LogFill::of(extent.entries, self.limits.entries));
        self.gauge("plaudit_log_entries", extent.entries);
        self.lag.show(&self.leadership, extent.end).await
    }

    async fn measure(&mut self) -> StoreResult<()> {
        self.limits = Limits::of(&self.leadership.context, self.shard()).await?;
        self.gauge("plaudit_log_limit_entries", self.limits.entries);
        self.gauge("plaudit_log_bytes", reading::log_bytes(self.leadership.redis(), self.shard()).await?);
        Ok(())
    }

    async fn trim_oldest_minute(&mut self) -> StoreResult<()> {
        self.minutes.push_back(*self.leadership.progress.retired.borrow());
        if self.minutes.len() > MINUTES_KEPT
            && let Some(offset) = self.minutes.pop_front()
        {
            self.trim(offset, Pages::Whole).await?;
        }
        Ok(())
    }

    async fn trim(&mut self, offset: Offset, pages: Pages) -> StoreResult<()> {
        fault::reached(Point::BeforeTrim)?;
        self.extent = None;
        reading::trim_log(self.leadership.redis(), self.shard(), offset, pages).await
    }

    async fn read_extent(&mut self) -> StoreResult<LogExtent> {
        let extent = reading::log_extent(self.leadership.redis(), self.shard())
            .await?
            .ok_or(StoreError::NotRecovered)?;
        self.leadership.context.status.record_log_end(self.shard(), extent.end);
        self.extent = Some(extent);
        Ok(extent)
    }

    /// Whether all readers of the log are at this end of it and know of none later: it need not be read each second.
    fn is_all_done(&self, end: Offset) -> bool {
        let progress = &self.leadership.progress;
        let readers = [&progress.folded, &progress.persisted, &progress.retired];
        readers.iter().all(|at| *at.borrow() == end)
            && self.leadership.context.status.last_log_end(self.shard()) == Some(end)
    }

    async fn write_append_limit(&mut self, extent: LogExtent) -> StoreResult<()> {
        let limit = append_limit_of(extent, self.limits.entries);
        if self.append_limit != Some(limit) {
            reading::set_limits(
                self.leadership.redis(),
                self.shard(),
                self.leadership.lease.fence,
                limit,
                self.limits.text_bytes,
            )
            .await?;
            self.append_limit = Some(limit);
        }
        Ok(())
    }

    /// Logs when the fill level changes.
    fn log_change(&mut self, fill: LogFill) {
        let (shard, limit) = (self.shard().0, self.limits.entries);
        match fill {
            _ if fill == self.fill => {}
            LogFill::Full => tracing::error!(
                shard,
                limit,
                "the shard's log is full: actions answer RETRY_LATER until PostgreSQL has caught up"
            ),
            LogFill::High => tracing::warn!(
                shard,
                limit,
                "the shard's log is above half of its limit: retired events are trimmed at once"
            ),
            LogFill::Low => tracing::info!(shard, limit, "the shard's log has room again"),
        }
        self.fill = fill;
    }

    fn gauge(&self, name: &'static str, value: u64) {
        metrics::gauge!(name, "shard" => self.shard().to_string()).set(value as f64);
    }

    fn shard(&self) -> ShardId {
        self.leadership.lease.shard
    }
}

/// Gauges fall to zero with the leadership: the next owner reports the shard's log.
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
        assert_eq!(entries_in(0, 50, 2), MIN_ENTRIES);
    }

    #[test]
    fn a_log_may_grow_by_what_its_limit_leaves() {
        let end = Offset::new(7, 42);
        assert_eq!(append_limit_of(LogExtent { entries: 10, end }, 100), 132);
        assert_eq!(append_limit_of(LogExtent { entries: 99, end }, 100), 43);
        assert_eq!(append_limit_of(LogExtent { entries: 100, end }, 100), 0);
    }

    #[test]
    fn a_log_is_high_above_half_of_its_limit() {
        let fills = [50, 51, 99, 100].map(|entries| LogFill::of(entries, 100));
        assert_eq!(fills, [LogFill::Low, LogFill::High, LogFill::High, LogFill::Full]);
    }
}
