//! Search for an explanation of an entity's counts: which switches were counted at which version.
//!
//! A state is the set of switches counted so far. The search counts one more switch at a time until the values are those
//! of the next version, and remembers the states that it has tried. A smaller set that a version allows explains all
//! that a larger one does, so it goes on to the next version as soon as the values fit and nothing is missing that a reply
//! said to be counted.

use std::collections::HashSet;

use crate::history::{Time, epoch};

/// Steps after which the search gives up.
const MOST_STEPS: usize = 100_000;
/// Work after which it gives up: steps times switches.
const MOST_WORK: usize = 60_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Explained {
    Yes,
    No,
    TooManySteps,
}

/// A switch of an edge that may have been counted.
#[derive(Clone, Debug)]
pub struct Switch {
    pub edge: usize,
    pub on: bool,
    /// It is in the log after those of its source that returned before it was invoked.
    pub invoked: Time,
    /// `None` if it may also never happen, or happen later.
    pub returned: Option<Time>,
    /// The version whose counts include it, as a reply promised. In that epoch all later ones do, too.
    pub counted_by: Option<u64>,
    /// Positions of the counts that it moves.
    pub counts: Vec<usize>,
}

/// What can explain the counts of one entity.
#[derive(Clone, Default, Debug)]
pub struct Causes {
    /// The switches of each source, ordered by `invoked`.
    pub sources: Vec<Vec<Switch>>,
    /// Whether the row of each edge is on at rest, if that is known.
    pub rows: Vec<Option<bool>>,
    /// Per count, times from which on it may once rise and once fall by one, whatever is switched; ascending.
    pub free: Vec<Vec<Time>>,
}

/// The counts of one version.
#[derive(Clone, Debug)]
pub struct Version {
    pub number: u64,
    /// `None` if nobody was shown this count.
    pub values: Vec<Option<i64>>,
    /// Only what was invoked until then can be in it.
    pub by: Time,
}

/// The place of a switch: its source, and where it is among the switches of the source.
type Place = (usize, usize);

/// What distinguishes states.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    /// Versions that are explained.
    explained: usize,
    counted: Vec<Vec<u64>>,
    /// Free rises and falls of each count.
    free: Vec<[i64; 2]>,
}

#[derive(Clone)]
struct State {
    key: Key,
    /// What follows from the key: the first switch of each source that is not counted, edges that are on, values.
    first: Vec<usize>,
    on: Vec<bool>,
    values: Vec<i64>,
}

/// Explains these versions, from zero. `to_rows`: and the way to the rows at rest.
pub fn search(causes: &Causes, versions: &[Version], to_rows: bool) -> Explained {
    let switches: usize = causes.sources.iter().map(Vec::len).sum();
    let due = due(causes, versions);
    let mut tried: HashSet<Key> = HashSet::new();
    // The way to the present state, and the switches to try in each of its states, the last one first.
    let mut way: Vec<(State, Vec<Place>)> = Vec::new();
    let mut present = Some(State::new(causes));
    loop {
        let Some(state) = present.take().filter(|state| tried.insert(state.key.clone())) else {
            let Some((from, to_try)) = way.last_mut() else { return Explained::No };
            match to_try.pop() {
                Some(place) => present = Some(from.with(causes, place)),
                None => drop(way.pop()),
            }
            continue;
        };
        if tried.len() > MOST_STEPS || tried.len() * (switches / 64 + 8) > MOST_WORK {
            return Explained::TooManySteps;
        }
        let to_try = match versions.get(state.key.explained) {
            None if !to_rows || state.reaches_rows(causes) => return Explained::Yes,
            None => state.possible(causes, None),
            Some(version) => {
                let due = &due[state.key.explained];
                present = state.explains(causes, version, due);
                let is_exact = present.as_ref().is_some_and(|next| next.key.free == state.key.free);
                if is_exact { Vec::new() } else { state.possible(causes, Some((version, due))) }
            }
        };
        way.push((state, to_try));
    }
}

/// The switches that each version is the first to include for sure.
fn due(causes: &Causes, versions: &[Version]) -> Vec<Vec<Place>> {
    let mut due = vec![Vec::new(); versions.len()];
    let Some(epoch_of) = versions.first().map(|first| epoch(first.number)) else { return due };
    for (source, switches) in causes.sources.iter().enumerate() {
        for (at, switch) in switches.iter().enumerate() {
            let Some(by) = switch.counted_by.filter(|by| epoch(*by) == epoch_of) else { continue };
            let first = versions.partition_point(|version| version.number < by);
            if let Some(due) = due.get_mut(first) {
                due.push((source, at));
            }
        }
    }
    due
}

impl State {
    fn new(causes: &Causes) -> Self {
        let counted = causes.sources.iter().map(|source| vec![0; source.len().div_ceil(64)]).collect();
        Self {
            key: Key { explained: 0, counted, free: vec![[0; 2]; causes.free.len()] },
            first: vec![0; causes.sources.len()],
            on: vec![false; causes.rows.len()],
            values: vec![0; causes.free.len()],
        }
    }

    fn is_counted(&self, source: usize, at: usize) -> bool {
        self.key.counted[source][at / 64] & 1 << (at % 64) != 0
    }

    /// The state after this version, if all that is due is counted and free moves explain what is left.
    fn explains(&self, causes: &Causes, version: &Version, due: &[Place]) -> Option<Self> {
        if due.iter().any(|(source, at)| !self.is_counted(*source, *at)) {
            return None;
        }
        let mut next = self.clone();
        next.key.explained += 1;
        for (count, shown) in version.values.iter().enumerate() {
            let missing = shown.map_or(0, |shown| shown - self.values[count]);
            if missing != 0 {
                let used = &mut next.key.free[count][usize::from(missing > 0)];
                *used += missing.abs();
                let most = causes.free[count].partition_point(|at| *at <= version.by);
                if usize::try_from(*used).is_ok_and(|used| used > most) {
                    return None;
                }
                next.values[count] += missing;
            }
        }
        Some(next)
    }

    /// The switches that may be counted next. The one to try first comes last: one that is due, then one that leads to the
    /// next version, and then the one that was called first.
    fn possible(&self, causes: &Causes, version: Option<(&Version, &Vec<Place>)>) -> Vec<Place> {
        let (version, due) = version.unzip();
        let is_due = |at| due.is_some_and(|due| due.contains(&at));
        let by = version.map_or(Time(u64::MAX), |version| version.by);
        let leads = |switch: &Switch| {
            let needs = |count: &usize| {
                let shown = version.and_then(|version| version.values[*count]);
                shown.is_some_and(|shown| {
                    if switch.on { shown > self.values[*count] } else { shown < self.values[*count] }
                })
            };
            switch.counts.iter().any(needs)
        };
        let mut possible = Vec::new();
        for (source, switches) in causes.sources.iter().enumerate() {
            let mut before = by;
            for (at, switch) in switches.iter().enumerate().skip(self.first[source]) {
                if switch.invoked > before {
                    break;
                }
                if self.is_counted(source, at) {
                    continue;
                }
                if self.on[switch.edge] != switch.on {
                    possible.push((!is_due((source, at)), !leads(switch), switch.invoked, source, at));
                }
                before = before.min(switch.returned.unwrap_or(before));
            }
        }
        possible.sort_unstable_by(|one, other| other.cmp(one));
        possible.into_iter().map(|(.., source, at)| (source, at)).collect()
    }

    fn with(&self, causes: &Causes, (source, at): Place) -> Self {
        let mut next = self.clone();
        let switch = &causes.sources[source][at];
        next.key.counted[source][at / 64] |= 1 << (at % 64);
        while next.first[source] < causes.sources[source].len() && next.is_counted(source, next.first[source])
        {
            next.first[source] += 1;
        }
        next.on[switch.edge] = switch.on;
        for count in &switch.counts {
            next.values[*count] += if switch.on { 1 } else { -1 };
        }
        next
    }

    /// Whether each edge is as its row.
    fn reaches_rows(&self, causes: &Causes) -> bool {
        causes.rows.iter().zip(&self.on).all(|(row, on)| row.is_none_or(|row| row == *on))
    }
}
