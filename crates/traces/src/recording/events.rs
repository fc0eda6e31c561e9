//! Events of recorded requests on their way through fold and persister.
//!
//! The log's entry has no place for a trace: an earlier release takes an entry with a second field as one that
//! it cannot read. So this process remembers the positions of its own recorded events, and finds them when it
//! folds and persists them itself. Events that other processes fold or persist are found by their position:
//! shard and offset.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Instant,
};

use opentelemetry::trace::SpanContext;
use parking_lot::Mutex;

use crate::{Batch, LogOffset, Stage};

/// Most positions of a stage that are remembered, and the most batches: the oldest ones are forgotten.
const MOST: usize = 4_096;
/// A batch may end before the request that appended to it has the reply; after this many others it is forgotten.
const MOST_BATCHES: usize = 256;

#[derive(Default)]
pub struct Events {
    fold: Mutex<OnTheWay>,
    persist: Mutex<OnTheWay>,
}

#[derive(Default)]
struct OnTheWay {
    /// The events, with the spans of their requests.
    waiting: BTreeMap<LogOffset, SpanContext>,
    /// Their positions, oldest first; also some that are not waiting any more.
    order: VecDeque<LogOffset>,
    done: VecDeque<(Batch, Instant)>,
}

impl Events {
    /// The event of a request is in the log. Returns the batches that have it already, and when they ended.
    pub fn appended(&self, at: LogOffset, request: &SpanContext) -> Vec<(Batch, Instant)> {
        [&self.fold, &self.persist]
            .into_iter()
            .filter_map(|stage| stage.lock().appended(at, request))
            .collect()
    }

    /// A batch is done. Returns the events of requests in it.
    pub fn done(&self, batch: &Batch, ended: Instant) -> Vec<(LogOffset, SpanContext)> {
        let stage = match batch.stage {
            Stage::Fold => &self.fold,
            Stage::Persist => &self.persist,
        };
        stage.lock().done(batch, ended)
    }
}

impl OnTheWay {
    fn appended(&mut self, at: LogOffset, request: &SpanContext) -> Option<(Batch, Instant)> {
        if let Some(done) = self.done.iter().find(|(batch, _)| has(batch, at)) {
            return Some(*done);
        }
        self.waiting.insert(at, request.clone());
        self.order.push_back(at);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.waiting.remove(&oldest);
        }
        None
    }

    fn done(&mut self, batch: &Batch, ended: Instant) -> Vec<(LogOffset, SpanContext)> {
        self.done.push_back((*batch, ended));
        if self.done.len() > MOST_BATCHES {
            self.done.pop_front();
        }
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let position = |offset| LogOffset { shard: batch.shard, offset };
        let range = position(batch.after)..=position(batch.to);
        self.waiting.extract_if(range, |at, _| has(batch, *at)).collect()
    }
}

fn has(batch: &Batch, at: LogOffset) -> bool {
    batch.shard == at.shard && batch.after < at.offset && at.offset <= batch.to
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(shard: u16, number: u64) -> LogOffset {
        LogOffset { shard, offset: (1, number) }
    }

    fn appended(events: &Events, at: LogOffset) -> Vec<(Batch, Instant)> {
        events.appended(at, &SpanContext::empty_context())
    }

    fn batch(stage: Stage, shard: u16, after: u64, to: u64) -> Batch {
        let events = (to - after) as usize;
        Batch { stage, shard, after: (1, after), to: (1, to), events, began: Instant::now() }
    }

    fn numbers(found: &[(LogOffset, SpanContext)]) -> Vec<u64> {
        found.iter().map(|(at, _)| at.offset.1).collect()
    }

    #[test]
    fn a_batch_has_the_events_after_its_beginning_and_up_to_its_end_once() {
        let events = Events::default();
        for number in [3, 4, 5, 6] {
            assert!(appended(&events, event(0, number)).is_empty());
        }
        assert!(appended(&events, event(1, 4)).is_empty());
        let fold = batch(Stage::Fold, 0, 3, 5);
        assert_eq!(numbers(&events.done(&fold, Instant::now())), [4, 5]);
        assert!(events.done(&fold, Instant::now()).is_empty());
        assert_eq!(numbers(&events.done(&batch(Stage::Persist, 0, 0, 9), Instant::now())), [3, 4, 5, 6]);
    }

    #[test]
    fn an_event_finds_the_batch_that_was_done_before_the_request_knew_its_position() {
        let events = Events::default();
        events.done(&batch(Stage::Fold, 0, 3, 5), Instant::now());
        let found = appended(&events, event(0, 4));
        assert_eq!(found.iter().map(|(batch, _)| batch.stage).collect::<Vec<_>>(), [Stage::Fold]);
        assert_eq!(numbers(&events.done(&batch(Stage::Persist, 0, 3, 5), Instant::now())), [4]);
    }

    #[test]
    fn what_nobody_folds_here_is_forgotten() {
        let events = Events::default();
        for number in 1..=MOST as u64 + 10 {
            appended(&events, event(0, number));
        }
        let found = events.done(&batch(Stage::Fold, 0, 0, u64::MAX), Instant::now());
        assert_eq!((found.len(), found[0].0.offset.1), (MOST, 11));
    }
}
