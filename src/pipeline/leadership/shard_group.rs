//! Groups: batches of several shards of a process are handled together, because a script or a transaction costs more
//! than the events of a small batch. A group that fails is handled shard by shard, so that a lost leadership or a
//! refused event of one shard holds up no other.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::Instant};

use crate::primitives::Background;

/// The batches of the shards of a process that wait to be handled together.
pub struct ShardGroup<B> {
    start: Instant,
    /// Time between two batches of a shard that is busy.
    interval: Duration,
    /// How long the first batch of a group waits for the others.
    gather: Duration,
    waiting: Mutex<Waiting<B>>,
}

/// For each batch the sender that is signalled when it is done, and dropped if that is not known.
type Waiting<B> = Vec<(B, oneshot::Sender<()>)>;

impl<B: Send + 'static> ShardGroup<B> {
    pub fn new(interval: Duration, gather: Duration) -> Arc<Self> {
        Arc::new(Self { start: Instant::now(), interval, gather, waiting: Mutex::default() })
    }

    /// The moment after `last` at which all busy shards begin their next batch.
    pub fn next_turn(&self, last: Instant) -> Instant {
        let turns = last.duration_since(self.start).as_nanos() / self.interval.as_nanos() + 1;
        self.start + self.interval * turns as u32
    }

    /// Has a batch handled by `work`, together with those of other shards. Returns whether that is done; if not, it may
    /// be done or not, and the caller handles its batch alone.
    pub async fn together<W, F>(self: &Arc<Self>, background: &Background, batch: B, work: W) -> bool
    where
        W: FnOnce(Vec<B>) -> F + Send + 'static,
        F: Future<Output = bool> + Send,
    {
        let (done, outcome) = oneshot::channel();
        if self.add(batch, done) {
            let group = Arc::clone(self);
            // In the background: it serves other shards, also if this leadership ends.
            background.spawn(async move {
                tokio::time::sleep(group.gather).await;
                let (batches, waiting): (Vec<_>, Vec<_>) = group.take().into_iter().unzip();
                if work(batches).await {
                    for done in waiting {
                        let _ = done.send(()); // its leadership may have ended
                    }
                }
            });
        }
        outcome.await.is_ok()
    }

    /// Adds a batch. Returns whether it is the first one of its group.
    fn add(&self, batch: B, done: oneshot::Sender<()>) -> bool {
        let mut waiting = self.waiting.lock();
        waiting.push((batch, done));
        waiting.len() == 1
    }

    fn take(&self) -> Waiting<B> {
        std::mem::take(&mut *self.waiting.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn busy_shards_begin_at_the_same_moments() {
        let group = ShardGroup::<()>::new(Duration::from_millis(200), Duration::ZERO);
        let at = |ms| group.start + Duration::from_millis(ms);
        let turns = [0, 1, 199, 200, 450].map(|ms| group.next_turn(at(ms)));
        assert_eq!(turns, [at(200), at(200), at(200), at(400), at(600)]);
    }
}
