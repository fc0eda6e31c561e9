//! The run of an import: reads lines in batches, writes each batch, and continues where an earlier run was interrupted.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use backon::{ExponentialBuilder, Retryable};
use tokio::sync::{Mutex, mpsc};

use super::{
    barrier::{Barrier, NotPersisted, now},
    line::Line,
    names::Names,
    rejects::{Reject, Rejects},
    source::{Lines, Source},
    write::{self, ParsedLine, Written},
};
use crate::{
    primitives::fault::{self, Point},
    store::{
        StoreError, StoreResult,
        redis::Redis,
        sql::{Db, import::runs::ImportPosition},
    },
};

/// Lines of one transaction, and bytes of their texts at most.
const BATCH_LINES: usize = 10_000;
const BATCH_BYTES: usize = 8 << 20;
/// Batches that are read ahead.
const AHEAD: usize = 2;
/// Attempts to write a batch while PostgreSQL is busy: several minutes.
const ATTEMPTS: usize = 30;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read {name}: {source}")]
    Read { name: String, source: io::Error },
    #[error("cannot write the rejected lines to {}: {source}", path.display())]
    Rejects { path: PathBuf, source: io::Error },
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

/// Writes the lines of one source after the other.
pub struct Importer {
    redis: Redis,
    db: Db,
    barrier: Barrier,
    names: Names,
    is_dry: bool,
}

/// Lines up to a position.
pub(super) struct Batch {
    pub lines: Vec<ParsedLine>,
    pub rejected: Vec<Reject>,
    first: u64,
    last: u64,
    digest: Vec<u8>,
}

impl Importer {
    /// `is_dry`: parses and checks the lines, and writes nothing.
    pub fn new(redis: Redis, db: Db, is_dry: bool) -> Self {
        let db = db.with_events(false); // history is no news
        Self { barrier: Barrier::new(redis.clone(), db.clone()), redis, db, names: Names::default(), is_dry }
    }

    /// Imports a source from where an interrupted run of it ended.
    ///
    /// # Errors
    /// [`ImportError`]. What was committed stays, and the next run continues after it.
    pub async fn import(&mut self, source: &Source, progress: &Progress) -> Result<Summary, ImportError> {
        let name = source.name();
        let key = key_of(source);
        let reading = |source: io::Error| ImportError::Read { name: name.clone(), source };
        let (lines, mut position) = self.begin(source, &key).await?;
        let path = source.rejects();
        let writing = |source: io::Error| ImportError::Rejects { path: path.clone(), source };
        let mut rejects = match self.is_dry {
            true => None,
            false => Some(Rejects::open(path.clone(), position.rejects_bytes as u64).map_err(writing)?),
        };
        let skipped = position.line as u64;
        let mut summary = Summary { skipped, rejected: position.rejected as u64, ..Summary::default() };
        let mut batches = read_ahead(lines, progress.bytes.clone());
        while let Some(batch) = batches.recv().await {
            let batch = batch.map_err(reading)?;
            let newest = batch.lines.iter().filter_map(|parsed| parsed.line.edge_time()).max();
            if let Some(newest) = newest.filter(|_| !self.is_dry) {
                self.barrier.wait(newest).await??;
            }
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
        if !self.is_dry {
            let mut tx = self.db.begin().await?;
            tx.move_import(&key, &position, true).await?;
            tx.commit().await?;
        }
        Ok(summary)
    }

    /// Opens the source behind the lines that an interrupted run has written, if these are still the same.
    async fn begin(&self, source: &Source, key: &str) -> Result<(Lines, ImportPosition), ImportError> {
        let reading = |error: io::Error| ImportError::Read { name: source.name(), source: error };
        let mut lines = source.open().map_err(reading)?;
        if self.is_dry || *source == Source::StandardInput {
            return Ok((lines, ImportPosition::default()));
        }
        let Some(position) = self.db.import_position(key).await? else {
            return Ok((lines, ImportPosition::default()));
        };
        let is_same =
            lines.skip(position.line as u64).map_err(reading)? && lines.digest()[..] == position.digest;
        if is_same {
            return Ok((lines, position));
        }
        Ok((source.open().map_err(reading)?, ImportPosition::default()))
    }

    /// Writes a batch. Returns the number of rejected lines, and of rows.
    async fn write(
        &mut self,
        batch: &Batch,
        key: &str,
        position: &mut ImportPosition,
        rejects: &mut Option<Rejects>,
    ) -> Result<(u64, u64), WriteError> {
        self.names.shrink_unless(self.is_dry);
        let (db, shards, is_dry) = (&self.db, self.redis.shards(), self.is_dry);
        let names = Mutex::new(&mut self.names);
        let files = Mutex::new(rejects);
        let before = position.clone();
        let attempt = || async {
            let mut names = names.lock().await;
            let mut tx = db.begin().await?;
            let outcome = write::write(&mut tx, &mut names, &batch.lines, shards, is_dry).await;
            if outcome.is_err() && !is_dry {
                names.clear();
            }
            let Written { rejected, rows } = outcome?;
            let mut all = [&batch.rejected[..], &rejected].concat();
            all.sort_by_key(|reject| reject.number);
            let mut after = ImportPosition {
                line: batch.last as i64,
                digest: batch.digest.clone(),
                rejected: before.rejected + all.len() as i64,
                rejects_bytes: 0,
            };
            if let Some(rejects) = files.lock().await.as_mut() {
                // In the file before the commit: a kill between leaves lines that the next run writes again.
                after.rejects_bytes = rejects
                    .replace_from(before.rejects_bytes as u64, &all)
                    .map_err(WriteError::Rejects)? as i64;
                let committed = async {
                    tx.move_import(key, &after, false).await?;
                    fault::reached(Point::BeforeCommit)?;
                    tx.commit().await?;
                    fault::reached(Point::AfterCommit)?;
                    Ok(())
                };
                let committed: StoreResult<()> = committed.await;
                if committed.is_err() {
                    names.clear();
                }
                committed?;
            }
            Ok::<_, WriteError>((after, all.len() as u64, rows))
        };
        let pauses = ExponentialBuilder::new().with_max_times(ATTEMPTS).with_jitter();
        let (after, rejected, rows) = attempt.retry(pauses).when(WriteError::is_transient).await?;
        *position = after;
        Ok((rejected, rows))
    }
}

enum WriteError {
    Store(StoreError),
    Rejects(io::Error),
}

impl WriteError {
    const fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.class().is_retryable(),
            Self::Rejects(_) => false,
        }
    }
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The name of a source in the table of positions.
fn key_of(source: &Source) -> String {
    match source {
        Source::StandardInput => "-".into(),
        Source::File(path) => path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string(),
    }
}

/// Reads and parses batches in a thread of their own, a few ahead.
pub(super) fn read_ahead(mut lines: Lines, bytes: Arc<AtomicU64>) -> mpsc::Receiver<io::Result<Batch>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        let consumed = lines.consumed();
        loop {
            let batch = next_batch(&mut lines).transpose();
            bytes.store(consumed.load(Relaxed), Relaxed);
            let Some(batch) = batch else { return };
            let is_last = batch.is_err();
            if sender.blocking_send(batch).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

/// `None` at the end.
fn next_batch(lines: &mut Lines) -> io::Result<Option<Batch>> {
    let (mut parsed, mut rejected, mut bytes, mut read) = (Vec::new(), Vec::new(), 0, 0);
    let (now, first) = (now(), lines.number() + 1);
    while read < BATCH_LINES && bytes < BATCH_BYTES {
        let Some(line) = lines.next()? else { break };
        let number = line.number;
        read += 1;
        match line.text {
            Err(reason) => rejected.push(Reject { number, reason: reason.into(), text: None }),
            Ok(text) => {
                bytes += text.len();
                match Line::parse(&text, now) {
                    Ok(line) => parsed.push(ParsedLine { number, line, text }),
                    Err(reason) => rejected.push(Reject { number, reason, text: Some(text) }),
                }
            }
        }
    }
    let batch =
        Batch { lines: parsed, rejected, first, last: lines.number(), digest: lines.digest().to_vec() };
    Ok((read > 0).then_some(batch))
}
