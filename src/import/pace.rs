//! How fast an import writes. Beside a server it must leave CPU and PostgreSQL to it: it writes small batches, one after
//! the other by one connection, and rests after each.

use std::time::{Duration, Instant};

use super::batches::BatchSize;
use crate::store::{StoreResult, sql::Db};

/// Most lines per second while a server owns shards, unless a rate is given.
const BESIDE_A_SERVER: u32 = 26_000;
/// Batches per second of an import with a limit. The larger a batch, the longer likes wait at its end, when thousands of
/// counts and sets are dropped; the smaller, the fewer rows of totals its lines share, and the more a line costs.
const BATCHES: u32 = 5;
/// A rest is at least the time that the batch took, divided by this: where a batch takes long, others want the CPU, too.
const LEAST_REST: u32 = 8;
/// Connections that write at the same time without a limit: one per core of PostgreSQL that an import keeps busy.
const CONNECTIONS: usize = 2;

/// Most lines per second of an import.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// [`BESIDE_A_SERVER`] while a server owns shards, otherwise without a limit.
    ByServer,
    /// 0: without a limit.
    Given(u32),
}

/// Keeps an import to its rate.
pub struct Pace {
    rate: Rate,
    /// The limit now, in lines per second.
    limit: Option<u32>,
    size: BatchSize,
}

impl Pace {
    pub fn new(rate: Rate) -> Self {
        Self { rate, limit: None, size: BatchSize::default() }
    }

    /// Finds out whether a server is at work. The batches that are read from now on have the size for it.
    pub async fn look(&mut self, db: &Db) -> StoreResult<()> {
        self.limit = match self.rate {
            Rate::Given(0) => None,
            Rate::Given(most) => Some(most),
            Rate::ByServer => {
                let has_server = db.shard_owners().await?.iter().any(Option::is_some);
                has_server.then_some(BESIDE_A_SERVER)
            }
        };
        self.size.set(self.limit.map(|limit| (limit / BATCHES).max(1) as usize));
        Ok(())
    }

    pub fn batch_size(&self) -> BatchSize {
        self.size.clone()
    }

    /// How many transactions may be written at the same time.
    pub const fn connections(&self) -> usize {
        if self.limit.is_some() { 1 } else { CONNECTIONS }
    }

    /// Rests after a batch of so many lines, whose writing began at `began`.
    pub async fn rest(&self, lines: u64, began: Instant) {
        if let Some(limit) = self.limit {
            tokio::time::sleep(rest(lines, began.elapsed(), limit)).await;
        }
    }
}

/// How long to rest after lines that took so long to write, so that no more than `limit` are written in a second.
fn rest(lines: u64, took: Duration, limit: u32) -> Duration {
    let slot = Duration::from_secs_f64(lines as f64 / f64::from(limit));
    slot.saturating_sub(took).max(took / LEAST_REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_batch_and_its_rest_take_as_long_as_its_lines_at_the_rate() {
        assert_eq!(rest(3_000, millis(20), 30_000), millis(80));
        assert_eq!(rest(1, millis(0), 10), millis(100));
        assert_eq!(rest(20, millis(500), 10), millis(1_500));
    }

    #[test]
    fn after_a_batch_that_took_long_others_have_a_ninth_of_the_time() {
        assert_eq!(rest(3_000, millis(96), 30_000), millis(12));
        assert_eq!(rest(3_000, millis(400), 30_000), millis(50));
    }
}
