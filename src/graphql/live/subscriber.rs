//! One subscription. Nothing that is encoded waits here: only which topics have news, in order of arrival. The
//! latest of a topic is taken from its question when the transport asks for it, so that a slow reader skips
//! ahead and costs no memory.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::Stream;
use metrics::Counter;

use super::{
    ready_set::Inbox,
    shared::{Place, Running},
};
use crate::primitives::Version;

/// Takes a subscription out of its questions.
pub type Leaving = Box<dyn Fn(Vec<(Arc<Running>, Place)>) + Send + Sync>;

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
    pub(super) fn new(
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
        (self.leaving)(topics.into_iter().map(|topic| (topic.running, topic.place)).collect());
    }
}
