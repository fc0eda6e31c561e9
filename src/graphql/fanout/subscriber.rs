//! One subscription. Nothing that is encoded waits here: only which topics have news, in order of arrival. The
//! latest of a topic is taken from its question when the transport asks for it, so that a slow reader skips
//! ahead and costs no memory.

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use futures_util::Stream;
use metrics::Counter;
use parking_lot::Mutex;

use super::{
    Leaving,
    running::{Place, Running},
};
use crate::primitives::Version;

/// Which topics of one subscription have news.
#[derive(Default)]
pub struct Inbox(Mutex<News>);

#[derive(Default)]
struct News {
    /// Indices of topics, each once.
    topics: VecDeque<u32>,
    /// Of the transport, when it waits.
    waker: Option<Waker>,
}

impl Inbox {
    /// A topic has news. Returns whom to wake, best without holding any lock.
    pub fn put(&self, topic: u32) -> Option<Waker> {
        let mut news = self.0.lock();
        if !news.topics.contains(&topic) {
            news.topics.push_back(topic);
        }
        news.waker.take()
    }

    fn poll_take(&self, cx: &Context<'_>) -> Poll<u32> {
        let mut news = self.0.lock();
        match news.topics.pop_front() {
            Some(topic) => Poll::Ready(topic),
            None => {
                match &mut news.waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}

/// A place among the listeners of one question.
pub struct Listening {
    running: Arc<Running>,
    place: Place,
    /// Of the newest event that was taken: versions never go backwards for one subscription.
    taken: Option<Version>,
}

impl Listening {
    /// `index`: of the topic within the subscription.
    pub fn to(running: &Arc<Running>, inbox: &Arc<Inbox>, index: usize) -> Self {
        let place = running.join(Arc::clone(inbox), u32::try_from(index).unwrap_or(u32::MAX));
        Self { running: Arc::clone(running), place, taken: None }
    }

    fn take(&mut self) -> Option<Bytes> {
        let (version, bytes) = self.running.newer_than(self.taken)?;
        self.taken = Some(version);
        Some(bytes)
    }
}

/// The events of one subscription: first the present state of each topic, then each change; when changes come
/// faster than they are taken, only the latest. Does not end.
pub struct Subscriber {
    inbox: Arc<Inbox>,
    topics: Vec<Listening>,
    deliveries: Counter,
    leaving: Leaving,
}

impl Subscriber {
    pub(super) const fn new(
        inbox: Arc<Inbox>,
        topics: Vec<Listening>,
        deliveries: Counter,
        leaving: Leaving,
    ) -> Self {
        Self { inbox, topics, deliveries, leaving }
    }
}

impl Stream for Subscriber {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            let Poll::Ready(topic) = self.inbox.poll_take(cx) else { return Poll::Pending };
            if let Some(bytes) = self.topics.get_mut(topic as usize).and_then(Listening::take) {
                self.deliveries.increment(1);
                return Poll::Ready(Some(bytes));
            }
        }
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let topics = mem::take(&mut self.topics);
        self.leaving.leave(topics.into_iter().map(|topic| (topic.running, topic.place)));
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn topics_with_news_are_taken_once_each_in_order_of_arrival() {
        let (inbox, cx) = (Inbox::default(), Context::from_waker(Waker::noop()));
        for topic in [3, 1, 3, 2, 1] {
            assert!(inbox.put(topic).is_none(), "nobody waits");
        }
        for expected in [3, 1, 2] {
            assert_eq!(inbox.poll_take(&cx), Poll::Ready(expected));
        }
        assert!(inbox.poll_take(&cx).is_pending());
    }

    #[test]
    fn who_waits_is_woken_once_until_they_wait_again() {
        let (inbox, cx) = (Inbox::default(), Context::from_waker(Waker::noop()));
        for _ in 0..2 {
            assert!(inbox.poll_take(&cx).is_pending());
            assert!(inbox.put(1).is_some());
            assert!(inbox.put(2).is_none());
            while inbox.poll_take(&cx).is_ready() {}
            assert!(inbox.put(1).is_some());
            assert!(inbox.poll_take(&cx).is_ready());
        }
    }
}
