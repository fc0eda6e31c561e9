//! The run of an import: reads lines in batches, writes each by chunks, and continues where an earlier run was
//! interrupted.

use std::{
    collections::BTreeSet,
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use backon::{ExponentialBuilder, Retryable};
use futures_util::future::try_join_all;
use tokio::{sync::Mutex, time::Instant};

use super::{
    barrier::{Barrier, NotPersisted},
    batch_end::BatchEnd,
    batch_writer::ParsedLine,
    batches::{Batches, LineBatch},
    edges::{self, KNOWN_BEFORE, WrittenEdges},
    input::{Input, Lines},
    names::Names,
    pace::{Pace, Rate},
    rejects::Rejects,
    settle,
    write::{self, Written},
};
use plaudit_catalogue::{
    Flip,
    primitives::fault::{self, Point},
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::Redis,
    sql::{
        Db, Tx,
        import::runs::{self, ImportPosition},
    },
};

/// Attempts to write a transaction while PostgreSQL is busy: several minutes.
const ATTEMPTS: usize = 30;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read {name}: {source}")]
    Read { name: String, source: io::Error },
    #[error("cannot write the rejected lines to {}: {source}", path.display())]
    Rejects { path: PathBuf, source: io::Error },
    #[error("cannot write the differences: {0}")]
    Differences(io::Error),
    #[error(transparent)]
    NotPersisted(#[from] NotPersisted),
    #[error("lines {from} to {to} of {name}: {source}; repeat the import, which continues there")]
    Write { name: String, from: u64, to: u64, source: StoreError },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How far a run is. Cheap to clone.
#[derive(Clone, Default, Debug)]
pub struct Progress {
    /// Bytes of the file that were read.
    pub bytes: Arc<AtomicU64>,
    pub lines: Arc<AtomicU64>,
    pub rejected: Arc<AtomicU64>,
}

/// What a run has done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Lines that were read by this run.
    pub lines: u64,
    /// Lines that an interrupted run had read before.
    pub skipped: u64,
    pub rejected: u64,
    /// Rows that were written.
    pub rows: u64,
}

/// Writes the lines of one input after the other.
pub struct Importer {
    redis: Redis,
    db: Db,
    barrier: Barrier,
    names: Names,
    pace: Pace,
    /// No edge of the last batch had a row before.
    edges_are_new: AtomicBool,
}

impl Importer {
    pub fn new(redis: Redis, db: Db, rate: Rate) -> Self {
        let db = db.with_events(false); // history is no news
        let (barrier, names) = (Barrier::new(redis.clone(), db.clone()), Names::default());
        Self { barrier, redis, db, names, pace: Pace::new(rate), edges_are_new: AtomicBool::new(true) }
    }

    /// Imports an input from where an interrupted run of it ended.
    ///
    /// # Errors
    /// [`ImportError`]. What was committed stays, and the next run continues after it.
    pub async fn import(&mut self, input: &Input, progress: &Progress) -> Result<Summary, ImportError> {
        let name = input.name();
        let key = key_of(input);
        let reading = |source: io::Error| ImportError::Read { name: name.clone(), source };
        let (lines, mut position) = self.begin(input, &key).await?;
        let path = input.rejects();
        let writing = |source: io::Error| ImportError::Rejects { path: path.clone(), source };
        let mut rejects = Rejects::open(path.clone(), position.rejects_bytes as u64).map_err(writing)?;
        let skipped = position.line as u64;
        let mut summary = Summary { skipped, rejected: position.rejected as u64, ..Summary::default() };
        self.pace.look(&self.db).await?;
        let mut batches = Batches::of(lines, progress.bytes.clone());
        while let Some(batch) = batches.next(self.pace.reading()).await {
            let batch = batch.map_err(reading)?;
            if let Some(newest) = batch.newest_edge() {
                self.barrier.wait(newest).await??;
            }
            self.pace.look(&self.db).await?;
            let (read, rows) =
                (batch.last - skipped, self.write(&batch, &key, &mut position, &mut rejects).await);
            let (rejected, rows) = rows.map_err(|error| match error {
                WriteError::Store(source) => {
                    ImportError::Write { name: name.clone(), from: batch.first, to: batch.last, source }
                }
                WriteError::Rejects(source) => writing(source),
            })?;
            summary.lines = read;
            summary.rejected += rejected;
            summary.rows += rows;
            progress.lines.store(summary.lines, Relaxed);
            progress.rejected.store(summary.rejected, Relaxed);
        }
        let mut tx = self.db.begin().await?;
        runs::move_import(&mut tx, &key, &position, true).await?;
        tx.commit().await?;
        Ok(summary)
    }

    /// Opens the input behind the lines that an interrupted run has written, if these are still the same.
    async fn begin(&self, input: &Input, key: &str) -> Result<(Lines, ImportPosition), ImportError> {
        let reading = |error: io::Error| ImportError::Read { name: input.name(), source: error };
        let mut lines = input.open().map_err(reading)?;
        if *input == Input::StandardInput {
            return Ok((lines, ImportPosition::default()));
        }
        let Some(position) = runs::import_position(&self.db, key).await? else {
            return Ok((lines, ImportPosition::default()));
        };
        let is_same =
            lines.skip(position.line as u64).map_err(reading)? && lines.digest()[..] == position.digest;
        if is_same {
            return Ok((lines, position));
        }
        Ok((input.open().map_err(reading)?, ImportPosition::default()))
    }

    /// Writes a batch, chunk by chunk. Returns the number of rejected lines, and of rows.
    async fn write(
        &mut self,
        batch: &LineBatch,
        source: &str,
        position: &mut ImportPosition,
        rejects: &mut Rejects,
    ) -> Result<(u64, u64), WriteError> {
        let Written { rejected: refused, edges, rows } = self.write_things(&batch.lines).await?;
        let mut rejected = batch.rejected.clone();
        rejected.extend(refused.into_iter().map(|(number, reason)| batch.reject(number, reason)));
        let flips = edges::newest(edges.iter().map(|(_, flip)| *flip));
        let count = self.pace.chunks(flips.len());
        let mut chunks = edges::chunks(flips, count);
        // A chunk that no other is written beside shares a transaction with the position: each commit waits for
        // the disk.
        let is_alone = chunks.len() == 1 || self.pace.connections() == 1;
        let last = if is_alone { chunks.pop().unwrap_or_default() } else { Vec::new() };
        let written = self.write_edges(chunks).await?;
        let (began, lines) = (Instant::now(), last.len());
        let end = BatchEnd { batch, rejected, edges, last };
        let (moved, rows_of_edges) = self.end(source, &end, written, position, rejects).await?;
        let rejected = moved.rejected - position.rejected;
        *position = moved;
        self.pace.rest(lines, began).await;
        Ok((rejected as u64, rows + rows_of_edges))
    }

    /// Everything but edges.
    async fn write_things(&mut self, lines: &[ParsedLine]) -> Result<Written, WriteError> {
        let mut all = Written::default();
        for chunk in lines.chunks(self.pace.chunk()) {
            let began = Instant::now();
            let written = self.write_some_things(chunk).await?;
            let things = chunk.len() - written.edges.len();
            all.add(written);
            self.pace.rest(things, began).await;
        }
        Ok(all)
    }

    async fn write_some_things(&mut self, lines: &[ParsedLine]) -> Result<Written, WriteError> {
        self.names.shrink();
        let (db, shards) = (&self.db, self.redis.shards());
        let names = Mutex::new(&mut self.names);
        retried(|| async {
            let mut names = names.lock().await;
            let written = async {
                let mut tx = db.begin().await?;
                let written = write::write(&mut tx, &mut names, lines, shards, false).await?;
                commit(tx).await?;
                Ok(written)
            };
            let written = written.await;
            if written.is_err() {
                names.clear();
            }
            written
        })
        .await
    }

    /// Writes chunks, each in a transaction, as many at the same time as there are connections.
    async fn write_edges(&mut self, chunks: Vec<Vec<Flip>>) -> Result<WrittenEdges, WriteError> {
        let mut all = WrittenEdges::default();
        for together in chunks.chunks(self.pace.connections()) {
            let began = Instant::now();
            let written = try_join_all(together.iter().map(|chunk| self.commit_chunk(chunk))).await?;
            all = written.into_iter().fold(all, WrittenEdges::and);
            self.pace.rest(together.iter().map(Vec::len).sum(), began).await;
        }
        Ok(all)
    }

    async fn commit_chunk(&self, chunk: &[Flip]) -> Result<WrittenEdges, WriteError> {
        retried(|| async {
            let mut tx = self.db.begin().await?;
            let written = self.write_chunk(&mut tx, chunk).await?;
            commit(tx).await?;
            Ok(written)
        })
        .await
    }

    async fn write_chunk(&self, tx: &mut Tx, chunk: &[Flip]) -> StoreResult<WrittenEdges> {
        let (written, stale) = edges::write(tx, chunk, KNOWN_BEFORE, &self.edges_are_new).await?;
        settle::invalidate(tx, self.redis.shards(), &stale.totals, &BTreeSet::new(), stale.sets).await?;
        Ok(written)
    }

    /// The last transaction of a batch. `written`: its edges that are written. Returns the position and the
    /// rows of edges.
    async fn end(
        &self,
        source: &str,
        end: &BatchEnd<'_>,
        written: WrittenEdges,
        from: &ImportPosition,
        rejects: &mut Rejects,
    ) -> Result<(ImportPosition, u64), WriteError> {
        let rejects = Mutex::new(rejects);
        retried(|| async {
            let mut tx = self.db.begin().await?;
            let written = self.write_chunk(&mut tx, &end.last).await?.and(written.clone());
            let rejected = end.rejected(&written.erased);
            // In the file before the commit: a kill between leaves lines that the next run writes again.
            let bytes = rejects.lock().await.replace_from(from.rejects_bytes as u64, &rejected);
            let position = end.position(from, rejected.len(), bytes.map_err(WriteError::Rejects)?);
            runs::move_import(&mut tx, source, &position, false).await?;
            commit(tx).await?;
            Ok((position, written.rows))
        })
        .await
    }
}

async fn commit(tx: Tx) -> StoreResult<()> {
    fault::reached(Point::BeforeImported)?;
    tx.commit().await?;
    fault::reached(Point::AfterImported)?;
    Ok(())
}

/// Repeats a transaction while PostgreSQL is busy.
async fn retried<T, F: Future<Output = Result<T, WriteError>>>(
    attempt: impl FnMut() -> F,
) -> Result<T, WriteError> {
    let pauses = ExponentialBuilder::new().with_max_times(ATTEMPTS).with_jitter();
    attempt.retry(pauses).when(WriteError::is_retryable).await
}

enum WriteError {
    Store(StoreError),
    Rejects(io::Error),
}

impl WriteError {
    fn is_retryable(&self) -> bool {
        matches!(self, Self::Store(error) if error.class().is_retryable())
    }
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The name of an input in the table of positions.
fn key_of(input: &Input) -> String {
    match input {
        Input::StandardInput => "-".into(),
        Input::File(path) => path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string(),
    }
}
