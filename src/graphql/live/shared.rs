//! Shared subscription: its members, and its latest messages, each of which is executed and encoded once for members
//! that have received the same. Its [task](super::message_task) ends when the last member leaves.
//!
//! A member that takes its message of a list has the position of that message. Members that read fast have the same
//! one, so each change is one execution for all of them. The message of a slow reader is replaced by the next one;
//! when it reads, it asks for a message since its own position.

use std::{mem, sync::Arc, task::Waker, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use slab::Slab;
use tokio::{sync::Notify, task::AbortHandle, time::Instant};

use super::{
    memory::too_much,
    message::{EncodedMessage, FollowedBy},
    ready_set::ReadySet,
    topic::{Since, Topic},
};
use plaudit_domain::{Cost, Held, Payer};

/// How long a message may be shown to new members. Its fields other than counts may change without a new message, so
/// for members that join later it is executed again.
const CURRENT: Duration = Duration::from_millis(50);
/// Members that are notified under one lock.
const AT_ONCE: usize = 64;
/// Most messages that are executed in one round, and most that are kept. Further members wait for the next round.
pub const MOST_MESSAGES: usize = 16;

/// Numbers the states of a topic, from 1 on.
pub type Revision = u64;

pub struct SharedSubscription {
    topic: Topic,
    /// Locked only for moments, never across an await.
    state: Mutex<SharedState>,
    /// Notified when a member asks for a message.
    asked: Notify,
}

#[derive(Default)]
struct SharedState {
    members: Slab<Member>,
    /// Members that ask for a message, since the task last looked.
    asking: Vec<Asking>,
    /// One for each [`Since`].
    latest: Vec<LatestMessage>,
    /// The revision that was last executed for all that waited.
    for_all: Revision,
    /// `None` only until the task was spawned.
    task: Option<AbortHandle>,
}

struct LatestMessage {
    since: Since,
    revision: Revision,
    message: EncodedMessage,
    executed: Instant,
    _kept: Option<Held>,
}

struct Member {
    ready: Arc<ReadySet>,
    payer: Arc<Payer>,
    /// Index of this topic in the member's subscription.
    topic: u32,
    since: Since,
    /// The revision of the last message that was made for it, or of the last time that there was nothing for it.
    seen: Revision,
    state: MemberState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MemberState {
    /// For a message at once: it is new, or its message was replaced before it was taken. A message that was executed
    /// before may be older than what a query showed it, so it skips that message.
    Asking,
    /// A message is ready for it.
    Offered,
    /// It has taken its message, and waits for the next one.
    Waiting,
}

/// A member that asks for a message.
pub struct Asking {
    id: MemberId,
    pub since: Since,
    /// Distinguishes members with the same id, because ids are reused.
    ready: Arc<ReadySet>,
    pub payer: Arc<Payer>,
}

/// Identifies a member within one shared subscription.
#[derive(Clone, Copy)]
pub struct MemberId(usize);

impl SharedSubscription {
    pub fn new(topic: Topic) -> Self {
        Self { topic, state: Mutex::default(), asked: Notify::new() }
    }

    /// Sets the task, which runs until [`Self::end`].
    pub fn runs_by(&self, task: AbortHandle) {
        self.state.lock().task = Some(task);
    }

    pub const fn topic(&self) -> &Topic {
        &self.topic
    }

    /// Adds a member. It gets a message soon, then every change.
    pub fn join(&self, ready: Arc<ReadySet>, topic: u32, since: Since, payer: Arc<Payer>) -> MemberId {
        let mut state = self.state.lock();
        let member = Member { ready, payer, topic, since, seen: 0, state: MemberState::Asking };
        let entry = state.members.vacant_entry();
        let id = MemberId(entry.key());
        // It asks for itself: to wait for the next change would leave a quiet page empty.
        let asking = entry.insert(member).asking(id);
        state.asking.push(asking);
        // Without the lock: the task that wakes up takes it first.
        drop(state);
        self.asked.notify_one();
        id
    }

    /// Removes a member. Returns whether it was the last one.
    pub fn leave(&self, member: MemberId) -> bool {
        let mut state = self.state.lock();
        // Another member may get its place at once: a task that still holds the id compares `ready`.
        state.members.try_remove(member.0);
        state.members.is_empty()
    }

    pub fn end(&self) {
        if let Some(task) = &self.state.lock().task {
            task.abort();
        }
    }

    /// The message that is ready for a member, and whether it is the last one.
    pub fn take(&self, id: MemberId) -> Option<(Bytes, bool)> {
        let mut state = self.state.lock();
        let SharedState { members, asking, latest, for_all, .. } = &mut *state;
        let member = members.get_mut(id.0).filter(|member| member.state == MemberState::Offered)?;
        let taken = latest.iter().find(|latest| latest.since == member.since);
        if let Some(taken) = taken {
            member.seen = member.seen.max(taken.revision);
            member.since = taken.message.position.map_or(member.since, Since::Message);
        }
        // Nobody else will make what follows for it: its message was replaced, the others have had the next one, or
        // there is a next page.
        let asks = taken.is_none_or(|taken| {
            taken.revision < *for_all || taken.message.followed_by == FollowedBy::NextPage
        });
        member.state = if asks { MemberState::Asking } else { MemberState::Waiting };
        if asks {
            asking.push(member.asking(id));
        }
        let message = taken.map(|LatestMessage { message, .. }| {
            (message.bytes.clone(), message.followed_by == FollowedBy::Nothing)
        });
        drop(state);
        if asks {
            self.asked.notify_one();
        }
        message
    }

    /// Waits until a member asks for a message.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    pub fn take_asking(&self) -> Vec<Asking> {
        mem::take(&mut self.state.lock().asking)
    }

    /// Begins a round for all that wait and have not seen this revision. Returns what they have, at most
    /// [`MOST_MESSAGES`], and whether that is all.
    pub fn begin_for_all(&self, revision: Revision) -> (Vec<Since>, bool) {
        let mut state = self.state.lock();
        state.for_all = revision;
        // Counts have no position: every member gets the same newest state.
        if !self.topic.subject.is_list() {
            return (vec![Since::Joined(None)], true);
        }
        let mut found = Vec::new();
        for (_, member) in &state.members {
            let is_due = member.state == MemberState::Waiting && member.seen < revision;
            if !is_due || found.contains(&member.since) {
                continue;
            }
            // A round stays short. The next one finds those that are left out; the task does as after a change for it.
            if found.len() == MOST_MESSAGES {
                return (found, false);
            }
            found.push(member.since);
        }
        (found, true)
    }

    /// All members pay for a message in equal parts. Returns how long the next one should wait: until one of
    /// them can pay.
    pub fn pay(&self, cost: Cost) -> Duration {
        let state = self.state.lock();
        pay(cost, state.members.len(), state.members.iter().map(|(_, member)| &member.payer))
    }

    /// Replaces the message since the same, and messages of older revisions. One for which no member has room
    /// becomes an error.
    pub fn set_latest(
        &self,
        since: Since,
        revision: Revision,
        mut message: EncodedMessage,
        executed: Instant,
    ) {
        let mut state = self.state.lock();
        // An older revision is of no use to anybody: a member that had not taken it asks for a newer one.
        state.latest.retain(|latest| latest.since != since && latest.revision == revision);
        if state.latest.len() >= MOST_MESSAGES {
            state.latest.remove(0);
        }
        let payers = || state.members.iter().map(|(_, member)| &member.payer);
        // The bytes are there once for all, so one member with room is enough, and it need not be the same each time.
        let kept = payers().find_map(|payer| payer.keep(message.bytes.len()));
        if kept.is_none()
            && let Some(payer) = payers().next()
        {
            message = message.failed(too_much(payer));
        }
        if !message.is_whole && self.topic.subject.ends_with_error() {
            (message.position, message.followed_by) = (None, FollowedBy::Nothing);
        }
        state.latest.push(LatestMessage { since, revision, message, executed, _kept: kept });
    }

    /// The revision of the message since this, and whether it may be shown to new members.
    pub fn latest(&self, since: Since, now: Instant) -> Option<(Revision, bool)> {
        let state = self.state.lock();
        let latest = state.latest.iter().find(|latest| latest.since == since)?;
        Some((latest.revision, latest.message.is_whole && now - latest.executed < CURRENT))
    }

    /// Makes the messages of this revision ready for members that asked for them. From now on they are notified with
    /// the others.
    pub fn offer_to_asking(&self, asking: Vec<Asking>, revision: Revision) {
        let mut state = self.state.lock();
        let SharedState { members, latest, .. } = &mut *state;
        // Woken after the lock is given back: a reader that wakes up on another core takes it to get its message.
        let mut wakers = Vec::with_capacity(asking.len());
        for asking in asking {
            if let Some(member) = members.get_mut(asking.id.0)
                && Arc::ptr_eq(&member.ready, &asking.ready)
            {
                wakers.extend(member.offer(latest, revision));
            }
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Makes the messages of this revision ready for all members that wait and have what one of them follows, which is
    /// `served`.
    pub fn offer_to_all(&self, served: &[Since], revision: Revision) {
        let mut wakers = Vec::with_capacity(AT_ONCE);
        // With 10,000 members one lock for all of them would keep those that read and leave waiting for milliseconds.
        // A member that joins meanwhile asks for its message itself, so its place does not matter.
        for first in (0..).step_by(AT_ONCE) {
            {
                let mut state = self.state.lock();
                let SharedState { members, latest, .. } = &mut *state;
                if first >= members.capacity() {
                    return;
                }
                for id in first..first + AT_ONCE {
                    let Some(member) = members.get_mut(id) else { continue };
                    let is_due = member.state == MemberState::Waiting && member.seen < revision;
                    if is_due && served.contains(&member.since) {
                        wakers.extend(member.offer(latest, revision));
                    }
                }
            }
            wakers.drain(..).for_each(Waker::wake);
        }
    }
}

/// Returns how long to wait until one of them can pay again.
pub fn pay<'a>(cost: Cost, number: usize, payers: impl Iterator<Item = &'a Arc<Payer>>) -> Duration {
    let (part, now) = (cost.shared_by(number), Instant::now());
    if part == Cost::default() {
        return Duration::ZERO;
    }
    // The shortest: one member that has spent its budget must not slow the others down.
    payers.map(|payer| payer.pay(part, now)).min().unwrap_or_default()
}

impl Member {
    fn asking(&self, id: MemberId) -> Asking {
        let (ready, payer) = (Arc::clone(&self.ready), Arc::clone(&self.payer));
        Asking { id, since: self.since, ready, payer }
    }

    /// Queues the message of this revision for a member that has not seen it.
    fn offer(&mut self, latest: &[LatestMessage], revision: Revision) -> Option<Waker> {
        self.seen = revision;
        let has_message =
            latest.iter().any(|latest| latest.since == self.since && latest.revision == revision);
        self.state = if has_message { MemberState::Offered } else { MemberState::Waiting };
        has_message.then(|| self.ready.add(self.topic)).flatten()
    }
}
