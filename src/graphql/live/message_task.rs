//! The task of a shared subscription: follows the signals of the topic, executes its messages, and makes them
//! ready for the members.

use std::{future::pending, mem, sync::Arc, time::Duration};

use metrics::Counter;
use tokio::time::{Instant, sleep_until};

use super::{
    message::{ExecuteMessage, ExecutedMessage, Next},
    pace::MessagePace,
    shared::{Asking, MOST_MESSAGES, Revision, SharedSubscription, pay},
    signals::{Signal, Signals},
    topic::{Since, Topic},
};
use plaudit_domain::{Cost, Plaudit};

/// Pause before a list is read again that could not be read.
const RETRY: Duration = Duration::from_secs(1);

struct MessageTask {
    shared: Arc<SharedSubscription>,
    signals: Signals,
    pace: MessagePace,
    execute: ExecuteMessage,
    executions: Counter,
    /// Of the topic's present state.
    revision: Revision,
    asking: Vec<Asking>,
    /// When those that are left of `asking` get their messages.
    asking_due: Option<Instant>,
}

/// Spawns the task, which runs until the shared subscription ends. `executions` counts the messages that it executes.
pub fn start(
    plaudit: &Plaudit,
    topic: &Topic,
    execute: ExecuteMessage,
    executions: Counter,
) -> Arc<SharedSubscription> {
    let shared = Arc::new(SharedSubscription::new(topic.clone()));
    let task = MessageTask {
        shared: Arc::clone(&shared),
        signals: Signals::of(plaudit, topic.subject),
        pace: MessagePace::new(topic.rate.interval()),
        execute,
        executions,
        revision: 1,
        asking: Vec::new(),
        asking_due: None,
    };
    shared.runs_by(tokio::spawn(task.run()).abort_handle());
    shared
}

/// What a round executes, and what came of it.
#[derive(Default)]
struct Round {
    served: Vec<Since>,
    cost: Cost,
    next: Next,
    /// Could not be read.
    failed: Vec<Since>,
}

impl MessageTask {
    async fn run(mut self) {
        let mut signal = self.signals.first().await;
        self.pace.changed();
        loop {
            let now = Instant::now();
            self.asking.append(&mut self.shared.take_asking());
            let asked = distinct(self.asking.iter().map(|asking| asking.since));
            let is_outdated = asked.iter().any(|since| !self.is_current(*since, now));
            signal = self.newer_than(signal, is_outdated).await;
            let is_for_all = self.pace.take(now);
            let round = self.round(signal, asked, is_for_all, now).await;
            self.settle(round, is_for_all);
            self.wait().await;
        }
    }

    /// Whether there is a message since this that may be shown to members that ask.
    fn is_current(&self, since: Since, now: Instant) -> bool {
        self.shared.latest(since, now).is_some_and(|(_, is_current)| is_current)
    }

    /// The latest signal. With `read`, not an older one than a query would get, so that a client that
    /// subscribes after a query gets no older counts.
    async fn newer_than(&mut self, known: Signal, read: bool) -> Signal {
        let arrived = self.signals.try_next();
        let read = if read { self.signals.read().await } else { None };
        let mut newest = known;
        for signal in arrived.into_iter().chain(read) {
            if signal.is_newer_than(&newest) {
                newest = signal;
            }
        }
        if newest.differs_from(&known) {
            self.changed();
        }
        newest
    }

    fn changed(&mut self) {
        self.revision += 1;
        self.pace.changed();
    }

    /// Executes the messages that members have asked for, and if it is time for them, the messages of all that wait.
    async fn round(&mut self, signal: Signal, asked: Vec<Since>, is_for_all: bool, now: Instant) -> Round {
        let mut round = Round::default();
        for since in asked {
            let is_due = !self.is_current(since, now) || self.is_behind(since, now);
            self.serve(&mut round, signal, since, is_due).await;
        }
        if is_for_all {
            let (waiting, is_all) = self.shared.begin_for_all(self.revision);
            if !is_all {
                self.pace.changed();
            }
            for since in waiting {
                let is_due = !round.served.contains(&since) && self.is_behind(since, now);
                self.serve(&mut round, signal, since, is_due).await;
            }
        }
        round
    }

    fn is_behind(&self, since: Since, now: Instant) -> bool {
        self.shared.latest(since, now).is_none_or(|(revision, _)| revision != self.revision)
    }

    async fn serve(&mut self, round: &mut Round, signal: Signal, since: Since, is_due: bool) {
        if is_due {
            let executed = Instant::now();
            let ExecutedMessage { message, next, work } = (self.execute)(signal, since).await;
            self.executions.increment(1);
            round.cost = round.cost + work.cost();
            if next == Next::AgainSoon {
                round.failed.push(since);
            }
            if next != Next::AtSignal {
                round.next = next;
            }
            if let Some(message) = message {
                self.shared.set_latest(since, self.revision, message, executed);
            }
        }
        if !round.served.contains(&since) {
            round.served.push(since);
        }
    }

    /// Payment, and notification of the members.
    fn settle(&mut self, round: Round, is_for_all: bool) {
        let Round { served, cost, next, failed } = round;
        let (answered, left): (Vec<Asking>, Vec<Asking>) = mem::take(&mut self.asking)
            .into_iter()
            .partition(|asking| served.contains(&asking.since) && !failed.contains(&asking.since));
        let now = Instant::now();
        self.asking_due = (!left.is_empty()).then(|| {
            let pause = if failed.is_empty() { self.shared.topic().rate.interval() } else { RETRY };
            now + pause
        });
        // The others could not be read, or came too late for the round: they are asked for again after the pause.
        self.asking = left;
        if is_for_all {
            self.pace.hold(now + self.shared.pay(cost));
        } else {
            // Nobody else waits for it, so nobody else pays, or is held up.
            pay(cost, answered.len(), answered.iter().map(|asking| &asking.payer));
        }
        self.shared.offer_to_asking(answered, self.revision);
        if is_for_all {
            self.shared.offer_to_all(&served, self.revision);
        }
        if next != Next::AtSignal {
            self.changed();
            self.pace.hold(now + RETRY);
        }
    }

    /// Waits until a member asks, until there is a signal while no message is pending, or until that message is due.
    async fn wait(&mut self) {
        let now = Instant::now();
        let due = self.pace.due(now);
        let asking_due = self.asking_due;
        tokio::select! {
            // While some wait for their turn, those that ask now wait with them, and one round serves all.
            () = self.shared.asked(), if asking_due.is_none() => {}
            () = reached(asking_due, now) => {}
            // A change before a message is due needs no wake-up: the round takes the latest signal.
            () = self.signals.changed(), if due.is_none() => {}
            () = reached(due, now) => {}
        }
    }
}

/// At most as many as a round executes, without repetitions.
fn distinct(since: impl Iterator<Item = Since>) -> Vec<Since> {
    let mut found = Vec::new();
    for since in since {
        if found.len() < MOST_MESSAGES && !found.contains(&since) {
            found.push(since);
        }
    }
    found
}

async fn reached(due: Option<Instant>, now: Instant) {
    match due {
        Some(due) if due > now => sleep_until(due).await,
        Some(_) => {}
        None => pending().await,
    }
}
