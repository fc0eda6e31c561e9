//! Ready set of a subscription: its topics with a message that the transport has not taken yet.

use std::{
    collections::VecDeque,
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;

/// Topics by their indices within the subscription, in order of arrival, each once.
#[derive(Default)]
pub struct ReadySet(Mutex<ReadyTopics>);

#[derive(Default)]
struct ReadyTopics {
    topics: VecDeque<u32>,
    /// Of the transport, while it waits.
    waker: Option<Waker>,
}

impl ReadySet {
    /// Adds a topic. Returns the waker of a waiting transport: wake it without holding a lock.
    pub fn add(&self, topic: u32) -> Option<Waker> {
        let mut ready = self.0.lock();
        if !ready.topics.contains(&topic) {
            ready.topics.push_back(topic);
        }
        ready.waker.take()
    }

    /// Removes and returns the first topic.
    pub fn poll_take(&self, cx: &Context<'_>) -> Poll<u32> {
        let mut ready = self.0.lock();
        match ready.topics.pop_front() {
            Some(topic) => Poll::Ready(topic),
            None => {
                match &mut ready.waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_taken_once_each_in_order_of_arrival() {
        let (ready, cx) = (ReadySet::default(), Context::from_waker(Waker::noop()));
        for topic in [3, 1, 3, 2, 1] {
            assert!(ready.add(topic).is_none(), "nobody waits");
        }
        for expected in [3, 1, 2] {
            assert_eq!(ready.poll_take(&cx), Poll::Ready(expected));
        }
        assert!(ready.poll_take(&cx).is_pending());
    }

    #[test]
    fn a_waiting_transport_is_woken_once_until_it_waits_again() {
        let (ready, cx) = (ReadySet::default(), Context::from_waker(Waker::noop()));
        for _ in 0..2 {
            assert!(ready.poll_take(&cx).is_pending());
            assert!(ready.add(1).is_some());
            assert!(ready.add(2).is_none());
            while ready.poll_take(&cx).is_ready() {}
            assert!(ready.add(1).is_some());
            assert!(ready.poll_take(&cx).is_ready());
        }
    }
}
