//! A history: what clients called, what they were answered and shown, and when.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// Nanoseconds since the history began, on a clock that all clients share and that never goes back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub u64);

/// What an actor switches on and off: a like, a collect, a follow, a membership.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    pub kind: &'static str,
    pub actor: i64,
    pub target: i64,
}

/// What has counts. They share a version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Entity {
    pub kind: &'static str,
    pub id: i64,
}

/// One count of an entity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Count {
    pub of: Entity,
    pub name: &'static str,
}

/// A request that switches an edge on or off.
#[derive(Clone, Debug)]
pub struct Call {
    pub edge: Edge,
    pub on: bool,
    /// The idempotency key. Calls with the same key act once.
    pub key: Option<Arc<str>>,
    pub invoked: Time,
    /// `None` if no answer ever came.
    pub answer: Option<Answer>,
}

#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub at: Time,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The edge is as the call wants it. `changed`: whether it was not before; `None` if the answer did not say.
    Done { changed: Option<bool> },
    /// The call has no effect, now or later.
    Refused,
    /// An error that leaves open whether the call has taken effect, or still will.
    Unknown,
}

/// A client read whether an edge is on. A read without an answer says nothing and is not recorded.
#[derive(Clone, Copy, Debug)]
pub struct OwnState {
    pub edge: Edge,
    pub is_on: bool,
    pub invoked: Time,
    pub answered: Time,
}

/// A client was shown counts of an entity.
#[derive(Clone, Debug)]
pub struct Shown {
    pub entity: Entity,
    pub version: u64,
    /// Some of the entity's counts.
    pub values: BTreeMap<&'static str, i64>,
    pub via: Via,
    /// Who must not see versions fall: a subscriber, or all readers of one server.
    pub observer: Arc<str>,
    /// When the client asked; of a push, when it came.
    pub asked: Time,
    pub seen: Time,
    /// Of a reply that promises to include its own switch: the place of its call in [`History::calls`].
    pub includes: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    Push,
    Query,
    Reply,
}

/// From this time on, the counts may leave out edges of a subject, or include them again: somebody was hidden, restored
/// or erased, or something was removed. It happens in steps, so these edges explain whatever they can.
#[derive(Clone, Copy, Debug)]
pub struct Exclusion {
    pub subject: Subject,
    pub at: Time,
    /// Whether it may also switch the edges off.
    pub switches_off: bool,
}

/// The edges of an actor, or those of a kind to a target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Subject {
    Actor(i64),
    Target { kind: &'static str, id: i64 },
}

/// All that clients recorded, in any order, except that pushes of an observer are in the order in which they came. All
/// edges are off before.
#[derive(Clone, Default, Debug)]
pub struct History {
    pub calls: Vec<Call>,
    pub own_states: Vec<OwnState>,
    pub shown: Vec<Shown>,
    pub exclusions: Vec<Exclusion>,
    /// What counts include that no edge moves, from before the first call.
    pub carried: BTreeMap<Count, i64>,
    /// Times at which a store lost what it had acknowledged. After each, an edge may have any state, once.
    pub losses: Vec<Time>,
}

/// The state at rest: everything is folded and persisted.
#[derive(Clone, Default, Debug)]
pub struct Ending {
    /// Edges whose rows are on and count.
    pub rows: BTreeSet<Edge>,
    /// Edges whose rows are not compared: they were erased, or their targets were removed.
    pub without_rows: BTreeSet<Subject>,
    /// Totals, also of counts that no edge moves.
    pub counts: BTreeMap<Count, i64>,
    /// Observers that have been shown everything: their last values are the totals.
    pub complete: BTreeSet<Arc<str>>,
}

/// The change number has 37 bits (`src/catalogue/primitives/version.rs`).
const CHANGE_BITS: u32 = 37;

pub const fn epoch(version: u64) -> u64 {
    version >> CHANGE_BITS
}

pub const fn version(epoch: u64, change: u64) -> u64 {
    epoch << CHANGE_BITS | change
}

impl Subject {
    /// The two subjects that an edge belongs to.
    pub const fn of(edge: Edge) -> [Self; 2] {
        [Self::Actor(edge.actor), Self::Target { kind: edge.kind, id: edge.target }]
    }
}

impl History {
    pub fn carried(&self, count: Count) -> i64 {
        self.carried.get(&count).copied().unwrap_or_default()
    }
}

impl Ending {
    /// Whether the row of the edge says if it is on.
    pub fn compares(&self, edge: Edge) -> bool {
        !Subject::of(edge).iter().any(|subject| self.without_rows.contains(subject))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0 / 1_000;
        write!(f, "{:>4}.{:06} s", micros / 1_000_000, micros % 1_000_000)
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {} of {}", self.kind, self.actor, self.target)
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.kind, self.id)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.of, self.name)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entity, version, values, via, observer, seen, .. } = self;
        let epoch = epoch(*version);
        let change = version - self::version(epoch, 0);
        write!(f, "{seen}  {via:?} {entity} at epoch {epoch} change {change}: {values:?} to {observer}")
    }
}
