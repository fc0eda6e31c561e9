//! A simulated service with concurrent clients, for histories that are known to be right, or wrong in one place. Time
//! is virtual and everything follows from a seed. Events go through one log per source, and each count follows each log
//! at its own pace, as in Plaudit. An answer waits for a time until what it switched is counted.

use std::{
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap},
    sync::Arc,
};

use plaudit_history::{
    Rules, check,
    history::{
        Answer, Call, Count, Edge, Ending, Entity, Exclusion, History, Outcome, OwnState, Shown, Subject,
        Time, Via, version,
    },
    report::Report,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Something that a server must not do. It happens once, at the first opportunity after half of the steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// A like is acknowledged, but not kept.
    LostLike,
    /// An event moves its counts twice.
    CountedTwice,
    /// An actor reads the state from before the own acknowledged switch.
    StaleOwnState,
    /// A switch that changes nothing says that it did.
    ChangedTwice,
    /// A subscriber is sent an older version again.
    OlderPush,
    /// A reader is shown other counts at a version than the subscribers.
    OtherCounts,
    /// A count falls by one, is shown to somebody, and comes back later.
    Shortfall,
    /// A count rises by one, is shown to somebody, and falls again later.
    Surplus,
    /// A total at rest is too large.
    WrongTotal,
    /// The last push to a subscriber is lost.
    LostPush,
    /// A repetition under a key has another result.
    OtherResult,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    pub steps: usize,
    /// Clients that call at the same time. Several may act for the same actor.
    pub clients: usize,
    pub actors: i64,
    pub notes: i64,
    pub sources: usize,
    /// Share of calls whose answer is lost.
    pub lost: f64,
    /// Share of calls with an idempotency key. They are repeated until they are answered.
    pub keyed: f64,
    /// How often an actor is hidden and restored.
    pub hidings: usize,
    /// How often the stores lose what is not persisted.
    pub losses: usize,
    pub bug: Option<Bug>,
}

impl Options {
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            steps: 400,
            clients: 6,
            actors: 4,
            notes: 3,
            sources: 2,
            lost: 0.0,
            keyed: 0.3,
            hidings: 0,
            losses: 0,
            bug: None,
        }
    }
}

type Values = BTreeMap<&'static str, i64>;

/// What happens at a time. The heap has the latest first, so times are negative.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Step {
        client: usize,
    },
    /// The server executes call `call`, which is answered if the answer is not lost.
    Act {
        call: usize,
        answered: bool,
        client: usize,
    },
    /// `shows`: the counts that the answer has.
    Answered {
        call: usize,
        changed: bool,
        client: usize,
        shows: Vec<(Entity, u64, Values)>,
        includes: bool,
    },
    /// An answer no longer waits until its event is counted.
    StopWaiting {
        call: usize,
    },
    /// The client stops waiting for an answer.
    GaveUp {
        call: usize,
        client: usize,
    },
    Fold,
    Deliver {
        subscriber: usize,
        entity: Entity,
        version: u64,
        values: Values,
    },
    Hide {
        actor: i64,
        hidden: bool,
    },
    Lose,
}

#[derive(Clone, Default, Debug)]
struct Counted {
    values: Values,
    version: u64,
    /// How far each log is counted.
    folded: Vec<usize>,
}

/// An answer that waits until its event is counted.
struct Waiting {
    call: usize,
    client: usize,
    /// The end of the log with the event; `None` if the event was lost.
    counted_at: Option<usize>,
}

struct Simulation {
    options: Options,
    rng: StdRng,
    now: u64,
    queue: BinaryHeap<(i64, u64, Event)>,
    queued: u64,
    history: History,
    steps: usize,
    // The server.
    on: BTreeMap<Edge, bool>,
    before: BTreeMap<Edge, (bool, u64)>,
    logs: Vec<Vec<(Edge, bool)>>,
    persisted: Vec<usize>,
    counted: BTreeMap<Entity, Counted>,
    keys: HashMap<Arc<str>, bool>,
    waiting: Vec<Waiting>,
    hidden: BTreeSet<i64>,
    excluded: BTreeSet<Edge>,
    change: u64,
    epoch: u64,
    /// Newest version of each subscriber.
    delivered: BTreeMap<(usize, Entity), (u64, Values)>,
    planted: bool,
    /// A count that is wrong for a while, and what makes it right again.
    wrong: Option<(Count, i64)>,
    /// The version with the wrong count.
    wrong_at: Option<(Entity, u64)>,
}

/// Virtual time for which an answer waits.
const REPLY_WAIT: u64 = 1_000;
const SUBSCRIBERS: [&str; 2] = ["one subscriber", "another subscriber"];

/// A history, its end, and whether the bug was reached.
pub struct Simulated {
    pub history: History,
    pub ending: Ending,
    pub has_bug: bool,
    sources: usize,
}

impl Rules for Simulated {
    fn moves(&self, edge: Edge) -> Vec<Count> {
        moves(edge)
    }

    fn source(&self, actor: i64) -> u64 {
        actor.unsigned_abs() % self.sources as u64
    }
}

impl Simulated {
    pub fn check(&self) -> Report {
        check(&self.history, &self.ending, self)
    }
}

pub fn owner(note: i64) -> i64 {
    1_000 + note
}

pub fn moves(edge: Edge) -> Vec<Count> {
    let note = Entity { kind: "note", id: edge.target };
    let owner = Entity { kind: "user", id: owner(edge.target) };
    let actor = Entity { kind: "user", id: edge.actor };
    match edge.kind {
        "like" => vec![Count { of: note, name: "likes" }, Count { of: owner, name: "likesReceived" }],
        _ => vec![Count { of: note, name: "collects" }, Count { of: actor, name: "collected" }],
    }
}

pub fn simulate(options: Options) -> Simulated {
    let mut simulation = Simulation::new(options);
    simulation.run();
    simulation.end()
}

impl Simulation {
    fn new(options: Options) -> Self {
        let sources = options.sources;
        Self {
            rng: StdRng::seed_from_u64(options.seed),
            now: 0,
            queue: BinaryHeap::new(),
            queued: 0,
            history: History::default(),
            steps: 0,
            on: BTreeMap::new(),
            before: BTreeMap::new(),
            logs: vec![Vec::new(); sources],
            persisted: vec![0; sources],
            counted: BTreeMap::new(),
            keys: HashMap::new(),
            waiting: Vec::new(),
            hidden: BTreeSet::new(),
            excluded: BTreeSet::new(),
            change: 0,
            epoch: 1,
            delivered: BTreeMap::new(),
            planted: false,
            wrong: None,
            wrong_at: None,
            options,
        }
    }

    fn at(&mut self, delay: u64, event: Event) {
        self.queued += 1;
        // Events of the same time happen in the order in which they were queued.
        self.queue.push((-((self.now + delay) as i64), u64::MAX - self.queued, event));
    }

    fn soon(&mut self, most: u64) -> u64 {
        self.rng.random_range(1..=most)
    }

    /// Whether the bug happens now.
    fn plants(&mut self, bug: Bug) -> bool {
        let due = self.options.bug == Some(bug) && !self.planted && self.steps > self.options.steps / 2;
        self.planted |= due;
        due
    }

    fn run(&mut self) {
        for client in 0..self.options.clients {
            let delay = self.soon(1_000);
            self.at(delay, Event::Step { client });
        }
        let whole = (self.options.steps / self.options.clients.max(1) * 1_000) as u64;
        for _ in 0..self.options.hidings {
            let (delay, length) = (self.soon(whole), self.soon(whole));
            let actor = self.rng.random_range(0..self.options.actors);
            self.at(delay, Event::Hide { actor, hidden: true });
            self.at(delay + length, Event::Hide { actor, hidden: false });
        }
        for _ in 0..self.options.losses {
            let delay = self.soon(whole);
            self.at(delay, Event::Lose);
        }
        self.at(50, Event::Fold);
        while let Some((at, _, event)) = self.queue.pop() {
            self.now = at.unsigned_abs();
            self.happen(event);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Step { client } => self.step(client),
            Event::Act { call, answered, client } => {
                let (changed, is_new) = self.act(call);
                if answered && is_new {
                    let source = self.history.calls[call].edge.actor as usize % self.options.sources;
                    let counted_at = Some(self.logs[source].len());
                    self.waiting.push(Waiting { call, client, counted_at });
                    self.at(REPLY_WAIT, Event::StopWaiting { call });
                } else if answered {
                    self.answer(call, client, changed, false);
                }
            }
            Event::StopWaiting { call } => {
                if let Some(at) = self.waiting.iter().position(|waiting| waiting.call == call) {
                    let Waiting { call, client, .. } = self.waiting.swap_remove(at);
                    self.answer(call, client, true, false);
                }
            }
            Event::Answered { call, changed, client, shows, includes } => {
                let (asked, seen) = (self.history.calls[call].invoked, Time(self.now));
                let includes = includes.then_some(call);
                let shown = shows.into_iter().map(|(entity, version, values)| {
                    let observer = "the readers".into();
                    Shown { entity, version, values, via: Via::Reply, observer, asked, seen, includes }
                });
                self.history.shown.extend(shown);
                let outcome = Outcome::Done { changed: Some(changed) };
                self.history.calls[call].answer = Some(Answer { at: Time(self.now), outcome });
                self.next_step(client);
            }
            Event::GaveUp { call, client } => {
                if self.rng.random_bool(0.5) {
                    let outcome = Outcome::Unknown;
                    self.history.calls[call].answer = Some(Answer { at: Time(self.now), outcome });
                }
                let Call { edge, on, key, .. } = self.history.calls[call].clone();
                match key {
                    Some(_) => self.call(client, edge, on, key),
                    None => self.next_step(client),
                }
            }
            Event::Fold => {
                self.fold();
                self.answer_what_is_counted();
                if !self.queue.is_empty() {
                    let delay = self.soon(120);
                    self.at(delay, Event::Fold);
                }
            }
            Event::Deliver { subscriber, entity, version, values } => {
                self.deliver(subscriber, entity, version, values);
            }
            Event::Hide { actor, hidden } => self.hide(actor, hidden),
            Event::Lose => self.lose(),
        }
    }

    fn next_step(&mut self, client: usize) {
        let delay = self.soon(1_000);
        self.at(delay, Event::Step { client });
    }

    fn step(&mut self, client: usize) {
        if self.steps == self.options.steps {
            return;
        }
        self.steps += 1;
        let actor = client as i64 % self.options.actors;
        let target = self.rng.random_range(0..self.options.notes);
        let kind = if self.rng.random_bool(0.7) { "like" } else { "collect" };
        let edge = Edge { kind, actor, target };
        match self.rng.random_range(0..10) {
            0..6 => {
                let is_keyed = self.rng.random_bool(self.options.keyed);
                let key = is_keyed.then(|| format!("key {}", self.steps).into());
                let on = self.rng.random_bool(0.6);
                self.call(client, edge, on, key);
            }
            6..8 => self.read_own_state(client, edge),
            _ => self.read_counts(client, target),
        }
    }

    fn call(&mut self, client: usize, edge: Edge, on: bool, key: Option<Arc<str>>) {
        let call = self.history.calls.len();
        self.history.calls.push(Call { edge, on, key, invoked: Time(self.now), answer: None });
        let lost = self.rng.random_bool(self.options.lost);
        if lost {
            if self.rng.random_bool(0.7) {
                let delay = self.soon(4_000); // some act long after their clients have given up
                self.at(delay, Event::Act { call, answered: false, client });
            }
            self.at(2_000, Event::GaveUp { call, client });
        } else {
            let delay = self.soon(300);
            self.at(delay, Event::Act { call, answered: true, client });
        }
    }

    /// The answer has the counts of this moment.
    fn answer(&mut self, call: usize, client: usize, changed: bool, includes: bool) {
        let mut shows = Vec::new();
        for of in moves(self.history.calls[call].edge).into_iter().map(|count| count.of) {
            if let Some(counted) = self.counted.get(&of).filter(|counted| counted.version > 0) {
                shows.push((of, counted.version, counted.values.clone()));
            }
        }
        let delay = self.soon(300);
        self.at(delay, Event::Answered { call, changed, client, shows, includes });
    }

    fn answer_what_is_counted(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        for one in waiting {
            let edge = self.history.calls[one.call].edge;
            let source = edge.actor as usize % self.options.sources;
            let is_counted = |count: Count| {
                let folded = self.counted.get(&count.of).and_then(|counted| counted.folded.get(source));
                one.counted_at.is_some_and(|end| folded.is_some_and(|folded| *folded >= end))
            };
            if moves(edge).into_iter().all(is_counted) {
                let includes = self.is_first(one.call);
                self.answer(one.call, one.client, true, includes);
            } else {
                self.waiting.push(one);
            }
        }
    }

    /// Whether a call is not the repetition of another one under its key.
    fn is_first(&self, call: usize) -> bool {
        let key = &self.history.calls[call].key;
        key.is_none() || self.history.calls[..call].iter().all(|other| other.key != *key)
    }

    /// Switches an edge at this moment. Returns whether that changed something, and whether it was just now.
    fn act(&mut self, call: usize) -> (bool, bool) {
        let Call { edge, on, key, .. } = self.history.calls[call].clone();
        if let Some(kept) = key.as_ref().and_then(|key| self.keys.get(key)).copied() {
            return (kept, false);
        }
        let was = self.on.get(&edge).copied().unwrap_or_default();
        let mut changed = was != on;
        if changed && self.plants(Bug::LostLike) {
            return (true, false);
        }
        let is_new = changed;
        if changed {
            self.before.insert(edge, (was, self.now));
            self.on.insert(edge, on);
            let source = edge.actor as usize % self.options.sources;
            self.logs[source].push((edge, on));
        } else {
            changed = self.plants(Bug::ChangedTwice);
        }
        if let Some(key) = key {
            self.keys.insert(key, changed);
        }
        (changed, is_new)
    }

    fn read_own_state(&mut self, client: usize, edge: Edge) {
        let (invoked, delay, on) = (Time(self.now), self.soon(500), self.on.get(&edge).copied());
        // The state of the moment of the call: a moment of the read like any other.
        let mut is_on = on.unwrap_or_default();
        let is_old = |call: &Call| call.edge == edge && call.answer.is_none_or(|answer| answer.at >= invoked);
        let is_stale = self.before.get(&edge).is_some_and(|(was, at)| *was != is_on && at + 400 < self.now);
        if is_stale && !self.history.calls.iter().any(is_old) && self.plants(Bug::StaleOwnState) {
            is_on = !is_on;
        }
        let answered = Time(self.now + delay);
        self.history.own_states.push(OwnState { edge, is_on, invoked, answered });
        self.at(delay + 1, Event::Step { client });
    }

    fn read_counts(&mut self, client: usize, note: i64) {
        let entities = [Entity { kind: "note", id: note }, Entity { kind: "user", id: owner(note) }];
        let delay = self.soon(500);
        for entity in entities {
            let Some(counted) = self.counted.get(&entity).filter(|counted| counted.version > 0) else {
                continue;
            };
            let (version, mut values) = (counted.version, counted.values.clone());
            let was_pushed =
                self.delivered.iter().any(|((_, of), (newest, _))| *of == entity && *newest == version);
            if was_pushed && self.plants(Bug::OtherCounts) {
                values.values_mut().for_each(|value| *value += 1);
            }
            let observer = "the readers".into();
            let (asked, seen) = (Time(self.now), Time(self.now + delay));
            let (via, includes) = (Via::Query, None);
            self.history.shown.push(Shown { entity, version, values, via, observer, asked, seen, includes });
        }
        self.at(delay + 1, Event::Step { client });
    }

    /// Some entities follow some logs by some events.
    fn fold(&mut self) {
        let mut entities: BTreeSet<Entity> = self.counted.keys().copied().collect();
        for (source, log) in self.logs.iter().enumerate() {
            let behind = self.persisted[source];
            entities.extend(log[behind..].iter().flat_map(|(edge, _)| moves(*edge)).map(|count| count.of));
        }
        for entity in entities {
            for source in 0..self.options.sources {
                if self.rng.random_bool(0.6) {
                    let most = self.rng.random_range(1..8);
                    self.fold_log(entity, source, most);
                }
            }
        }
        for source in 0..self.options.sources {
            // Nothing is persisted before it is counted, which keeps the simulation simple.
            let counted = self.counted.values().map(|counted| counted.folded[source]).min();
            if self.rng.random_bool(0.3) {
                self.persisted[source] = counted.unwrap_or(0).max(self.persisted[source]);
            }
        }
    }

    fn fold_log(&mut self, entity: Entity, source: usize, most: usize) {
        let sources = self.options.sources;
        let counted = self.counted.entry(entity).or_default();
        counted.folded.resize(sources, 0);
        let from = counted.folded[source];
        let to = self.logs[source].len().min(from + most);
        counted.folded[source] = to;
        let mut moved = false;
        let events = self.logs[source][from..to].to_vec();
        for (edge, on) in events {
            for count in moves(edge).into_iter().filter(|count| count.of == entity) {
                let by = if on { 1 } else { -1 };
                let twice = if on && self.plants(Bug::CountedTwice) { 2 } else { 1 };
                self.add(count, by * twice);
                moved = true;
                if self.hidden.contains(&edge.actor) {
                    // The row does not count: the event is taken out again under a later version.
                    self.publish(entity);
                    self.add(count, -by);
                    if on {
                        self.excluded.insert(edge)
                    } else {
                        self.excluded.remove(&edge)
                    };
                }
            }
        }
        if moved {
            self.publish(entity);
            self.be_wrong_once(entity);
        }
    }

    fn be_wrong_once(&mut self, entity: Entity) {
        if let Some((count, by)) = self.wrong.take_if(|(count, _)| count.of == entity) {
            self.add(count, by);
            self.publish(entity);
            return;
        }
        let shown = self.counted[&entity].values.iter().find(|(_, value)| **value > 0).map(|(name, _)| *name);
        if let Some(name) = shown
            && (self.plants(Bug::Shortfall) || self.plants(Bug::Surplus))
        {
            let by = if self.options.bug == Some(Bug::Shortfall) { -1 } else { 1 };
            let count = Count { of: entity, name };
            self.add(count, by);
            self.publish(entity);
            self.wrong = Some((count, -by));
            self.wrong_at = Some((entity, self.counted[&entity].version));
        }
    }

    fn add(&mut self, count: Count, by: i64) {
        *self.counted.get_mut(&count.of).unwrap().values.entry(count.name).or_default() += by;
    }

    fn publish(&mut self, entity: Entity) {
        self.change += 1;
        let counted = self.counted.get_mut(&entity).unwrap();
        counted.version = version(self.epoch, self.change);
        let (version, values) = (counted.version, counted.values.clone());
        for subscriber in 0..SUBSCRIBERS.len() {
            // Some versions are skipped.
            if self.rng.random_bool(0.8) {
                let delay = self.soon(400);
                self.at(delay, Event::Deliver { subscriber, entity, version, values: values.clone() });
            }
        }
    }

    fn deliver(&mut self, subscriber: usize, entity: Entity, version: u64, values: Values) {
        let newest = self.delivered.get(&(subscriber, entity)).map_or(0, |(newest, _)| *newest);
        if version < newest && !self.plants(Bug::OlderPush) {
            return;
        }
        let (at, observer) = (Time(self.now), SUBSCRIBERS[subscriber].into());
        let (values_shown, via) = (values.clone(), Via::Push);
        let shown = Shown {
            entity,
            version,
            values: values_shown,
            via,
            observer,
            asked: at,
            seen: at,
            includes: None,
        };
        self.history.shown.push(shown);
        if version >= newest {
            self.delivered.insert((subscriber, entity), (version, values));
        }
    }

    /// Takes the edges of an actor out of the counts, or includes them again, one by one.
    fn hide(&mut self, actor: i64, hidden: bool) {
        let at = Time(self.now);
        self.history.exclusions.push(Exclusion { subject: Subject::Actor(actor), at, switches_off: false });
        let sources = self.options.sources;
        // What is in the log is counted before, as the removal lock orders it.
        let counts: BTreeSet<Count> =
            self.on.keys().filter(|edge| edge.actor == actor).flat_map(|edge| moves(*edge)).collect();
        for count in &counts {
            (0..sources).for_each(|source| self.fold_log(count.of, source, usize::MAX / 2));
        }
        let was_hidden = self.hidden.contains(&actor);
        if hidden == was_hidden {
            return;
        }
        if hidden {
            self.hidden.insert(actor)
        } else {
            self.hidden.remove(&actor)
        };
        let on: Vec<Edge> =
            self.on.iter().filter(|(edge, on)| edge.actor == actor && **on).map(|(edge, _)| *edge).collect();
        for edge in on {
            if self.excluded.contains(&edge) == hidden {
                continue;
            }
            if hidden {
                self.excluded.insert(edge)
            } else {
                self.excluded.remove(&edge)
            };
            for count in moves(edge) {
                self.add(count, if hidden { -1 } else { 1 });
                self.publish(count.of);
            }
        }
    }

    /// Everything that is not persisted is gone; a new epoch begins.
    fn lose(&mut self) {
        self.history.losses.push(Time(self.now));
        self.keys.clear();
        self.wrong = None;
        self.waiting.iter_mut().for_each(|waiting| waiting.counted_at = None);
        for (log, persisted) in self.logs.iter_mut().zip(&self.persisted) {
            log.truncate(*persisted);
        }
        self.on = self.logs.iter().flatten().copied().collect();
        self.epoch += 1;
        let logs: Vec<usize> = self.logs.iter().map(Vec::len).collect();
        let entities: Vec<Entity> = self.counted.keys().copied().collect();
        for entity in entities {
            let counted = self.counted.get_mut(&entity).unwrap();
            counted.folded.clone_from(&logs);
            counted.values.values_mut().for_each(|value| *value = 0);
            let on: Vec<Edge> = self.on.iter().filter(|(_, on)| **on).map(|(edge, _)| *edge).collect();
            for count in on.into_iter().flat_map(moves).filter(|count| count.of == entity) {
                self.add(count, 1);
            }
            self.publish(entity);
        }
    }

    fn end(mut self) -> Simulated {
        for actor in self.hidden.clone() {
            self.hide(actor, false);
        }
        let mut entities: BTreeSet<Entity> =
            self.on.keys().flat_map(|edge| moves(*edge)).map(|count| count.of).collect();
        entities.extend(self.counted.keys()); // also those whose events were all lost
        for entity in &entities {
            (0..self.options.sources).for_each(|source| self.fold_log(*entity, source, usize::MAX / 2));
        }
        self.wrong = None;
        // The subscribers are shown the end.
        self.now += 1_000;
        self.queue.clear();
        let loses_push = self.options.bug == Some(Bug::LostPush);
        for entity in &entities {
            let counted = self.counted[entity].clone();
            for subscriber in 0..SUBSCRIBERS.len() {
                let last = self.delivered.get(&(subscriber, *entity));
                if loses_push
                    && last.is_some_and(|(_, values)| *values != counted.values)
                    && self.plants(Bug::LostPush)
                {
                    continue;
                }
                self.deliver(subscriber, *entity, counted.version, counted.values.clone());
            }
        }
        let totals = self.counted.iter().flat_map(|(entity, counted)| {
            counted.values.iter().map(|(name, value)| (Count { of: *entity, name }, *value))
        });
        let mut counts: BTreeMap<Count, i64> = totals.collect();
        if self.plants(Bug::WrongTotal) {
            *counts.values_mut().next().unwrap() += 1;
        }
        if self.options.bug == Some(Bug::OtherResult) {
            self.answer_otherwise();
        }
        let rows = self.on.iter().filter(|(_, on)| **on).map(|(edge, _)| *edge).collect();
        let complete = SUBSCRIBERS.into_iter().map(Arc::from).collect();
        let ending = Ending { rows, counts, complete, ..Ending::default() };
        let sources = self.options.sources;
        // A version that nobody was shown is no error of the history.
        let is_shown = |of| self.history.shown.iter().any(|shown| (shown.entity, shown.version) == of);
        let has_bug = self.planted && self.wrong_at.is_none_or(is_shown);
        Simulated { history: self.history, ending, has_bug, sources }
    }

    /// A repetition of an answered call with a key has another result.
    fn answer_otherwise(&mut self) {
        let answered = |call: &&Call| {
            call.key.is_some() && call.answer.is_some_and(|answer| answer.outcome != Outcome::Unknown)
        };
        let Some(mut call) = self.history.calls.iter().rfind(answered).cloned() else { return };
        let Some(Answer { outcome: Outcome::Done { changed: Some(changed) }, .. }) = call.answer else {
            return;
        };
        let outcome = Outcome::Done { changed: Some(!changed) };
        call.invoked = Time(self.now);
        call.answer = Some(Answer { at: Time(self.now + 10), outcome });
        self.history.calls.push(call);
        self.planted = true;
    }
}
