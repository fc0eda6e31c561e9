//! The ready set of one subscription: which of its topics have an event that was not taken yet.

use std::{
    collections::VecDeque,
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;

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

    pub fn poll_take(&self, cx: &Context<'_>) -> Poll<u32> {
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
