//! A question while somebody listens: a task that hears the counts of its entity, has them executed and
//! encoded once, and tells all listeners. It ends when the last one leaves.

use std::{future::pending, mem, sync::Arc, task::Waker, time::Duration};

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

use super::{pace::Pace, ready_set::Inbox, topic::Topic};
use crate::{
    hub::{CountsAt, Hub, Subscriber},
    primitives::Version,
};

/// What an event shows beside its counts may change without it. So for who comes later than this, it is executed
/// anew.
const CURRENT: Duration = Duration::from_millis(50);
/// Listeners that are told under one lock.
const AT_ONCE: usize = 64;

/// One encoded event.
pub struct Told {
    pub bytes: Bytes,
    /// Without errors.
    pub is_whole: bool,
}

/// Executes a question for counts that are new.
pub type Answer = Box<dyn Fn(CountsAt) -> BoxFuture<'static, Told> + Send + Sync>;

pub struct Running {
    topic: Topic,
    /// Held only for moments, never across an await.
    state: Mutex<State>,
    joined: Notify,
}

#[derive(Default)]
struct State {
    listeners: Slab<Listener>,
    /// Those of them that came since the last look.
    newcomers: Vec<Newcomer>,
    latest: Option<Latest>,
    /// The task; none only while it is being started.
    task: Option<AbortHandle>,
}

struct Latest {
    version: Version,
    told: Told,
    executed: Instant,
}

struct Listener {
    inbox: Arc<Inbox>,
    /// Index of this topic in its subscription.
    topic: u32,
    /// What was executed before it came may be older than what a query showed: it is not told of that.
    is_new: bool,
}

struct Newcomer {
    place: Place,
    /// The place may be somebody else's by now.
    inbox: Arc<Inbox>,
}

/// Of one listener.
#[derive(Clone, Copy)]
pub struct Place(usize);

impl Running {
    /// Runs until [`Self::end`]. `executions` counts.
    pub fn start(hub: &Hub, topic: &Topic, answer: Answer, executions: Counter) -> Arc<Self> {
        let running = Arc::new(Self { topic: topic.clone(), state: Mutex::default(), joined: Notify::new() });
        let question = Question {
            counts: hub.watch(&[topic.entity]),
            pace: Pace::new(topic.rate.interval()),
            running: Arc::clone(&running),
            hub: hub.clone(),
            answer,
            executions,
        };
        running.state.lock().task = Some(tokio::spawn(question.run()).abort_handle());
        running
    }

    pub const fn topic(&self) -> &Topic {
        &self.topic
    }

    /// The present state comes soon, then every change.
    pub fn join(&self, inbox: Arc<Inbox>, topic: u32) -> Place {
        let mut state = self.state.lock();
        let place =
            Place(state.listeners.insert(Listener { inbox: Arc::clone(&inbox), topic, is_new: true }));
        state.newcomers.push(Newcomer { place, inbox });
        drop(state);
        self.joined.notify_one();
        place
    }

    /// Returns whether nobody listens any more.
    pub fn leave(&self, place: Place) -> bool {
        let mut state = self.state.lock();
        state.listeners.try_remove(place.0);
        state.listeners.is_empty()
    }

    pub fn end(&self) {
        if let Some(task) = &self.state.lock().task {
            task.abort();
        }
    }

    /// The latest event, if there is a newer one.
    pub fn newer_than(&self, version: Option<Version>) -> Option<(Version, Bytes)> {
        let state = self.state.lock();
        let latest = state.latest.as_ref().filter(|latest| Some(latest.version) > version)?;
        Some((latest.version, latest.told.bytes.clone()))
    }

    fn latest_version(&self) -> Option<Version> {
        self.state.lock().latest.as_ref().map(|latest| latest.version)
    }

    /// Whether the latest event may be shown to newcomers.
    fn is_current(&self, now: Instant) -> bool {
        let state = self.state.lock();
        state.latest.as_ref().is_some_and(|latest| latest.told.is_whole && now - latest.executed < CURRENT)
    }

    /// They are told, and from now on with all.
    fn welcome(&self, newcomers: Vec<Newcomer>) {
        let mut state = self.state.lock();
        let mut wakers = Vec::with_capacity(newcomers.len());
        for newcomer in newcomers {
            if let Some(listener) = state.listeners.get_mut(newcomer.place.0)
                && Arc::ptr_eq(&listener.inbox, &newcomer.inbox)
            {
                listener.is_new = false;
                wakers.extend(listener.put());
            }
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn tell_all(&self) {
        let mut wakers = Vec::with_capacity(AT_ONCE);
        for first in (0..).step_by(AT_ONCE) {
            {
                let state = self.state.lock();
                if first >= state.listeners.capacity() {
                    return;
                }
                let listeners = (first..first + AT_ONCE).filter_map(|place| state.listeners.get(place));
                wakers.extend(listeners.filter(|listener| !listener.is_new).filter_map(Listener::put));
            }
            wakers.drain(..).for_each(Waker::wake);
        }
    }
}

impl Listener {
    fn put(&self) -> Option<Waker> {
        self.inbox.put(self.topic)
    }
}

/// The work of the task.
struct Question {
    running: Arc<Running>,
    hub: Hub,
    counts: Subscriber,
    pace: Pace,
    answer: Answer,
    executions: Counter,
}

impl Question {
    async fn run(mut self) {
        // Until there are counts, nobody can be told anything.
        let (_, mut counted) = self.counts.next().await;
        self.pace.changed();
        loop {
            let now = Instant::now();
            let newcomers = mem::take(&mut self.running.state.lock().newcomers);
            let is_outdated = !newcomers.is_empty() && !self.running.is_current(now);
            if let Some(newer) = self.newer_than(counted, is_outdated).await {
                counted = newer;
                self.pace.changed();
            }
            let is_for_all = self.pace.take(now);
            let is_for_some = is_for_all || !newcomers.is_empty();
            if is_outdated || is_for_some && self.running.latest_version() != Some(counted.version) {
                self.execute(counted).await;
            }
            self.running.welcome(newcomers);
            if is_for_all {
                self.running.tell_all();
            }
            self.next_reason().await;
        }
    }

    /// What was heard; `read`: also what a query would be answered, so that who comes from one sees nothing older.
    async fn newer_than(&mut self, known: CountsAt, read: bool) -> Option<CountsAt> {
        let entity = self.running.topic.entity;
        let heard = self.counts.try_next().map(|(_, counted)| counted);
        let read = if read { self.hub.counts(&[entity]).await.0.remove(&entity) } else { None };
        let newest = heard.into_iter().chain(read).max_by_key(|counted| counted.version);
        newest.filter(|newest| newest.version > known.version)
    }

    async fn execute(&self, counted: CountsAt) {
        let executed = Instant::now();
        let told = (self.answer)(counted).await;
        self.executions.increment(1);
        self.running.state.lock().latest = Some(Latest { version: counted.version, told, executed });
    }

    /// Somebody came, something changed while it is quiet, or what waits is due.
    async fn next_reason(&mut self) {
        let now = Instant::now();
        let due = self.pace.due(now);
        tokio::select! {
            () = self.running.joined.notified() => {}
            () = self.counts.arrived(), if due.is_none() => {}
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
