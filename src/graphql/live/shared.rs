//! Shared subscription: one task that watches the counts of an entity, executes and encodes each event once, and
//! makes it ready for all members. It ends when the last member leaves.

use std::{future::pending, mem, sync::Arc, task::Waker, time::Duration};

use async_graphql::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use metrics::Counter;
use parking_lot::Mutex;
use slab::Slab;
use tokio::{
    sync::Notify,
    task::AbortHandle,
    time::{Instant, sleep_until},
};

use super::{memory::too_much, pace::EventPace, ready_set::ReadySet, topic::Topic};
use crate::{
    domain::{Cost, Kept, PushAccount, Work},
    graphql::errors::ApiError,
    hub::{CountsAt, CountsWatch, Hub},
    primitives::Version,
};

/// How long an event may be shown to new members. Its fields other than counts may change without a new event, so
/// for members that join later it is executed again.
const CURRENT: Duration = Duration::from_millis(50);
/// Members that are notified under one lock.
const AT_ONCE: usize = 64;

/// One event, executed and encoded as JSON.
pub struct EncodedEvent {
    pub bytes: Bytes,
    /// Without errors.
    pub is_whole: bool,
    pub work: Work,
}

impl EncodedEvent {
    fn failed(error: ApiError, work: Work) -> Self {
        let response = Response::from_errors(vec![error.into()]);
        let bytes = serde_json::to_vec(&response).unwrap_or_default().into();
        Self { bytes, is_whole: false, work }
    }
}

/// Executes an event for new counts.
pub type ExecuteEvent = Box<dyn Fn(CountsAt) -> BoxFuture<'static, EncodedEvent> + Send + Sync>;

pub struct SharedSubscription {
    topic: Topic,
    /// Locked only for moments, never across an await.
    state: Mutex<SharedState>,
    joined: Notify,
}

#[derive(Default)]
struct SharedState {
    members: Slab<Member>,
    /// Members that joined since the task last looked.
    new_members: Vec<NewMember>,
    latest: Option<LatestEvent>,
    /// `None` only until the task was spawned.
    task: Option<AbortHandle>,
}

struct LatestEvent {
    version: Version,
    event: EncodedEvent,
    executed: Instant,
    _kept: Option<Kept>,
}

struct Member {
    ready: Arc<ReadySet>,
    account: Arc<PushAccount>,
    /// Index of this topic in the member's subscription.
    topic: u32,
    /// Not yet notified of its first event. An event that was executed before the member joined may be older than
    /// what a query showed it, so it skips that event.
    is_new: bool,
}

struct NewMember {
    id: MemberId,
    /// Distinguishes members with the same id, because ids are reused.
    ready: Arc<ReadySet>,
    account: Arc<PushAccount>,
}

/// Identifies a member within one shared subscription.
#[derive(Clone, Copy)]
pub struct MemberId(usize);

impl SharedSubscription {
    /// Spawns the task, which runs until [`Self::end`]. `executions` counts the events it executes.
    pub fn start(hub: &Hub, topic: &Topic, execute: ExecuteEvent, executions: Counter) -> Arc<Self> {
        let shared = Arc::new(Self { topic: topic.clone(), state: Mutex::default(), joined: Notify::new() });
        let task = EventTask {
            counts: hub.watch(topic.entity),
            pace: EventPace::new(topic.rate.interval()),
            shared: Arc::clone(&shared),
            hub: hub.clone(),
            execute,
            executions,
        };
        shared.state.lock().task = Some(tokio::spawn(task.run()).abort_handle());
        shared
    }

    pub const fn topic(&self) -> &Topic {
        &self.topic
    }

    /// Adds a member. It gets the present state soon, then every change.
    pub fn join(&self, ready: Arc<ReadySet>, topic: u32, account: Arc<PushAccount>) -> MemberId {
        let mut state = self.state.lock();
        let member = Member { ready: Arc::clone(&ready), account: Arc::clone(&account), topic, is_new: true };
        let id = MemberId(state.members.insert(member));
        state.new_members.push(NewMember { id, ready, account });
        drop(state);
        self.joined.notify_one();
        id
    }

    /// Removes a member. Returns whether it was the last one.
    pub fn leave(&self, member: MemberId) -> bool {
        let mut state = self.state.lock();
        state.members.try_remove(member.0);
        state.members.is_empty()
    }

    pub fn end(&self) {
        if let Some(task) = &self.state.lock().task {
            task.abort();
        }
    }

    /// The latest event, if it is newer than `version`.
    pub fn newer_than(&self, version: Option<Version>) -> Option<(Version, Bytes)> {
        let state = self.state.lock();
        let latest = state.latest.as_ref().filter(|latest| Some(latest.version) > version)?;
        Some((latest.version, latest.event.bytes.clone()))
    }

    /// All members pay for an event in equal parts. Returns how long the next one should wait: until one of them can pay.
    fn pay(&self, cost: Cost) -> Duration {
        let state = self.state.lock();
        pay(cost, state.members.len(), state.members.iter().map(|(_, member)| &member.account))
    }

    /// Replaces the latest event. One for which no member has room becomes an error.
    fn set_latest(&self, version: Version, mut event: EncodedEvent, executed: Instant) {
        let mut state = self.state.lock();
        state.latest = None;
        let accounts = || state.members.iter().map(|(_, member)| &member.account);
        let kept = accounts().find_map(|account| account.keep(event.bytes.len()));
        if kept.is_none()
            && let Some(account) = accounts().next()
        {
            event = EncodedEvent::failed(too_much(account), event.work);
        }
        state.latest = Some(LatestEvent { version, event, executed, _kept: kept });
    }

    fn latest_version(&self) -> Option<Version> {
        self.state.lock().latest.as_ref().map(|latest| latest.version)
    }

    /// Whether the latest event may be shown to new members.
    fn is_current(&self, now: Instant) -> bool {
        let state = self.state.lock();
        state.latest.as_ref().is_some_and(|latest| latest.event.is_whole && now - latest.executed < CURRENT)
    }

    /// Makes the latest event ready for new members. From now on they are notified with the others.
    fn notify_new(&self, new_members: Vec<NewMember>) {
        let mut state = self.state.lock();
        let mut wakers = Vec::with_capacity(new_members.len());
        for new in new_members {
            if let Some(member) = state.members.get_mut(new.id.0)
                && Arc::ptr_eq(&member.ready, &new.ready)
            {
                member.is_new = false;
                wakers.extend(member.notify());
            }
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Makes the latest event ready for all members that are not new.
    fn notify_all(&self) {
        let mut wakers = Vec::with_capacity(AT_ONCE);
        for first in (0..).step_by(AT_ONCE) {
            {
                let state = self.state.lock();
                if first >= state.members.capacity() {
                    return;
                }
                let members = (first..first + AT_ONCE).filter_map(|id| state.members.get(id));
                wakers.extend(members.filter(|member| !member.is_new).filter_map(Member::notify));
            }
            wakers.drain(..).for_each(Waker::wake);
        }
    }
}

/// Returns how long to wait until one of them can pay again.
fn pay<'a>(cost: Cost, number: usize, accounts: impl Iterator<Item = &'a Arc<PushAccount>>) -> Duration {
    let (part, now) = (cost.shared_by(number), Instant::now());
    if part == Cost::default() {
        return Duration::ZERO;
    }
    accounts.map(|account| account.pay(part, now)).min().unwrap_or_default()
}

impl Member {
    fn notify(&self) -> Option<Waker> {
        self.ready.add(self.topic)
    }
}

/// The task of a shared subscription.
struct EventTask {
    shared: Arc<SharedSubscription>,
    hub: Hub,
    counts: CountsWatch,
    pace: EventPace,
    execute: ExecuteEvent,
    executions: Counter,
}

impl EventTask {
    async fn run(mut self) {
        // Without counts there is no event.
        let mut counted = self.counts.next().await;
        self.pace.changed();
        loop {
            let now = Instant::now();
            let new_members = mem::take(&mut self.shared.state.lock().new_members);
            let is_outdated = !new_members.is_empty() && !self.shared.is_current(now);
            if let Some(newer) = self.newer_than(counted, is_outdated).await {
                counted = newer;
                self.pace.changed();
            }
            let is_for_all = self.pace.take(now);
            let is_for_some = is_for_all || !new_members.is_empty();
            if is_outdated || is_for_some && self.shared.latest_version() != Some(counted.version) {
                let cost = self.execute(counted).await;
                if is_for_all {
                    self.pace.hold(Instant::now() + self.shared.pay(cost));
                } else {
                    // Nobody else waits for it, so nobody else pays, or is held up.
                    pay(cost, new_members.len(), new_members.iter().map(|new| &new.account));
                }
            }
            self.shared.notify_new(new_members);
            if is_for_all {
                self.shared.notify_all();
            }
            self.wait().await;
        }
    }

    /// The newest counts received, if newer than `known`. With `read`, also those that a query would return, so that a
    /// client that subscribes after a query gets no older counts.
    async fn newer_than(&mut self, known: CountsAt, read: bool) -> Option<CountsAt> {
        let entity = self.shared.topic.entity;
        let arrived = self.counts.try_next();
        let read = if read { self.hub.counts(&[entity]).await.0[0] } else { None };
        let newest = arrived.into_iter().chain(read).max_by_key(|counted| counted.version);
        newest.filter(|newest| newest.version > known.version)
    }

    /// Returns what the execution has cost.
    async fn execute(&self, counted: CountsAt) -> Cost {
        let executed = Instant::now();
        let event = (self.execute)(counted).await;
        self.executions.increment(1);
        let cost = event.work.cost();
        self.shared.set_latest(counted.version, event, executed);
        cost
    }

    /// Waits until a member joins, until counts change while no event is pending, or until the pending event is due.
    async fn wait(&mut self) {
        let now = Instant::now();
        let due = self.pace.due(now);
        tokio::select! {
            () = self.shared.joined.notified() => {}
            () = self.counts.changed(), if due.is_none() => {}
            () = reached(due, now) => {}
        }
    }
}

async fn reached(due: Option<Instant>, now: Instant) {
    match due {
        Some(due) if due > now => sleep_until(due).await,
        Some(_) => {}
        None => pending().await,
    }
}
