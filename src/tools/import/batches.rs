//! The batches of an input, read and parsed in a thread of their own.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{self, Sender},
    },
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{
    batch_writer::ParsedLine,
    input::Lines,
    line::{Line, Reason},
    rejects::Reject,
};
use plaudit_catalogue::{UnixMillis, primitives::now};

/// Lines of a batch, and bytes of their texts at most. The more lines a batch has, the fewer totals and
/// invalidations each of them costs.
const BATCH_LINES: usize = 100_000;
const BATCH_BYTES: usize = 16 << 20;
/// Batches that are read ahead, unless there is a limit.
const AHEAD: usize = 2;

/// How batches are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Most lines of a batch.
    lines: usize,
    /// Batches that are read ahead of the one that is written.
    ahead: usize,
}

impl Reading {
    /// The largest batches, read while others are written.
    pub const AHEAD: Self = Self { lines: BATCH_LINES, ahead: AHEAD };

    /// Batches of at most so many lines, read when they are wanted: reading then takes a core from nobody while another
    /// batch is written.
    pub fn when_wanted(lines: usize) -> Self {
        Self { lines: lines.min(BATCH_LINES), ahead: 0 }
    }
}

/// Lines up to a position.
pub struct LineBatch {
    pub lines: Vec<ParsedLine>,
    pub rejected: Vec<Reject>,
    pub first: u64,
    pub last: u64,
    pub digest: Vec<u8>,
}

impl LineBatch {
    /// Time of its newest edge.
    pub fn newest_edge(&self) -> Option<UnixMillis> {
        self.lines.iter().filter_map(|parsed| parsed.line.edge_time()).max()
    }

    /// A line of the batch that is refused.
    pub fn reject(&self, number: u64, reason: Reason) -> Reject {
        let place = self.lines.binary_search_by_key(&number, |parsed| parsed.number).ok();
        Reject { number, reason, text: place.map(|place| self.lines[place].text.clone()) }
    }
}

/// The batches of an input.
pub struct Batches {
    /// Lines that the next batch may have.
    wanted: Sender<usize>,
    read: UnboundedReceiver<io::Result<LineBatch>>,
    /// Batches that are wanted and were not taken.
    open: usize,
}

impl Batches {
    /// `bytes`: set to those that were read.
    pub fn of(lines: Lines, bytes: Arc<AtomicU64>) -> Self {
        let (wanted, sizes) = mpsc::channel();
        let (sender, read) = unbounded_channel();
        tokio::task::spawn_blocking(move || read_batches(lines, &bytes, sizes.into_iter(), &sender));
        Self { wanted, read, open: 0 }
    }

    /// The next batch; `None` at the end.
    pub async fn next(&mut self, reading: Reading) -> Option<io::Result<LineBatch>> {
        while self.open <= reading.ahead {
            let _ = self.wanted.send(reading.lines); // fails if all were read
            self.open += 1;
        }
        self.open -= 1;
        self.read.recv().await
    }
}

/// Reads a batch of each size, until the input ends or cannot be read, or nobody wants more.
fn read_batches(
    mut lines: Lines,
    bytes: &AtomicU64,
    sizes: impl Iterator<Item = usize>,
    sender: &UnboundedSender<io::Result<LineBatch>>,
) {
    let consumed = lines.consumed();
    for size in sizes {
        let batch = next_batch(&mut lines, size).transpose();
        bytes.store(consumed.load(Relaxed), Relaxed);
        let Some(batch) = batch else { return };
        let is_last = batch.is_err();
        if sender.send(batch).is_err() || is_last {
            return;
        }
    }
}

/// `None` at the end.
fn next_batch(lines: &mut Lines, most: usize) -> io::Result<Option<LineBatch>> {
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
        LineBatch { lines: parsed, rejected, first, last: lines.number(), digest: lines.digest().to_vec() };
    Ok((read > 0).then_some(batch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::input::Input;

    /// First and last line of each batch, and how many are read ahead of the first one.
    async fn batches_of(lines: usize, reading: Reading) -> (Vec<(u64, u64)>, usize) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines.jsonl");
        std::fs::write(&path, "{\"type\":\"user\",\"subject\":\"anna\"}\n".repeat(lines)).unwrap();
        let mut batches = Batches::of(Input::of(&path).open().unwrap(), Arc::default());
        let (mut all, mut ahead) = (Vec::new(), None);
        while let Some(batch) = batches.next(reading).await {
            let batch = batch.unwrap();
            all.push((batch.first, batch.last));
            ahead.get_or_insert(batches.open);
        }
        (all, ahead.unwrap_or_default())
    }

    #[tokio::test]
    async fn batches_are_read_ahead_or_when_they_are_wanted_and_end_with_the_source() {
        assert_eq!(batches_of(5, Reading::when_wanted(2)).await, (vec![(1, 2), (3, 4), (5, 5)], 0));
        assert_eq!(batches_of(5, Reading::AHEAD).await, (vec![(1, 5)], AHEAD));
        assert_eq!(batches_of(0, Reading::AHEAD).await, (vec![], 0));
    }
}
