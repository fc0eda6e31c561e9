//! Per entity: within an epoch, the counts are explained by the switches of their edges.
//!
//! An entity follows the log of each source at its own pace, so how late a switch is counted is not promised. What is
//! promised: a switch is counted once, not before it was called, after those that are earlier in the log of its source,
//! and it stays counted in all later versions of the epoch; and the counts of a reply that came in time include the switch
//! that it answers. So for each version there must be a set of counted switches
//! that contains that of the version before, and the values must be what counts carry and the numbers of edges that are on
//! by it.
//!
//! Two checks, both without false alarms:
//!
//! - **limits** per count, in one pass: it cannot have risen more often in total than edges were switched on, nor fallen
//!   more often than edges were switched off, by calls that began before the version was seen;
//! - a **search** for such sets (`src/counting/reconcile/explanation.rs`), exact as long as it ends within its limit of steps.
//!
//! Edges of a hidden, restored or erased user, and of what was removed, may be left out of counts and included again
//! in steps. From the first exclusion on, each exclusion, and each call on such an edge, explains one rise and one fall.

use std::collections::{BTreeMap, HashMap};

use crate::{
    Rules,
    edges::{Act, Operation},
    explanation::{self, Causes, Explained, Switch, Version},
    history::{Count, Edge, Ending, Entity, History, Subject, Time, epoch},
    report::{Class, Report},
    versions::SeenVersion,
};

type Operations = BTreeMap<Edge, Vec<Operation>>;

/// An entity, its counts that edges move, and these edges.
struct Counted<'a> {
    entity: Entity,
    names: Vec<&'static str>,
    /// What each of them carries.
    carried: Vec<i64>,
    edges: Vec<Edge>,
    operations: &'a Operations,
    causes: Causes,
}

/// Checks each entity whose counts edges move.
pub fn check(
    history: &History,
    operations: &Operations,
    seen: &BTreeMap<Entity, Vec<SeenVersion>>,
    ending: &Ending,
    rules: &impl Rules,
    report: &mut Report,
) {
    let included = included(history, seen);
    let mut edges_of: BTreeMap<Entity, BTreeMap<Edge, Vec<&'static str>>> = BTreeMap::new();
    for edge in operations.keys() {
        for count in rules.moves(*edge) {
            edges_of.entry(count.of).or_default().entry(*edge).or_default().push(count.name);
        }
    }
    for (entity, edges) in edges_of {
        let counted = Counted::new((history, &included), operations, ending, rules, entity, &edges);
        let versions = seen.get(&entity).map_or(&[][..], Vec::as_slice);
        let mut is_decided = true;
        for epoch in versions.chunk_by(|one, next| epoch(one.version) == epoch(next.version)) {
            // After a loss, the way to the end may lead back.
            let is_last = epoch.last().map(|last| last.version) == versions.last().map(|last| last.version);
            let end = Some(ending).filter(|_| is_last && history.losses.is_empty());
            match counted.explain(epoch, end) {
                Ok(decided) => is_decided &= decided,
                Err(Broken { class, count, why, shown }) => {
                    let subject = count.map_or_else(|| entity.to_string(), |count| count.to_string());
                    report.add(class, subject, why, counted.slice(&shown, count));
                    break;
                }
            }
        }
        match is_decided {
            true => report.explained += 1,
            false => report.undecided += 1,
        }
    }
}

/// A violation within an epoch, and what was shown until then.
struct Broken {
    class: Class,
    count: Option<Count>,
    why: String,
    shown: Vec<SeenVersion>,
}

impl<'a> Counted<'a> {
    fn new(
        (history, included): (&History, &Included),
        operations: &'a Operations,
        ending: &Ending,
        rules: &impl Rules,
        entity: Entity,
        edges: &BTreeMap<Edge, Vec<&'static str>>,
    ) -> Self {
        let mut names: Vec<&'static str> = edges.values().flatten().copied().collect();
        names.sort_unstable();
        names.dedup();
        // What was acknowledged before a loss may be gone.
        let kept_from = history.losses.iter().max().copied();
        let mut excluded: HashMap<Subject, Vec<Time>> = HashMap::new();
        for exclusion in &history.exclusions {
            excluded.entry(exclusion.subject).or_default().push(exclusion.at);
        }
        let mut causes = Causes { free: vec![Vec::new(); names.len()], ..Causes::default() };
        let mut sources: BTreeMap<u64, Vec<Switch>> = BTreeMap::new();
        for (edge, moved) in edges {
            let counts: Vec<usize> =
                moved.iter().filter_map(|name| names.iter().position(|other| other == name)).collect();
            let number = causes.rows.len();
            let counted_by = |call: usize| included.get(&(call, entity)).copied();
            let mut switches = switches(&operations[edge], (number, &counts), kept_from, counted_by);
            let subjects = Subject::of(*edge);
            let times = subjects.iter().filter_map(|subject| excluded.get(subject)).flatten().copied();
            let mut times: Vec<Time> = times.collect();
            let first = times.iter().min().copied();
            if let Some(first) = first {
                times.extend(switches.iter().map(|switch| switch.invoked.max(first)));
                counts.iter().for_each(|count| causes.free[*count].extend(&times));
                switches.retain(|switch| switch.invoked < first);
                // What acted later may follow a switch that is left out here.
                for switch in switches.iter_mut().filter(|of| of.returned.is_none_or(|at| at >= first)) {
                    (switch.returned, switch.counted_by) = (None, None);
                }
            }
            let is_compared = first.is_none() && ending.compares(*edge);
            causes.rows.push(is_compared.then(|| ending.rows.contains(edge)));
            sources.entry(rules.source(edge.actor)).or_default().extend(switches);
        }
        causes.free.iter_mut().for_each(|times| times.sort_unstable());
        causes.sources = sources.into_values().collect();
        causes.sources.iter_mut().for_each(|source| source.sort_by_key(|switch| switch.invoked));
        let edges = edges.keys().copied().collect();
        let carried = names.iter().map(|name| history.carried(Count { of: entity, name })).collect();
        Self { entity, names, carried, edges, operations, causes }
    }

    /// Whether the search has ended. `end`: the state at rest, if it follows the last of these versions.
    fn explain(&self, seen: &[SeenVersion], end: Option<&Ending>) -> Result<bool, Broken> {
        for (i, name) in self.names.iter().enumerate() {
            self.within_limits(i, name, seen)?;
        }
        let version = |SeenVersion { version, values, by }: &SeenVersion| Version {
            number: *version,
            values: self.of_edges(|name| values.get(name)),
            by: *by,
        };
        let mut versions: Vec<Version> = seen.iter().map(version).collect();
        if let Some(end) = end {
            let values = self.of_edges(|name| end.counts.get(&Count { of: self.entity, name }));
            let number = seen.last().map_or(0, |last| last.version);
            versions.push(Version { number, values, by: Time(u64::MAX) });
        }
        match explanation::search(&self.causes, &versions, end.is_some()) {
            Explained::Yes => Ok(true),
            Explained::TooManySteps => Ok(false),
            Explained::No => {
                let shown = shortest(&self.causes, &versions[..seen.len()]);
                let why = match shown {
                    Some(_) => "no order of the calls explains these counts",
                    None => "no order of the calls leads from these counts to the rows and totals at rest",
                };
                let shown = seen[..shown.unwrap_or(seen.len())].to_vec();
                Err(Broken { class: Class::Unexplained, count: None, why: why.to_owned(), shown })
            }
        }
    }

    /// Values of the counts, without what they carry.
    fn of_edges<'b>(&self, value: impl Fn(&'static str) -> Option<&'b i64>) -> Vec<Option<i64>> {
        let names = self.names.iter().zip(&self.carried);
        names.map(|(name, carried)| Some(value(name)? - carried)).collect()
    }

    /// Compares how often a count rose and fell with how often it can have, in one pass.
    fn within_limits(&self, position: usize, name: &'static str, seen: &[SeenVersion]) -> Result<(), Broken> {
        let mut limits = Limits::new(&self.causes, position);
        let (mut last, mut rises, mut falls) = (self.carried[position], 0, 0);
        for (i, version) in seen.iter().enumerate() {
            let Some(value) = version.values.get(name).copied() else { continue };
            limits.advance(version.by);
            rises += (value - last).max(0);
            falls += (last - value).max(0);
            last = value;
            let (class, what, by, most, switch) = if rises > limits.rises {
                (Class::CountedTooMuch, "rose", rises, limits.rises, "on")
            } else if falls > limits.falls {
                (Class::TakenBack, "fell", falls, limits.falls, "off")
            } else {
                continue;
            };
            let why = format!(
                "within its epoch it {what} by {by} in total, but at most {most} calls can have switched it {switch}"
            );
            let count = Some(Count { of: self.entity, name });
            return Err(Broken { class, count, why, shown: seen[..=i].to_vec() });
        }
        Ok(())
    }

    /// What was shown, and the calls until then, by time.
    fn slice(&self, shown: &[SeenVersion], count: Option<Count>) -> Vec<String> {
        let Some(until) = shown.last().map(|version| version.by) else { return Vec::new() };
        let mut lines: Vec<(Time, String)> = Vec::new();
        for edge in &self.edges {
            let calls = self.operations[edge].iter().filter(|operation| operation.invoked <= until);
            let calls = calls.filter(|operation| !matches!(operation.act, Act::Read(_)));
            lines.extend(calls.map(|call| (call.invoked, format!("{call}: {edge}"))));
        }
        for SeenVersion { version, values, by } in shown {
            let change = version - crate::history::version(epoch(*version), 0);
            let is_wanted = |name: &&'static str| count.is_none_or(|count| count.name == *name);
            let values: BTreeMap<_, _> =
                values.iter().filter(|(name, _)| self.names.contains(name) && is_wanted(name)).collect();
            lines.push((
                *by,
                format!("{by}  shown as {values:?} at epoch {} change {change}", epoch(*version)),
            ));
        }
        lines.sort();
        lines.into_iter().map(|(_, line)| line).collect()
    }
}

/// The least number of versions that have no explanation. `None` if all of them have one.
fn shortest(causes: &Causes, versions: &[Version]) -> Option<usize> {
    let fails = |upto: usize| explanation::search(causes, &versions[..upto], false) == Explained::No;
    let (mut explained, mut failing) = (0, versions.len());
    if !fails(failing) {
        return None;
    }
    // What has no explanation has none when more is shown.
    while explained + 1 < failing {
        let middle = usize::midpoint(explained, failing);
        if fails(middle) { failing = middle } else { explained = middle }
    }
    Some(failing)
}

/// By call and entity, the version that includes what the call switched.
type Included = HashMap<(usize, Entity), u64>;

/// What replies promised to include. Counters that begin again between the fold that a reply waited for and its counts may
/// be behind; so the promise counts only in an epoch that somebody had seen before the call.
fn included(history: &History, seen: &BTreeMap<Entity, Vec<SeenVersion>>) -> Included {
    let mut included = Included::new();
    for shown in &history.shown {
        let Some(call) = shown.includes else { continue };
        let of_epoch = seen[&shown.entity].iter().find(|other| epoch(other.version) == epoch(shown.version));
        if of_epoch.is_some_and(|first| first.by < history.calls[call].invoked) {
            included.insert((call, shown.entity), shown.version);
        }
    }
    included
}

/// The switches of an edge that may have been counted: calls that changed something, or whose result is unknown.
fn switches(
    operations: &[Operation],
    (edge, counts): (usize, &[usize]),
    kept_from: Option<Time>,
    counted_by: impl Fn(usize) -> Option<u64>,
) -> Vec<Switch> {
    let switch = |operation: &Operation| {
        let Act::Switch { on, changed: changed @ (None | Some(true)) } = operation.act else { return None };
        let is_kept = changed.is_some() && kept_from.is_none_or(|from| operation.invoked > from);
        let returned = operation.returned.filter(|_| is_kept);
        let counted_by = operation.call.filter(|_| is_kept).and_then(&counted_by);
        Some(Switch { edge, on, invoked: operation.invoked, returned, counted_by, counts: counts.to_vec() })
    };
    operations.iter().filter_map(switch).collect()
}

/// How often a count can have risen and fallen by a moment.
struct Limits {
    /// Edge (or none, if free), whether it is switched on, and when; descending, so that the next one is the last.
    to_come: Vec<(Time, Option<usize>, bool)>,
    /// Calls that switch each edge on and off.
    of_edge: Vec<(i64, i64)>,
    rises: i64,
    falls: i64,
}

impl Limits {
    fn new(causes: &Causes, count: usize) -> Self {
        let mut to_come: Vec<_> = causes.free[count].iter().map(|at| (*at, None, true)).collect();
        let switches = causes.sources.iter().flatten().filter(|switch| switch.counts.contains(&count));
        to_come.extend(switches.map(|switch| (switch.invoked, Some(switch.edge), switch.on)));
        to_come.sort_unstable_by(|one, other| other.cmp(one));
        Self { to_come, of_edge: vec![(0, 0); causes.rows.len()], rises: 0, falls: 0 }
    }

    fn advance(&mut self, by: Time) {
        while let Some((_, edge, is_on)) = self.to_come.pop_if(|(at, ..)| *at <= by) {
            let Some(edge) = edge else {
                (self.rises, self.falls) = (self.rises + 1, self.falls + 1);
                continue;
            };
            // An edge is switched on and off in turn, and on first.
            let (on, off) = &mut self.of_edge[edge];
            let before = ((*on).min(*off + 1), (*off).min(*on));
            if is_on {
                *on += 1
            } else {
                *off += 1
            }
            self.rises += (*on).min(*off + 1) - before.0;
            self.falls += (*off).min(*on) - before.1;
        }
    }
}
