//! The history of a schedule: every call of an edge, every own state and all counts that were shown, with their times.
//! `plaudit_history` checks it at the end.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plaudit_catalogue::{Counter, EdgeKind, Entity};
use plaudit_history::{
    Rules,
    history::{
        self, Answer, Call, Count, Edge, Ending, Exclusion, History, Outcome, OwnState, Shown, Subject, Time,
        Via,
    },
};

use crate::{
    done::Pair,
    load::{self, Service},
    observations::Seen,
    world::{Act, Acted, World},
};

/// How long servers of schedules wait at least for the counts of a reply. One that came sooner has waited for its own switch.
pub const REPLY_WAIT: Duration = Duration::from_millis(200);

/// Records the history of one schedule.
pub struct Recorder {
    start: Instant,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    history: History,
    /// When actions under these keys were tried first.
    first_tried: HashMap<String, Time>,
    /// The calls under keys that were tried once.
    only_calls: HashMap<String, usize>,
    /// Users that were erased and groups that were removed.
    removed: BTreeSet<Subject>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { start: Instant::now(), inner: Mutex::default() }
    }
}

impl Recorder {
    pub fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_nanos()).unwrap())
    }

    /// Records counts that a client was shown now.
    pub fn shown(
        &self,
        (entity, version, values): Seen,
        via: Via,
        observer: &str,
        asked: Time,
        includes: Option<usize>,
    ) {
        let values = values.iter().map(|(counter, value)| (counter.name(), *value)).collect();
        let mut inner = self.inner.lock();
        let (entity, observer, seen) = (named(entity), observer.into(), self.now());
        inner.history.shown.push(Shown { entity, version, values, via, observer, asked, seen, includes });
    }

    /// The call under this key, if a reply that comes now promises that its counts include the switch. A repetition does not
    /// promise it, nor does one that had to wait for too long.
    pub fn included(&self, key: &str, changed: bool, asked: Time) -> Option<usize> {
        let is_in_time = Duration::from_nanos(self.now().0 - asked.0) < REPLY_WAIT;
        self.inner.lock().only_calls.get(key).copied().filter(|_| changed && is_in_time)
    }

    /// Records that a store loses what it has acknowledged.
    pub fn loses(&self) {
        self.inner.lock().history.losses.push(self.now());
    }

    /// Records the beginning of an action. Returns the number of its call, if it switches an edge.
    fn begins(&self, actor: i64, act: Act, key: &str) -> Option<usize> {
        let mut inner = self.inner.lock();
        let now = self.now();
        let is_first = !inner.first_tried.contains_key(key);
        inner.first_tried.entry(key.to_owned()).or_insert(now);
        match act {
            Act::Flip { kind, target, on } => {
                let edge = edge(kind, actor, target.id);
                inner.history.calls.push(Call {
                    edge,
                    on,
                    key: Some(key.into()),
                    invoked: now,
                    answer: None,
                });
                let call = inner.history.calls.len() - 1;
                match is_first {
                    true => drop(inner.only_calls.insert(key.to_owned(), call)),
                    false => drop(inner.only_calls.remove(key)),
                }
                return Some(call);
            }
            Act::Hide { user, .. } if is_first => inner.excludes(&of_user(user), now, false),
            Act::Erase { user } if is_first => inner.excludes(&of_user(user), now, true),
            Act::Disband { group } if is_first => inner.excludes(&[of_group(group)], now, true),
            _ => {}
        }
        None
    }

    /// Records the answer to an action.
    fn ends(&self, actor: i64, act: Act, key: &str, call: Option<usize>, answer: &load::Answer<Acted>) {
        let mut inner = self.inner.lock();
        let at = self.now();
        if let Some(call) = call {
            let outcome = answer
                .as_ref()
                .map_or(Outcome::Unknown, |acted| Outcome::Done { changed: Some(acted.changed) });
            inner.history.calls[call].answer = Some(Answer { at, outcome });
        }
        // Who founds a group joins it.
        if let (Act::Found, Ok(Acted { created: Some(group), .. })) = (act, answer) {
            let (edge, invoked) = (edge(EdgeKind::GroupJoin, actor, *group), inner.first_tried[key]);
            let answer = Some(Answer { at, outcome: Outcome::Done { changed: None } });
            inner.history.calls.push(Call { edge, on: true, key: Some(key.into()), invoked, answer });
        }
    }

    fn own_state(&self, edge: Edge, is_on: bool, invoked: Time) {
        let answered = self.now();
        self.inner.lock().history.own_states.push(OwnState { edge, is_on, invoked, answered });
    }

    /// Checks the history. `rows`: edges that are on and count; `totals`: of PostgreSQL; `complete`: subscribers that
    /// have received everything. Returns the violations.
    pub fn violations(
        &self,
        world: &World,
        shards: i64,
        rows: &BTreeSet<Pair>,
        totals: impl Iterator<Item = (Entity, Counter, i64)>,
        complete: impl Iterator<Item = String>,
    ) -> Vec<String> {
        let mut inner = self.inner.lock();
        let carried = world.carried.iter().map(|((of, counter), value)| (count(*of, *counter), *value));
        inner.history.carried = carried.collect();
        let ending = Ending {
            rows: rows.iter().map(|(kind, actor, target)| edge(*kind, *actor, *target)).collect(),
            without_rows: inner.removed.clone(),
            counts: totals.map(|(of, counter, total)| (count(of, counter), total)).collect(),
            complete: complete.map(Arc::from).collect(),
        };
        let report = plaudit_history::check(&inner.history, &ending, &Schedule { world, shards });
        if std::env::var_os("SHOW_HISTORY").is_some() {
            let mut summary = report.clone();
            summary.violations.clear();
            println!("history: {summary}");
        }
        report.violations.iter().map(ToString::to_string).collect()
    }
}

impl Inner {
    fn excludes(&mut self, subjects: &[Subject], at: Time, switches_off: bool) {
        let exclusions = subjects.iter().map(|subject| Exclusion { subject: *subject, at, switches_off });
        self.history.exclusions.extend(exclusions);
        if switches_off {
            self.removed.extend(subjects);
        }
    }
}

/// A service whose answers are recorded.
pub struct Recorded<'a, S> {
    pub service: &'a S,
    pub recorder: &'a Recorder,
}

impl<S: Service> Service for Recorded<'_, S> {
    async fn act(&self, world: &World, actor: usize, act: Act, key: &str) -> load::Answer<Acted> {
        let me = world.people[actor].id;
        let call = self.recorder.begins(me, act, key);
        let answer = self.service.act(world, actor, act, key).await;
        self.recorder.ends(me, act, key, call, &answer);
        answer
    }

    async fn is_on(&self, world: &World, actor: usize, kind: EdgeKind, target: i64) -> load::Answer<bool> {
        let invoked = self.recorder.now();
        let answer = self.service.is_on(world, actor, kind, target).await;
        if let Ok(is_on) = answer {
            self.recorder.own_state(edge(kind, world.people[actor].id, target), is_on, invoked);
        }
        answer
    }

    async fn read(&self, world: &World) {
        self.service.read(world).await;
    }
}

/// Which counts the edges of a schedule move, and which log they are in.
struct Schedule<'a> {
    world: &'a World,
    shards: i64,
}

impl Rules for Schedule<'_> {
    fn moves(&self, edge: Edge) -> Vec<Count> {
        let kind = EdgeKind::from_name(edge.kind).unwrap();
        self.world
            .flip(kind, edge.actor, edge.target)
            .deltas()
            .map(|(of, counter, _)| count(of, counter))
            .collect()
    }

    fn source(&self, actor: i64) -> u64 {
        actor.rem_euclid(self.shards).unsigned_abs()
    }
}

fn edge(kind: EdgeKind, actor: i64, target: i64) -> Edge {
    Edge { kind: kind.name(), actor, target }
}

fn named(entity: Entity) -> history::Entity {
    history::Entity { kind: entity.kind.name(), id: entity.id.get() }
}

fn count(of: Entity, counter: Counter) -> Count {
    Count { of: named(of), name: counter.name() }
}

/// All edges of a user: those of the actor, and follows of the user.
fn of_user(user: i64) -> [Subject; 2] {
    [Subject::Actor(user), Subject::Target { kind: EdgeKind::Follow.name(), id: user }]
}

fn of_group(group: i64) -> Subject {
    Subject::Target { kind: EdgeKind::GroupJoin.name(), id: group }
}
