//! Messages of one client's subscription. It buffers no encoded messages: a ready set has the topics with a new
//! message, and the transport takes the latest from the shared subscription. A slow reader skips messages and costs no
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
    topic::Since,
};
use plaudit_domain::{Held, Payer};

/// A member's place in each of its shared subscriptions.
pub type TopicMemberships = Vec<(Arc<SharedSubscription>, MemberId)>;

/// Removes a member from its shared subscriptions.
pub type LeaveAll = Box<dyn Fn(TopicMemberships) + Send + Sync>;

/// One topic of a subscription, as a member of the shared subscription.
pub struct TopicMember {
    shared: Arc<SharedSubscription>,
    member: MemberId,
}

impl TopicMember {
    /// Joins; `index` is the topic's index within the subscription, `since` what the client has, and `payer` pays for
    /// its messages.
    pub fn join(
        shared: &Arc<SharedSubscription>,
        ready: &Arc<ReadySet>,
        (index, since): (usize, Since),
        payer: &Arc<Payer>,
    ) -> Self {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let member = shared.join(Arc::clone(ready), index, since, Arc::clone(payer));
        Self { shared: Arc::clone(shared), member }
    }

    fn take(&self) -> Option<(Bytes, bool)> {
        self.shared.take(self.member)
    }
}

/// Yields the present state of each topic, then each change; only the latest, if changes are faster than the reader.
/// Ends after the last message, if there is one.
pub struct TopicStream {
    ready: Arc<ReadySet>,
    topics: Vec<TopicMember>,
    deliveries: Counter,
    _kept: Held,
    leave: LeaveAll,
    has_ended: bool,
}

impl TopicStream {
    pub(super) fn new(
        ready: Arc<ReadySet>,
        topics: Vec<TopicMember>,
        deliveries: Counter,
        kept: Held,
        leave: LeaveAll,
    ) -> Self {
        Self { ready, topics, deliveries, _kept: kept, leave, has_ended: false }
    }
}

impl Stream for TopicStream {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if self.has_ended {
                return Poll::Ready(None);
            }
            let Poll::Ready(topic) = self.ready.poll_take(cx) else { return Poll::Pending };
            let taken = self.topics.get(topic as usize).and_then(TopicMember::take);
            if let Some((bytes, is_last)) = taken {
                self.has_ended = is_last;
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
