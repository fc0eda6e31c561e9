//! Views of notes. There are many of them and each is worth little, so they gather in this process and are
//! appended together: a kill loses what has gathered, which is a second's worth.

use std::{
    collections::{HashMap, VecDeque},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{DomainError, DomainResult, IdempotencyKey, Note, Plaudit, actions, edges::now, keys::Operation};
use crate::{
    event_log::Event,
    primitives::{NoteId, ShardCount, UserId},
    store::{
        StoreError,
        redis::{Redis, ViewBundle},
    },
};

/// How long views gather.
const GATHER: Duration = Duration::from_secs(1);
/// Different notes that gather at most, but for requests at the same moment.
const MOST_NOTES: usize = 100_000;
/// Events that one script call appends at most.
const BUNDLE_EVENTS: usize = 500;
/// How long a stop waits until what has gathered is appended.
const LAST_FLUSH: Duration = Duration::from_secs(3);

type Gathered = HashMap<NoteId, NonZeroU32>;

/// The views that this process has not appended yet.
pub(super) struct Views {
    redis: Redis,
    /// Names this process to Redis, so that no bundle is appended twice.
    sender: Uuid,
    gathered: Mutex<Gathered>,
}

impl Views {
    pub fn new(redis: Redis) -> Self {
        Self { redis, sender: Uuid::new_v4(), gathered: Mutex::default() }
    }

    fn is_full(&self) -> bool {
        self.gathered.lock().len() >= MOST_NOTES
    }

    fn gather(&self, notes: impl Iterator<Item = NoteId>) {
        let mut gathered = self.gathered.lock();
        for note in notes {
            let by = gathered.entry(note);
            by.and_modify(|by| *by = by.saturating_add(1)).or_insert(NonZeroU32::MIN);
        }
    }

    /// Appends what gathers until `stop`, and then the rest.
    async fn run(&self, stop: CancellationToken) {
        let mut queue = Queue::default();
        stop.run_until_cancelled(self.keep_flushing(&mut queue)).await;
        if tokio::time::timeout(LAST_FLUSH, self.flush(&mut queue)).await.is_err() {
            tracing::warn!("stopped with views that Redis did not take; they are lost");
        }
    }

    async fn keep_flushing(&self, queue: &mut Queue) {
        loop {
            tokio::time::sleep(GATHER).await;
            self.flush(queue).await;
        }
    }

    /// May be dropped half-way: a bundle stays in the queue, under its number, until it is appended.
    async fn flush(&self, queue: &mut Queue) {
        let gathered = std::mem::take(&mut *self.gathered.lock());
        queue.add(gathered, self.redis.shards());
        while let Some(bundle) = queue.bundles.front() {
            self.append(bundle).await;
            queue.bundles.pop_front();
        }
    }

    /// Tries until it works; new views gather meanwhile.
    async fn append(&self, bundle: &ViewBundle) {
        let mut failures = 0;
        let append = || self.redis.append_views(self.sender, bundle);
        let note_failure = |error: &StoreError, _| {
            failures += 1;
            if failures == 1 {
                tracing::warn!(shard = bundle.shard.0, %error, "cannot append views; trying until it works");
            }
        };
        let outcome = append.retry(delays()).notify(note_failure).await;
        if failures > 0 && outcome.is_ok() {
            tracing::info!(shard = bundle.shard.0, failures, "views are appended again");
        }
    }
}

/// From 10 ms to 5 s, with jitter, without an end.
fn delays() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(10))
        .with_max_delay(Duration::from_secs(5))
        .with_jitter()
        .without_max_times()
}

/// What is to be appended, in order.
#[derive(Default)]
struct Queue {
    /// Of the newest bundle.
    number: u64,
    bundles: VecDeque<ViewBundle>,
}

impl Queue {
    fn add(&mut self, gathered: Gathered, shards: ShardCount) {
        let at = now();
        let mut by_shard = vec![Vec::new(); shards.get()];
        for (note, by) in gathered {
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

impl Plaudit {
    /// Records one view per id. Ids of notes that do not exist, or were removed, are skipped: a page may
    /// show a note that has just gone. Returns the notes that were viewed, in the order of the ids, without
    /// repetition. Nobody waits for the counts.
    ///
    /// # Errors
    /// [`DomainError::Overloaded`] while more has gathered than this process may hold.
    pub async fn record_views(
        &self,
        actor: UserId,
        ids: &[NoteId],
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<Vec<Arc<Note>>> {
        let mut notes = self.notes().get_many(ids).await?;
        // Asked before the key is claimed: a claim must not outlive a refusal.
        if self.inner.views.is_full() {
            return Err(DomainError::Overloaded("views"));
        }
        let is_new = match key {
            Some(key) => self.claim_key(actor, key, &operation(ids)).await?,
            None => true,
        };
        if is_new {
            self.inner.views.gather(ids.iter().copied().filter(|id| notes.contains_key(id)));
            if !notes.is_empty() {
                actions::changed("recordViews");
            }
        }
        Ok(ids.iter().filter_map(|id| notes.remove(id)).collect())
    }

    /// What is done beside requests, until `stop`; returns when nothing is left to do, or time is up.
    pub async fn run(&self, stop: CancellationToken) {
        tokio::join!(self.inner.views.run(stop.clone()), self.inner.rates.run(&stop));
    }
}

/// The same ids in any order are the same operation.
fn operation(ids: &[NoteId]) -> Operation {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    Operation::new("recordViews", &ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::Id;

    fn note(id: i64) -> NoteId {
        NoteId(Id::try_from(id).unwrap())
    }

    #[test]
    fn what_has_gathered_is_cut_into_numbered_bundles_of_one_shard_each() {
        let mut queue = Queue::default();
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
    async fn so_many_different_notes_gather_and_more_is_refused() {
        let views = Views::new(Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap());
        let notes = (1..MOST_NOTES as i64).map(note);
        views.gather(notes.clone());
        views.gather(notes);
        assert!(!views.is_full());
        views.gather([note(MOST_NOTES as i64)].into_iter());
        assert!(views.is_full());
    }

    #[test]
    fn the_operation_tells_which_notes_and_how_often_but_not_in_which_order() {
        assert_eq!(operation(&[note(1), note(2)]), operation(&[note(2), note(1)]));
        assert_ne!(operation(&[note(1)]), operation(&[note(1), note(1)]));
        assert_ne!(operation(&[note(1)]), operation(&[note(2)]));
    }
}
