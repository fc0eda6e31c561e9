//! How fast an import writes. Beside a server it must leave CPU and PostgreSQL to it: one connection writes a
//! batch chunk by chunk, and the import rests after each.

use std::time::Duration;

use tokio::time::Instant;

use super::batches::Reading;
use plaudit_store::{
    StoreResult,
    sql::{Db, ownership::sharing},
};

/// Most lines per second while a server owns shards, unless a rate is given.
const BESIDE_A_SERVER: u32 = 25_500;
/// Chunks that an import with a limit writes in a second. The larger a chunk, the longer likes wait at its end,
/// when counts and sets are dropped.
const CHUNKS: u32 = 5;
/// Seconds of lines that a batch has with a limit. The more lines are cut into chunks, the fewer notes each chunk
/// has, and the less a line costs.
const BATCH: u32 = 2;
/// A rest is at least the time that the chunk took, divided by this: where one takes long, others want the CPU, too.
const LEAST_REST: u32 = 8;
/// An import that was slow makes up for at most this time, so that it does not write without a limit for long.
const MADE_UP_FOR: Duration = Duration::from_secs(1);
/// Connections that write at the same time without a limit: one per core of PostgreSQL that an import keeps busy.
const CONNECTIONS: usize = 2;
/// Without a limit a smaller chunk is not worth a transaction.
const LEAST: usize = 1_000;

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
    /// When the time slot of the present chunk begins.
    start: Option<Instant>,
}

impl Pace {
    pub fn new(rate: Rate) -> Self {
        Self { rate, limit: None, start: None }
    }

    /// Finds out whether a server is at work.
    pub async fn look(&mut self, db: &Db) -> StoreResult<()> {
        self.limit = match self.rate {
            Rate::Given(0) => None,
            Rate::Given(most) => Some(most),
            Rate::ByServer => {
                let has_server = sharing::shard_owners(db).await?.iter().any(Option::is_some);
                has_server.then_some(BESIDE_A_SERVER)
            }
        };
        Ok(())
    }

    /// How the next batch is read.
    pub fn reading(&self) -> Reading {
        self.limit.map_or(Reading::AHEAD, |limit| Reading::when_wanted(limit.saturating_mul(BATCH) as usize))
    }

    /// How many transactions may be written at the same time.
    pub const fn connections(&self) -> usize {
        if self.limit.is_some() { 1 } else { CONNECTIONS }
    }

    /// Most lines of a transaction.
    pub const fn chunk(&self) -> usize {
        match self.limit {
            Some(limit) if limit >= CHUNKS => (limit / CHUNKS) as usize,
            Some(_) => 1,
            None => usize::MAX,
        }
    }

    /// Into how many chunks so many edges are cut.
    pub fn chunks(&self, edges: usize) -> usize {
        match self.limit {
            Some(_) => edges.div_ceil(self.chunk()),
            None => edges.div_ceil(LEAST).min(CONNECTIONS),
        }
    }

    /// Rests after so many lines, whose writing began at `began`.
    pub async fn rest(&mut self, lines: usize, began: Instant) {
        let Some(limit) = self.limit else { return };
        let chunk = WrittenChunk { start: self.start.unwrap_or(began), began, ended: Instant::now() };
        let (next, rested) = chunk.rest(Duration::from_secs_f64(lines as f64 / f64::from(limit)));
        self.start = Some(next);
        tokio::time::sleep_until(rested).await;
    }
}

/// When a chunk was written.
struct WrittenChunk {
    /// When its time slot begins, which includes what the import does before it writes.
    start: Instant,
    began: Instant,
    ended: Instant,
}

impl WrittenChunk {
    /// The start of the next chunk's time slot, and the earliest time at which that chunk may be written. `length`: the
    /// time that the lines of this chunk take at the limit.
    fn rest(&self, length: Duration) -> (Instant, Instant) {
        let next = self.start + length;
        let rested = self.ended + (self.ended - self.began) / LEAST_REST;
        (next.max(self.ended - MADE_UP_FOR), next.max(rested))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In milliseconds.
    fn rest([start, began, ended]: [u64; 3], length: u64) -> [u64; 2] {
        let first = Instant::now();
        let at = |millis| first + Duration::from_millis(millis);
        let chunk = WrittenChunk { start: at(start), began: at(began), ended: at(ended) };
        let (next, rested) = chunk.rest(Duration::from_millis(length));
        [next, rested].map(|at| (at - first).as_millis() as u64)
    }

    #[test]
    fn slots_are_as_long_as_their_lines_take_at_the_limit() {
        assert_eq!(rest([0, 0, 20], 100), [100, 100]);
        assert_eq!(rest([0, 40, 60], 100), [100, 100]);
    }

    #[test]
    fn after_a_part_that_took_long_others_have_a_ninth_of_the_time() {
        assert_eq!(rest([0, 0, 96], 100), [100, 108]);
        assert_eq!(rest([0, 40, 440], 100), [100, 490]);
    }

    #[test]
    fn an_import_makes_up_for_a_second() {
        assert_eq!(rest([0, 500, 580], 100), [100, 590]);
        assert_eq!(rest([0, 9_000, 9_080], 100), [8_080, 9_090]);
        assert_eq!(rest([8_080, 9_090, 9_170], 100), [8_180, 9_180]);
    }

    #[test]
    fn the_documents_name_the_limit_beside_a_server() {
        let (thousands, rest) = (BESIDE_A_SERVER / 1_000, BESIDE_A_SERVER % 1_000);
        for (page, limit) in [
            ("docs/guide/from-your-tables.md", format!("{thousands},{rest:03} lines per second")),
            ("docs/reference/command-line.md", format!("{BESIDE_A_SERVER} while a server runs")),
        ] {
            let text =
                std::fs::read_to_string(format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
            assert!(text.contains(&limit), "{page} does not say {limit:?}");
        }
    }

    #[test]
    fn a_batch_has_parts_of_a_fifth_of_a_second() {
        let with = |limit| Pace { limit, ..Pace::new(Rate::ByServer) };
        assert_eq!(
            [Some(25_000), Some(7), Some(1), None].map(|limit| with(limit).chunk()),
            [5_000, 1, 1, usize::MAX]
        );
        assert_eq!([0, 1, 5_000, 50_000].map(|edges| with(Some(25_000)).chunks(edges)), [0, 1, 1, 10]);
        assert_eq!([0, 1, 1_000, 1_001, 50_000].map(|edges| with(None).chunks(edges)), [0, 1, 1, 2, 2]);
    }
}
