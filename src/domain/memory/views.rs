//! Views: buffered in this process and appended to the log in bundles, each bundle exactly once. Views
//! are many and worth little: a killed process loses the views of the last second. A process that takes another
//! number of shards over keeps them.

use std::{
    collections::{HashMap, VecDeque},
    num::NonZeroU32,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::view_window::ViewWindow;
use plaudit_catalogue::{
    event_log::Event,
    primitives::{NoteId, ShardCount, now},
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{Redis, ViewBundle, log::views},
};

/// How long views are buffered.
const BUFFER_TIME: Duration = Duration::from_secs(1);
/// Most different notes in the buffer; concurrent requests may exceed it.
const BUFFER_LIMIT: usize = 100_000;
/// Most events that one script call appends.
const BUNDLE_EVENTS: usize = 500;
/// How long a stop waits until the buffer is appended.
const LAST_FLUSH: Duration = Duration::from_secs(3);
/// How long its retries wait together: less, so that a shard that refuses at once is not left in the middle of a call.
const LAST_RETRIES: Duration = Duration::from_secs(2);

pub(crate) type ViewCounts = HashMap<NoteId, NonZeroU32>;

/// Views that this process has not appended yet.
pub(crate) struct Views {
    redis: Redis,
    /// Identifies this process to Redis, so that no bundle is appended twice.
    sender: Uuid,
    pub buffer: Mutex<ViewCounts>,
    /// Whether the bundle that is being appended may be in the log already: there was no answer.
    may_be_appended: AtomicBool,
    pub window: ViewWindow,
}

impl Views {
    /// `window`: within this time a viewer's further views of a note do not count.
    pub fn new(redis: Redis, window: Duration) -> Self {
        let window = ViewWindow::new(window);
        let (buffer, may_be_appended) = (Mutex::default(), AtomicBool::default());
        Self { redis, sender: Uuid::new_v4(), buffer, may_be_appended, window }
    }

    pub fn is_full(&self) -> bool {
        self.buffer.lock().len() >= BUFFER_LIMIT
    }

    pub fn add(&self, notes: impl Iterator<Item = (NoteId, NonZeroU32)>) {
        let mut buffer = self.buffer.lock();
        for (note, views) in notes {
            let by = buffer.entry(note);
            by.and_modify(|by| *by = by.saturating_add(views.get())).or_insert(views);
        }
    }

    /// Appends the buffer every second until `stop`, and then once more. What is left then is in the buffer
    /// again, but for a bundle that may be in the log. A stop waits for the call that runs: its answer says
    /// whether the bundle is there.
    pub async fn run(&self, stop: CancellationToken) {
        let mut queue = BundleQueue::default();
        while stop.run_until_cancelled(tokio::time::sleep(BUFFER_TIME)).await.is_some() {
            self.flush(&mut queue, delays(), &stop).await;
        }
        let last = delays().with_total_delay(Some(LAST_RETRIES));
        let never = CancellationToken::new();
        let flush = self.flush(&mut queue, last, &never);
        let _ = tokio::time::timeout(LAST_FLUSH, flush).await;
        if !queue.bundles.is_empty() {
            let skipped = usize::from(self.may_be_appended.load(Relaxed));
            self.add(queue.views().skip(skipped).flatten());
            tracing::warn!("the process stopped before all views were appended");
        }
    }

    /// Appends until a bundle fails for good. Cancel-safe: a bundle stays in the queue, under its number, until it is
    /// appended.
    async fn flush(&self, queue: &mut BundleQueue, retries: ExponentialBuilder, stop: &CancellationToken) {
        let views = std::mem::take(&mut *self.buffer.lock());
        queue.add(views, self.redis.shards());
        while let Some(bundle) = queue.bundles.front() {
            if self.append(bundle, retries, stop).await.is_err() {
                break;
            }
            queue.bundles.pop_front();
        }
    }

    /// Retries until it succeeds, `retries` end or `stop`; new views are buffered meanwhile.
    async fn append(
        &self,
        bundle: &ViewBundle,
        retries: ExponentialBuilder,
        stop: &CancellationToken,
    ) -> StoreResult<()> {
        let mut failures = 0;
        let append = || async {
            let before = self.may_be_appended.swap(true, Relaxed);
            let outcome = views::append_views(&self.redis, self.sender, bundle).await;
            match &outcome {
                Ok(()) => self.may_be_appended.store(false, Relaxed),
                Err(StoreError::NotRecovered | StoreError::LogFull) => {
                    self.may_be_appended.store(before, Relaxed);
                }
                Err(_) => {}
            }
            outcome
        };
        let note_failure = |error: &StoreError, _| {
            failures += 1;
            if failures == 1 {
                tracing::warn!(shard = bundle.shard.0, %error, "cannot append views; retrying");
            }
        };
        let stopped = stop.clone();
        let wait = move |delay| {
            let stopped = stopped.clone();
            async move {
                stopped.run_until_cancelled(tokio::time::sleep(delay)).await;
            }
        };
        let is_wanted = |_: &StoreError| !stop.is_cancelled();
        let outcome = append.retry(retries).sleep(wait).when(is_wanted).notify(note_failure).await;
        if failures > 0 && outcome.is_ok() {
            tracing::info!(shard = bundle.shard.0, failures, "views are appended again");
        }
        outcome
    }
}

/// From 10 ms to 5 s, with jitter, without limit.
fn delays() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(10))
        .with_max_delay(Duration::from_secs(5))
        .with_jitter()
        .without_max_times()
}

/// Bundles to append, in order.
#[derive(Default)]
struct BundleQueue {
    /// Number of the newest bundle.
    number: u64,
    bundles: VecDeque<ViewBundle>,
}

impl BundleQueue {
    /// The views of each bundle.
    fn views(&self) -> impl Iterator<Item = impl Iterator<Item = (NoteId, NonZeroU32)>> {
        let views = |event: &Event| match event {
            Event::Views { note, by, .. } => Some((*note, *by)),
            _ => None,
        };
        self.bundles.iter().map(move |bundle| bundle.events.iter().filter_map(views))
    }

    fn add(&mut self, views: ViewCounts, shards: ShardCount) {
        let at = now();
        let mut by_shard = vec![Vec::new(); shards.get()];
        for (note, by) in views {
            by_shard[shards.shard_of(note.0).index()].push(Event::Views { note, by, at });
        }
        for (shard, events) in shards.all().zip(by_shard) {
            for events in events.chunks(BUNDLE_EVENTS) {
                self.number += 1;
                self.bundles.push_back(ViewBundle { shard, number: self.number, events: events.to_vec() });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::primitives::Id;

    fn note(id: i64) -> NoteId {
        NoteId(Id::try_from(id).unwrap())
    }

    #[test]
    fn buffered_views_are_cut_into_numbered_bundles_of_one_shard_each() {
        let mut queue = BundleQueue::default();
        let by = NonZeroU32::new(3).unwrap();
        queue.add((1..=1_201).map(|id| (note(id), by)).collect(), ShardCount::new(2).unwrap());
        queue.add(HashMap::from([(note(7), by)]), ShardCount::new(2).unwrap());

        let shape: Vec<_> = queue.bundles.iter().map(|b| (b.number, b.shard.0, b.events.len())).collect();
        assert_eq!(shape, [(1, 0, 500), (2, 0, 100), (3, 1, 500), (4, 1, 101), (5, 1, 1)]);
        assert!(
            matches!(queue.bundles[4].events[..], [Event::Views { note: n, by: b, .. }] if n == note(7) && b == by)
        );
    }

    #[tokio::test]
    async fn a_full_buffer_is_reported() {
        let views =
            Views::new(Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap(), BUFFER_TIME);
        let notes = (1..BUFFER_LIMIT as i64).map(|id| (note(id), NonZeroU32::MIN));
        views.add(notes.clone());
        views.add(notes);
        assert!(!views.is_full());
        views.add([(note(BUFFER_LIMIT as i64), NonZeroU32::MIN)].into_iter());
        assert!(views.is_full());
    }
}
