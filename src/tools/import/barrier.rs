//! Waits until the log is persisted, so that the later time wins.
//!
//! The persister applies flips in the order of the log and does not compare times: clocks differ, and a flip
//! that was acknowledged must not be lost. So a line must not be written while the log holds a flip that may be
//! older. A batch waits until its newest line is older than the longest way of a flip into the log, and until
//! what the log held then is persisted. Every flip that is persisted later is newer than the batch, and is
//! right to win.

use std::time::Duration;

use plaudit_catalogue::{
    UnixMillis,
    primitives::{Offset, now},
};
use plaudit_store::{
    StoreResult,
    redis::{Redis, log::reading},
    sql::{Db, ownership::shards},
};

/// The longest time between the moment that a flip is dated and its entry in the log: time limit of a request to Redis,
/// its attempts, and the difference of clocks.
const LONGEST_FLIP: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_millis(50);
/// How long the log may stand still.
const PATIENCE: Duration = Duration::from_secs(60);

/// The log is not being persisted.
#[derive(Debug, thiserror::Error)]
#[error(
    "the log holds events that are not in PostgreSQL, and nobody writes them: start `plaudit serve`, and import again"
)]
pub struct NotPersisted;

/// All flips that are dated before a moment are persisted.
pub struct Barrier {
    redis: Redis,
    db: Db,
    /// The moment.
    covered: UnixMillis,
}

impl Barrier {
    pub const fn new(redis: Redis, db: Db) -> Self {
        Self { redis, db, covered: UnixMillis::MIN }
    }

    /// Waits until all flips before `newest` are persisted. Returns at once if that is known.
    ///
    /// # Errors
    /// The inner one if nobody persists the log.
    pub async fn wait(&mut self, newest: UnixMillis) -> StoreResult<Result<(), NotPersisted>> {
        if newest < self.covered {
            return Ok(Ok(()));
        }
        let margin = LONGEST_FLIP.as_millis() as i64;
        let young_for = newest + margin - now();
        if young_for > 0 {
            tokio::time::sleep(Duration::from_millis(young_for as u64 + 1)).await;
        }
        let covered = now() - margin;
        let mut ends = Vec::new();
        for shard in self.redis.shards().all() {
            ends.push(reading::log_end(&self.redis, shard).await?);
        }
        if !self.persisted(&ends).await? {
            return Ok(Err(NotPersisted));
        }
        self.covered = covered;
        Ok(Ok(()))
    }

    /// Whether the logs are persisted up to these ends before they stand still for too long.
    async fn persisted(&self, ends: &[Option<Offset>]) -> StoreResult<bool> {
        let (mut before, mut moved) = (Vec::new(), tokio::time::Instant::now());
        loop {
            let offsets = shards::persisted_state(&self.db).await?.offsets;
            let is_behind = |(end, offset): (&Option<Offset>, &Offset)| end.is_some_and(|end| *offset < end);
            if !ends.iter().zip(&offsets).any(is_behind) {
                return Ok(true);
            }
            if offsets != before {
                (before, moved) = (offsets, tokio::time::Instant::now());
            }
            if moved.elapsed() > PATIENCE {
                return Ok(false);
            }
            tokio::time::sleep(EVERY).await;
        }
    }
}
