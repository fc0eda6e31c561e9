//! Groups: batches of several shards of a process are handled together, because a script or a transaction costs
//! more than the events of a small batch. A group that fails is handled shard by shard, so that a lost
//! leadership or a refused event of one shard holds up no other. What is read for each shard is read together
//! in the same way. Batches for different places, such as nodes of Redis, are never of one group: one that does
//! not answer holds up no other.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::Instant};

use plaudit_catalogue::primitives::Background;

/// The batches of the shards of a process that wait to be handled together, by place.
pub struct ShardGroup<B, A = (), P = ()> {
    start: Instant,
    /// Length of a turn.
    interval: Duration,
    /// How many batches of the process may begin in a turn before others wait for the next one.
    at_once: u32,
    /// How long the first batch of a group waits for the others.
    gather: Duration,
    begun: Mutex<Begun>,
    waiting: Mutex<BTreeMap<P, Waiting<B, A>>>,
}

/// The last turn in which a batch has begun, or will, and how many.
#[derive(Clone, Copy, Default)]
struct Begun {
    turn: u32,
    batches: u32,
}

/// For each batch the sender of its answer, which is dropped if there is none.
type Waiting<B, A> = Vec<(B, oneshot::Sender<A>)>;

impl<B: Send + 'static, A: Send + 'static, P: Ord + Clone + Send + 'static> ShardGroup<B, A, P> {
    pub fn new(interval: Duration, at_once: u32, gather: Duration) -> Arc<Self> {
        Arc::new(Self {
            start: Instant::now(),
            interval,
            at_once,
            gather,
            begun: Mutex::default(),
            waiting: Mutex::default(),
        })
    }

    /// Waits until a shard may begin its next batch: at once while few of the process have begun in this turn;
    /// otherwise all begin together in the next one.
    pub async fn turn(&self) {
        tokio::time::sleep_until(self.next_turn(Instant::now())).await;
    }

    fn next_turn(&self, now: Instant) -> Instant {
        let current = (now.duration_since(self.start).as_nanos() / self.interval.as_nanos()) as u32;
        let mut begun = self.begun.lock();
        if begun.turn < current {
            *begun = Begun { turn: current, batches: 0 };
        }
        if begun.turn == current && begun.batches < self.at_once {
            begun.batches += 1;
            return now;
        }
        if begun.turn == current {
            *begun = Begun { turn: current + 1, batches: 0 };
        }
        begun.batches += 1;
        self.start + self.interval * (current + 1)
    }

    /// Has a batch handled by `work`, together with batches of other shards for the same place; `work` returns an
    /// answer for each. Without one the batch may be handled or not, and the caller handles it alone.
    pub async fn together<W, F>(
        self: &Arc<Self>,
        background: &Background,
        place: P,
        batch: B,
        work: W,
    ) -> Option<A>
    where
        W: FnOnce(Vec<B>) -> F + Send + 'static,
        F: Future<Output = Vec<A>> + Send,
    {
        let (done, outcome) = oneshot::channel();
        if self.add(place.clone(), batch, done) {
            let group = Arc::clone(self);
            // In the background: it serves other shards, also if this leadership ends.
            background.spawn(async move {
                tokio::time::sleep(group.gather).await;
                let (batches, waiting): (Vec<_>, Vec<_>) = group.take(&place).into_iter().unzip();
                for (done, answer) in waiting.into_iter().zip(work(batches).await) {
                    let _ = done.send(answer); // its leadership may have ended
                }
            });
        }
        outcome.await.ok()
    }

    /// Adds a batch. Returns whether it is the first one of its group.
    fn add(&self, place: P, batch: B, done: oneshot::Sender<A>) -> bool {
        let mut waiting = self.waiting.lock();
        let group = waiting.entry(place).or_default();
        group.push((batch, done));
        group.len() == 1
    }

    fn take(&self, place: &P) -> Waiting<B, A> {
        self.waiting.lock().remove(place).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn batches_for_places_with_different_shards_are_handled_apart_also_if_the_first_shard_is_the_same()
    {
        let group = ShardGroup::<u8, Vec<u8>, Arc<[u8]>>::new(Duration::from_millis(1), 1, Duration::ZERO);
        let background = Background::default();
        let asked = |source: u8, shards: &[u8]| {
            let (group, background, shards) = (&group, &background, Arc::<[u8]>::from(shards));
            let answer = Arc::clone(&shards);
            let work = |sources: Vec<u8>| async move { vec![answer.to_vec(); sources.len()] };
            async move { group.together(background, shards, source, work).await }
        };
        // Slots moved between the two questions.
        let answers = tokio::join!(asked(3, &[0, 2, 4]), asked(5, &[0, 1, 5, 6]), asked(7, &[0, 2, 4]));
        let (before, after) = (Some(vec![0, 2, 4]), Some(vec![0, 1, 5, 6]));
        assert_eq!(answers, (before.clone(), after, before));
    }

    #[tokio::test]
    async fn the_first_batches_after_a_pause_begin_at_once_and_the_others_together_in_the_next_turn() {
        let turns = |at_once, times: [u64; 7]| {
            let group = ShardGroup::<()>::new(Duration::from_millis(200), at_once, Duration::ZERO);
            let at = |ms| group.start + Duration::from_millis(ms);
            times.map(|ms| group.next_turn(at(ms)).duration_since(group.start).as_millis())
        };
        let times = [450, 460, 470, 599, 600, 601, 1_000];
        assert_eq!(turns(1, times), [450, 600, 600, 600, 800, 800, 1_000]);
        assert_eq!(turns(2, times), [450, 460, 600, 600, 800, 800, 1_000]);
    }
}
