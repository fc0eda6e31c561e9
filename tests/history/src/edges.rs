//! Per edge: calls, reads and the row are linearizable (Herlihy and Wing, 1990). Each acts at one moment between its
//! invocation and its answer, on a switch that is off at first. Calls without an answer may act at any later time, or
//! never.
//!
//! Linearizability is local: a history is linearizable if that of each object is. So edges are checked one by one. The
//! search is that of Wing and Gong (1993) with Lowe's memory of failed states (2017), by `todc-utils`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use todc_utils::{Action, Specification, WGLChecker};

use crate::{
    history::{Answer, Call, Edge, Ending, History, Outcome, Subject, Time},
    report::{Class, Report},
};

/// Something that acted on an edge at a moment from `invoked` to `returned`.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub act: Act,
    pub invoked: Time,
    /// `None`: it may act at any later time, or never.
    pub returned: Option<Time>,
    /// The call whose answer says what it did, by its place in the history.
    pub call: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// `changed` is `None` if it is not known.
    Switch {
        on: bool,
        changed: Option<bool>,
    },
    Read(bool),
    /// The row at rest.
    Row(bool),
    /// The edge was erased, or its target removed.
    Exclude,
    /// A store lost what it had acknowledged: any state is possible.
    Lose,
}

/// A call, and its place in the history.
type Attempt<'a> = (usize, &'a Call);

/// The operations of each edge, ordered by `invoked`. Calls with the same key are one operation; if a store may have lost
/// the key, each of them may have acted.
pub fn operations(history: &History, report: &mut Report) -> BTreeMap<Edge, Vec<Operation>> {
    let mut by_edge: BTreeMap<Edge, Vec<Operation>> = BTreeMap::new();
    let mut by_key: HashMap<(Edge, Arc<str>), Vec<Attempt>> = HashMap::new();
    for (at, call) in history.calls.iter().enumerate() {
        match &call.key {
            Some(key) => by_key.entry((call.edge, Arc::clone(key))).or_default().push((at, call)),
            None => by_edge.entry(call.edge).or_default().extend(operation(&[(at, call)])),
        }
    }
    for ((edge, key), calls) in by_key {
        let operations = by_edge.entry(edge).or_default();
        if history.losses.is_empty() || calls.len() == 1 {
            operations.extend(operation(&calls));
            same_results(edge, &key, &calls, report);
        } else {
            operations.extend(calls.iter().map(|(_, call)| open(call.on, call.invoked)));
        }
    }
    for read in &history.own_states {
        let act = Act::Read(read.is_on);
        let read_at = Operation { act, invoked: read.invoked, returned: Some(read.answered), call: None };
        by_edge.entry(read.edge).or_default().push(read_at);
    }
    let mut off: HashMap<Subject, Vec<Time>> = HashMap::new();
    for exclusion in history.exclusions.iter().filter(|exclusion| exclusion.switches_off) {
        off.entry(exclusion.subject).or_default().push(exclusion.at);
    }
    for (edge, operations) in &mut by_edge {
        let excluded = Subject::of(*edge).into_iter().flat_map(|subject| off.get(&subject)).flatten();
        let excluded = excluded.map(|at| (Act::Exclude, *at));
        let lost = history.losses.iter().map(|at| (Act::Lose, *at));
        operations.extend(excluded.chain(lost).map(|(act, invoked)| Operation {
            act,
            invoked,
            returned: None,
            call: None,
        }));
        operations.sort_by_key(|operation| operation.invoked);
    }
    report.edges = by_edge.len();
    by_edge
}

/// What attempts of the same action did together: it acts once, after the first attempt began and before the first
/// success was answered.
fn operation(attempts: &[Attempt]) -> Option<Operation> {
    let invoked = attempts.iter().map(|(_, call)| call.invoked).min()?;
    let on = attempts.first()?.1.on;
    let done = attempts.iter().filter_map(|(call, attempt)| match attempt.answer {
        Some(Answer { at, outcome: Outcome::Done { changed } }) => Some((at, changed, Some(*call))),
        _ => None,
    });
    if let Some((at, changed, call)) = done.min_by_key(|(at, ..)| *at) {
        return Some(Operation { act: Act::Switch { on, changed }, invoked, returned: Some(at), call });
    }
    let is_refused =
        |(_, call): &Attempt| call.answer.is_some_and(|answer| answer.outcome == Outcome::Refused);
    (!attempts.iter().all(is_refused)).then(|| open(on, invoked))
}

/// A switch that may act at any later time, or never.
const fn open(on: bool, invoked: Time) -> Operation {
    Operation { act: Act::Switch { on, changed: None }, invoked, returned: None, call: None }
}

fn same_results(edge: Edge, key: &str, calls: &[Attempt], report: &mut Report) {
    let known = |changed| matches!(changed, Outcome::Done { changed: Some(_) });
    let results: Vec<_> =
        calls.iter().filter_map(|(_, call)| call.answer).filter(|answer| known(answer.outcome)).collect();
    if results.iter().any(|answer| answer.outcome != results[0].outcome) {
        let slice = results.iter().map(|answer| format!("{}  {:?}", answer.at, answer.outcome)).collect();
        report.add(
            Class::KeyAnswersDiffer,
            edge.to_string(),
            format!("the key {key} has different results"),
            slice,
        );
    }
}

/// Checks each edge, also those that nobody touched and whose rows are on.
pub fn check(operations: &BTreeMap<Edge, Vec<Operation>>, ending: &Ending, report: &mut Report) {
    let last = operations.values().flatten().map(|of| of.returned.unwrap_or(of.invoked)).max();
    let rest = Time(last.unwrap_or_default().0 + 1);
    let untouched = ending.rows.iter().filter(|edge| !operations.contains_key(edge));
    for edge in operations.keys().chain(untouched) {
        let mut all = operations.get(edge).cloned().unwrap_or_default();
        if ending.compares(*edge) {
            let row = Act::Row(ending.rows.contains(edge));
            all.push(Operation { act: row, invoked: rest, returned: Some(Time(rest.0 + 1)), call: None });
        }
        if let Some(slice) = violation(&all) {
            let lines = slice.iter().map(ToString::to_string).collect();
            let why = "no order of these operations explains their results".to_owned();
            report.add(Class::NotLinearizable, edge.to_string(), why, lines);
        }
    }
}

/// States that are possible: bit 0 for off, bit 1 for on.
type States = u8;
const OFF: States = 1;
const ON: States = 2;
const ANY: States = OFF | ON;

const fn state(on: bool) -> States {
    if on { ON } else { OFF }
}

/// A part of the history that no order explains. `operations` are ordered by invocation.
fn violation(operations: &[Operation]) -> Option<Vec<Operation>> {
    let (mut from, mut before, mut last_return) = (0, OFF, Some(Time::default()));
    for (i, operation) in operations.iter().enumerate() {
        let is_first = i == 0 || last_return.is_some_and(|last| last < operation.invoked);
        last_return = last_return.zip(operation.returned).map(|(last, returned)| last.max(returned));
        let next = operations.get(i + 1);
        let is_last = next.is_none_or(|next| last_return.is_some_and(|last| last < next.invoked));
        // After an operation that overlaps with no other one, the state is known, and earlier ones do not matter.
        if is_first && is_last || next.is_none() {
            let part = &operations[from..=i];
            if !is_linearizable(part, before) {
                return Some(shortest(&operations[..=i], from, before));
            }
            (from, before) = (i + 1, after(operation.act));
        }
    }
    None
}

/// The state after an operation that overlaps with no other one.
const fn after(act: Act) -> States {
    match act {
        Act::Switch { on, .. } | Act::Read(on) | Act::Row(on) => state(on),
        Act::Exclude | Act::Lose => ANY,
    }
}

/// The shortest part that fails: without what came after the first contradiction, and without what came before, as long
/// as any state before it leaves the rest contradictory.
fn shortest(operations: &[Operation], from: usize, before: States) -> Vec<Operation> {
    let part = &operations[from..];
    let mut returns: Vec<Time> = part.iter().filter_map(|operation| operation.returned).collect();
    returns.sort_unstable();
    // What is not linearizable stays so when the history goes on.
    let end = returns.partition_point(|until| is_linearizable(&prefix(part, *until), before));
    let until = returns.get(end).copied().unwrap_or(Time(u64::MAX));
    let failing = prefix(operations, until);
    let is_cut = |at: &usize| {
        failing[..*at].iter().all(|of| of.returned.is_some_and(|returned| returned < failing[*at].invoked))
    };
    let starts = (1..failing.len()).rev().filter(is_cut);
    let start = starts.into_iter().find(|at| !is_linearizable(&failing[*at..], ANY));
    failing[start.unwrap_or(0)..].to_vec()
}

/// What was invoked until then; what had not returned is open.
fn prefix(operations: &[Operation], until: Time) -> Vec<Operation> {
    let invoked = operations.iter().filter(|operation| operation.invoked <= until);
    let until_then = |operation: &Operation| {
        let mut operation = *operation;
        operation.returned = operation.returned.filter(|returned| *returned <= until);
        if operation.returned.is_none() {
            operation.act = match operation.act {
                Act::Switch { on, .. } => Act::Switch { on, changed: None },
                act => act,
            };
        }
        operation
    };
    let began = invoked.map(until_then);
    began.filter(|of| of.returned.is_some() || !matches!(of.act, Act::Read(_) | Act::Row(_))).collect()
}

/// A step of the search. Open operations that do the same are interchangeable, so they act in the order of their
/// invocations: `nth` is the place among them. Otherwise the search would try each subset of them.
#[derive(Clone, Copy, Debug)]
enum Step {
    Start(States),
    Act(Act),
    Open { act: Act, nth: u16 },
}

/// Possible states of the switch, and how many open operations of each sort have acted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Switch {
    states: States,
    open: [u16; 4],
}

struct SwitchSpecification;

impl Specification for SwitchSpecification {
    type State = Switch;
    type Operation = Step;

    fn init() -> Switch {
        Switch { states: ANY, open: [0; 4] }
    }

    fn apply(step: &Step, switch: &Switch) -> (bool, Switch) {
        let mut next = *switch;
        let act = match step {
            Step::Start(states) => return (true, Switch { states: *states, ..next }),
            Step::Act(act) => *act,
            Step::Open { act, nth } => {
                let acted = &mut next.open[sort(*act)];
                if *acted != *nth {
                    return (false, *switch);
                }
                *acted += 1;
                *act
            }
        };
        let (needed, states) = match act {
            Act::Switch { on, changed: Some(changed) } => (state(on != changed), state(on)),
            Act::Switch { on, changed: None } => (ANY, state(on)),
            Act::Read(is_on) | Act::Row(is_on) => (state(is_on), state(is_on)),
            Act::Exclude => (ANY, OFF),
            Act::Lose => (ANY, ANY),
        };
        next.states = states;
        (switch.states & needed != 0, next)
    }
}

/// Open operations of the same sort do the same.
const fn sort(act: Act) -> usize {
    match act {
        Act::Switch { on: true, .. } => 0,
        Act::Switch { on: false, .. } => 1,
        Act::Exclude | Act::Read(_) | Act::Row(_) => 2,
        Act::Lose => 3,
    }
}

fn is_linearizable(operations: &[Operation], before: States) -> bool {
    let mut processes = Vec::with_capacity(operations.len());
    let mut open = [0; 4];
    for operation in operations {
        let act = operation.act;
        processes.push(match operation.returned {
            Some(_) => Step::Act(act),
            None => {
                let nth = open[sort(act)];
                open[sort(act)] += 1;
                Step::Open { act, nth }
            }
        });
    }
    // At equal times calls go first: then the operations overlap, which explains more.
    let mut events: Vec<(Time, bool, usize)> = Vec::with_capacity(2 * operations.len());
    for (process, operation) in operations.iter().enumerate() {
        events.push((operation.invoked, false, process));
        events.push((operation.returned.unwrap_or(Time(u64::MAX)), true, process));
    }
    events.sort_unstable();
    let start = operations.len();
    let mut actions =
        vec![(start, Action::Call(Step::Start(before))), (start, Action::Response(Step::Start(before)))];
    actions.extend(events.into_iter().map(|(_, returns, process)| {
        let step = processes[process];
        (process, if returns { Action::Response(step) } else { Action::Call(step) })
    }));
    WGLChecker::<SwitchSpecification>::is_linearizable(todc_utils::History::from_actions(actions))
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let until = self.returned.map_or_else(|| "no answer    ".to_owned(), |at| at.to_string());
        write!(f, "{} – {until}  ", self.invoked)?;
        match self.act {
            Act::Switch { on, changed } => {
                let result =
                    changed.map_or_else(|| "result unknown".to_owned(), |is| format!("changed: {is}"));
                write!(f, "switch {}: {result}", if on { "on" } else { "off" })
            }
            Act::Read(on) => write!(f, "own state: {}", if on { "on" } else { "off" }),
            Act::Row(on) => write!(f, "the row at rest: {}", if on { "on" } else { "off" }),
            Act::Exclude => f.write_str("erased or removed"),
            Act::Lose => f.write_str("a store lost what it had acknowledged"),
        }
    }
}
