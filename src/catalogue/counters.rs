//! Entities and their counters.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::primitives::{CommentId, GroupId, Id, NoteId, UserId};

/// Declares the entity kinds, their names in keys and tables, and their counters in order.
///
/// A counter's name is its column in the kind's `…_counts` table and its field in Redis.
macro_rules! catalogue {
    ($($kind:ident $kind_name:literal { $($counter:ident $name:literal),+ $(,)? })+) => {
        /// A kind of entity.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum EntityKind { $($kind),+ }

        /// One counter of one kind of entity.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Counter { $($($counter),+),+ }

        /// Number of counters of each kind.
        const LENGTHS: &[usize] = &[$([$($name),+].len()),+];

        impl EntityKind {
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// The name in keys, log lines and SQL table names.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $kind_name),+ }
            }

            /// What the app's own id of this kind is called.
            pub const fn key_name(self) -> &'static str {
                match self { Self::User => "subject", _ => "key" }
            }

            /// The kind's counters; the position is [`Counter::index`].
            pub const fn counters(self) -> &'static [Counter] {
                match self { $(Self::$kind => &[$(Counter::$counter),+]),+ }
            }
        }

        impl Counter {
            pub const fn kind(self) -> EntityKind {
                match self { $($(Self::$counter => EntityKind::$kind),+),+ }
            }

            /// Name of the column and of the Redis field.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$counter => $name),+),+ }
            }
        }
    };
}

catalogue! {
    User "user" {
        UserFollowing "following",
        UserFollowers "followers",
        UserNotes "notes",
        UserComments "comments",
        UserLikesReceived "likes_received",
        UserCollectsReceived "collects_received",
        UserGroups "groups",
        UserCoins "coins",
    }
    Note "note" {
        NoteLikes "likes",
        NoteCollects "collects",
        NoteComments "comments",
        NoteViews "views",
        NoteRatings "ratings",
        NoteRatingSum "rating_sum",
        // Position of the last change of a comment that everybody sees. Only PostgreSQL changes it, and no
        // field shows it.
        NoteCommentPosition "comment_position",
    }
    Comment "comment" {
        CommentLikes "likes",
        CommentReplies "replies",
    }
    // Unread events by badge. Only PostgreSQL changes them.
    Inbox "inbox" {
        InboxReplies "replies",
        InboxLikes "likes",
        InboxFollowers "followers",
        InboxMessages "messages",
    }
    Group "group" {
        GroupMembers "members",
        GroupNotes "notes",
        GroupFeaturedNotes "featured_notes",
    }
}

/// The most counters that a kind has.
pub const MAX_COUNTERS: usize = {
    let mut max = 0;
    let mut i = 0;
    while i < LENGTHS.len() {
        if LENGTHS[i] > max {
            max = LENGTHS[i];
        }
        i += 1;
    }
    max
};

impl Counter {
    /// Position among the counters of its kind.
    pub fn index(self) -> usize {
        let first = self.kind().counters()[0] as usize;
        self as usize - first
    }
}

/// Changes of totals per entity, in the order in which totals are locked.
pub type Deltas = BTreeMap<Entity, Counts>;

/// One object that has counters: `note_42`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Entity {
    pub kind: EntityKind,
    pub id: Id,
}

impl Entity {
    pub const fn new(kind: EntityKind, id: Id) -> Self {
        Self { kind, id }
    }
}

impl From<UserId> for Entity {
    fn from(id: UserId) -> Self {
        Self::new(EntityKind::User, id.0)
    }
}

impl From<NoteId> for Entity {
    fn from(id: NoteId) -> Self {
        Self::new(EntityKind::Note, id.0)
    }
}

impl From<CommentId> for Entity {
    fn from(id: CommentId) -> Self {
        Self::new(EntityKind::Comment, id.0)
    }
}

impl From<GroupId> for Entity {
    fn from(id: GroupId) -> Self {
        Self::new(EntityKind::Group, id.0)
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.kind.name(), self.id)
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not an entity (kind_id)")]
pub struct ParseEntityError(String);

impl FromStr for Entity {
    type Err = ParseEntityError;

    fn from_str(text: &str) -> Result<Self, ParseEntityError> {
        let parse = || {
            let (name, id) = text.split_once('_')?;
            let kind = *EntityKind::ALL.iter().find(|kind| kind.name() == name)?;
            Some(Self::new(kind, id.parse().ok()?))
        };
        parse().ok_or_else(|| ParseEntityError(text.to_owned()))
    }
}

/// Values (or changes) of all counters of one entity, in catalogue order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts([i64; MAX_COUNTERS]);

impl Counts {
    /// Takes one value per counter of the kind, in catalogue order.
    pub fn from_values(values: impl IntoIterator<Item = i64>) -> Self {
        let mut counts = Self::default();
        for (slot, value) in counts.0.iter_mut().zip(values) {
            *slot = value;
        }
        counts
    }

    /// The counter must belong to the entity's kind.
    pub fn get(&self, counter: Counter) -> i64 {
        self.0[counter.index()]
    }

    pub fn add(&mut self, counter: Counter, delta: i64) {
        self.0[counter.index()] += delta;
    }

    pub fn add_all(&mut self, other: &Self) {
        for (value, delta) in self.0.iter_mut().zip(other.0) {
            *value += delta;
        }
    }

    /// The first `kind.counters().len()` values.
    pub fn values(&self, kind: EntityKind) -> &[i64] {
        &self.0[..kind.counters().len()]
    }

    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|value| *value == 0)
    }
}

/// New totals of some counters of one entity; the others did not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MovedTotals {
    totals: Counts,
    /// One bit per counter, by its index.
    moved: u16,
}

const _: () = assert!(MAX_COUNTERS <= u16::BITS as usize, "`MovedTotals::moved` needs a wider type");

impl MovedTotals {
    pub fn set(&mut self, counter: Counter, total: i64) {
        self.totals.0[counter.index()] = total;
        self.moved |= 1 << counter.index();
    }

    /// Adds later totals of the same entity.
    pub fn extend(&mut self, later: &Self) {
        later.apply_to(&mut self.totals);
        self.moved |= later.moved;
    }

    pub fn apply_to(&self, counts: &mut Counts) {
        for (index, count) in counts.0.iter_mut().enumerate() {
            if self.moved & (1 << index) != 0 {
                *count = self.totals.0[index];
            }
        }
    }

    /// The counts, if all counters of the kind are known.
    pub fn complete(&self, kind: EntityKind) -> Option<Counts> {
        (self.moved.count_ones() as usize == kind.counters().len()).then_some(self.totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_totals_replace_earlier_ones_and_leave_the_other_counters() {
        let (mut first, mut later) = (MovedTotals::default(), MovedTotals::default());
        first.set(Counter::CommentLikes, 5);
        assert_eq!(first.complete(EntityKind::Comment), None);
        let mut counts = Counts::from_values([1, 2]);
        first.apply_to(&mut counts);
        assert_eq!(counts, Counts::from_values([5, 2]));
        later.set(Counter::CommentLikes, 6);
        later.set(Counter::CommentReplies, 7);
        first.extend(&later);
        assert_eq!(first.complete(EntityKind::Comment), Some(Counts::from_values([6, 7])));
    }

    #[test]
    fn a_counter_stands_at_its_index() {
        for kind in EntityKind::ALL {
            for (position, counter) in kind.counters().iter().enumerate() {
                assert_eq!(counter.index(), position, "{counter:?}");
                assert_eq!(counter.kind(), *kind);
            }
        }
    }

    #[test]
    fn an_entity_reads_back_as_it_was_written() {
        let note: Entity = "note_42".parse().unwrap();
        assert_eq!(note.to_string(), "note_42");
        for bad in ["note", "note_", "note_0", "cat_1", "note_1x", "note:42"] {
            assert!(bad.parse::<Entity>().is_err(), "{bad}");
        }
    }
}
