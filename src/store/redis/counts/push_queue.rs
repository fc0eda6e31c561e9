//! Bounded queue of messages between the connection that subscribes to the shards' channels and the reader of the
//! messages. Each shard has its own bound in bytes. When a shard's messages exceed it, they are all dropped, and the
//! reader gets one overflow of that shard in their place; other shards lose nothing.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Memory overhead of a message, in bytes.
const OVERHEAD: usize = 64;

/// An item of the queue, with the shard's index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueueItem {
    Message(usize, String),
    /// All messages since the last item of this shard, up to now, were dropped.
    Overflow(usize),
}

#[derive(Debug)]
pub struct PushQueue {
    /// Per shard, in bytes.
    bound: usize,
    state: Mutex<ShardQueues>,
    changed: Notify,
}

#[derive(Debug)]
struct ShardQueues {
    shards: Vec<ShardQueue>,
    /// The shard whose turn is next.
    next: usize,
    overflows: u64,
    is_closed: bool,
}

#[derive(Clone, Default, Debug)]
struct ShardQueue {
    messages: VecDeque<String>,
    bytes: usize,
    has_overflowed: bool,
}

impl PushQueue {
    pub fn new(shards: usize, bound: usize) -> Self {
        let shards = vec![ShardQueue::default(); shards];
        let state = ShardQueues { shards, next: 0, overflows: 0, is_closed: false };
        Self { bound, state: Mutex::new(state), changed: Notify::new() }
    }

    /// Adds a shard's message.
    pub fn push(&self, shard: usize, message: String) {
        let mut state = self.state.lock();
        let queue = &mut state.shards[shard];
        if queue.has_overflowed {
            return; // the reader has not taken the overflow yet, which also covers this message
        }
        queue.bytes += message.len() + OVERHEAD;
        if queue.bytes > self.bound {
            *queue = ShardQueue { has_overflowed: true, ..ShardQueue::default() };
            state.overflows += 1;
        } else {
            queue.messages.push_back(message);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Closes the queue: no more messages arrive.
    pub fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_one();
    }

    /// The next item, shards in turn, each shard's in order; `None` after the last one of a closed queue. For one
    /// reader. Cancel safe.
    pub async fn next(&self) -> Option<QueueItem> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state.lock();
                let item = state.take();
                if item.is_some() || state.is_closed {
                    return item;
                }
            }
            changed.await;
        }
    }

    /// Size of the waiting messages in bytes: at most the bound for each shard.
    pub fn bytes(&self) -> usize {
        self.state.lock().shards.iter().map(|queue| queue.bytes).sum()
    }

    /// Number of overflows so far.
    pub fn overflows(&self) -> u64 {
        self.state.lock().overflows
    }
}

impl ShardQueues {
    fn take(&mut self) -> Option<QueueItem> {
        let count = self.shards.len();
        let turns = (self.next..count).chain(0..self.next);
        for shard in turns {
            let queue = &mut self.shards[shard];
            let item = if std::mem::take(&mut queue.has_overflowed) {
                Some(QueueItem::Overflow(shard))
            } else {
                queue.messages.pop_front().map(|message| {
                    queue.bytes -= message.len() + OVERHEAD;
                    QueueItem::Message(shard, message)
                })
            };
            if item.is_some() {
                self.next = (shard + 1) % count;
                return item;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: usize = 10 * (OVERHEAD + 1);

    fn message(shard: usize, text: &str) -> Option<QueueItem> {
        Some(QueueItem::Message(shard, text.to_owned()))
    }

    #[tokio::test]
    async fn messages_of_a_shard_keep_their_order_and_shards_take_turns() {
        let queue = PushQueue::new(2, BOUND);
        for text in ["a", "b"] {
            queue.push(0, text.to_owned());
        }
        queue.push(1, "c".to_owned());
        queue.close();
        for expected in [message(0, "a"), message(1, "c"), message(0, "b"), None] {
            assert_eq!(queue.next().await, expected);
        }
    }

    #[tokio::test]
    async fn an_overflow_takes_the_place_of_one_shards_messages_and_no_more_memory_than_the_bound() {
        let queue = PushQueue::new(2, BOUND);
        queue.push(1, "kept".to_owned());
        let others = queue.bytes();
        for _ in 0..1_000 {
            queue.push(0, "x".to_owned());
            assert!(queue.bytes() <= BOUND + others);
        }
        assert_eq!(
            queue.overflows(),
            1,
            "until the reader takes an overflow, later messages are dropped too"
        );
        assert_eq!(queue.next().await, Some(QueueItem::Overflow(0)));
        queue.push(0, "new".to_owned());
        assert_eq!(queue.next().await, message(1, "kept"));
        assert_eq!(queue.next().await, message(0, "new"));
        assert_eq!(queue.bytes(), 0);
    }

    #[tokio::test]
    async fn a_message_that_exceeds_the_bound_alone_is_an_overflow() {
        let queue = PushQueue::new(1, BOUND);
        queue.push(0, "x".repeat(BOUND));
        assert_eq!(queue.next().await, Some(QueueItem::Overflow(0)));
    }
}
