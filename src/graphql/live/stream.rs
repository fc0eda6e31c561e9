//! Event stream of one client's subscription. It buffers no encoded events: a ready set has the topics with a new
//! event, and the transport takes the latest one from the shared subscription. A slow reader skips events and costs no
//! memory.

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
    ready_set::ReadySet,
    shared::{MemberId, SharedSubscription},
};
use crate::{
    domain::{Kept, PushAccount},
    primitives::Version,
};

/// A member's place in each of its shared subscriptions.
pub type TopicMemberships = Vec<(Arc<SharedSubscription>, MemberId)>;

/// Removes a member from its shared subscriptions.
pub type LeaveAll = Box<dyn Fn(TopicMemberships) + Send + Sync>;

/// One topic of a subscription, as a member of the shared subscription.
pub struct TopicMember {
    shared: Arc<SharedSubscription>,
    member: MemberId,
    /// Version of the newest event that was taken: versions never decrease within a subscription.
    taken: Option<Version>,
}

impl TopicMember {
    /// Joins; `index` is that of the topic within the subscription, and `account` pays for its events.
    pub fn join(
        shared: &Arc<SharedSubscription>,
        ready: &Arc<ReadySet>,
        index: usize,
        account: &Arc<PushAccount>,
    ) -> Self {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let member = shared.join(Arc::clone(ready), index, Arc::clone(account));
        Self { shared: Arc::clone(shared), member, taken: None }
    }

    fn take(&mut self) -> Option<Bytes> {
        let (version, bytes) = self.shared.newer_than(self.taken)?;
        self.taken = Some(version);
        Some(bytes)
    }
}

/// Yields the present state of each topic, then each change; only the latest, if changes are faster than the reader.
/// Does not end.
pub struct TopicStream {
    ready: Arc<ReadySet>,
    topics: Vec<TopicMember>,
    deliveries: Counter,
    _kept: Kept,
    leave: LeaveAll,
}

impl TopicStream {
    pub(super) fn new(
        ready: Arc<ReadySet>,
        topics: Vec<TopicMember>,
        deliveries: Counter,
        kept: Kept,
        leave: LeaveAll,
    ) -> Self {
        Self { ready, topics, deliveries, _kept: kept, leave }
    }
}

impl Stream for TopicStream {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            let Poll::Ready(topic) = self.ready.poll_take(cx) else { return Poll::Pending };
            if let Some(bytes) = self.topics.get_mut(topic as usize).and_then(TopicMember::take) {
                self.deliveries.increment(1);
                return Poll::Ready(Some(bytes));
            }
        }
    }
}

impl Drop for TopicStream {
    fn drop(&mut self) {
        let topics = mem::take(&mut self.topics);
        (self.leave)(topics.into_iter().map(|topic| (topic.shared, topic.member)).collect());
    }
}
