//! The batches of a source, read and parsed ahead of the one that is written.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use tokio::sync::mpsc;

use super::{
    line::{Line, Reason},
    rejects::Reject,
    source::Lines,
    write::ParsedLine,
};
use crate::primitives::now;

/// Lines of a batch, and bytes of their texts at most. The more lines a batch has, the fewer totals and invalidations each
/// of them costs.
const BATCH_LINES: usize = 100_000;
const BATCH_BYTES: usize = 16 << 20;
/// Batches that are read ahead.
const AHEAD: usize = 2;

/// Most lines of the batches that are read from now on. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BatchSize(Arc<AtomicUsize>);

impl Default for BatchSize {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(BATCH_LINES)))
    }
}

impl BatchSize {
    /// `None`: the largest.
    pub fn set(&self, lines: Option<usize>) {
        self.0.store(lines.unwrap_or(BATCH_LINES).min(BATCH_LINES), Relaxed);
    }
}

/// Lines up to a position.
pub struct Batch {
    pub lines: Vec<ParsedLine>,
    pub rejected: Vec<Reject>,
    pub first: u64,
    pub last: u64,
    pub digest: Vec<u8>,
}

impl Batch {
    /// A line of the batch that is refused.
    pub fn reject(&self, number: u64, reason: Reason) -> Reject {
        let place = self.lines.binary_search_by_key(&number, |parsed| parsed.number).ok();
        Reject { number, reason, text: place.map(|place| self.lines[place].text.clone()) }
    }
}

/// Reads and parses batches in a thread of their own, a few ahead.
pub fn read_ahead(
    mut lines: Lines,
    bytes: Arc<AtomicU64>,
    size: BatchSize,
) -> mpsc::Receiver<io::Result<Batch>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        let consumed = lines.consumed();
        loop {
            let batch = next_batch(&mut lines, size.0.load(Relaxed)).transpose();
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
fn next_batch(lines: &mut Lines, most: usize) -> io::Result<Option<Batch>> {
    let (mut parsed, mut rejected, mut bytes, mut read) = (Vec::new(), Vec::new(), 0, 0);
    let (now, first) = (now(), lines.number() + 1);
    while read < most && bytes < BATCH_BYTES {
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
