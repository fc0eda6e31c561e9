//! What users have done in a schedule, according to the replies, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use plaudit_catalogue::{Counter, EdgeKind, Entity, EntityKind};

use crate::world::{Act, Acted, World, edited_body, entity};

/// One edge: kind, actor, target.
pub type Pair = (EdgeKind, i64, i64);

/// The text of a new comment.
pub const FIRST_WORDS: &str = "Words";

/// Acknowledged actions.
#[derive(Default, Debug)]
pub struct Done {
    /// Last state of each edge.
    pub edges: BTreeMap<Pair, bool>,
    pub coins: BTreeMap<i64, i64>,
    /// The score by user and note.
    pub ratings: BTreeMap<(i64, i64), i32>,
    /// The author and note of each comment that was not removed.
    pub comments: BTreeMap<i64, (i64, i64)>,
    /// The author of each note that was posted and not removed.
    pub posts: BTreeMap<i64, i64>,
    /// The groups that were founded and not disbanded.
    pub groups: BTreeSet<i64>,
    /// The last body of each edited note.
    pub bodies: BTreeMap<i64, String>,
    /// The last body of each comment.
    pub words: BTreeMap<i64, String>,
    /// Each time an edge was switched, and to what.
    pub flips: BTreeMap<Pair, Vec<bool>>,
    /// Every comment, with its author.
    pub commented: BTreeMap<i64, i64>,
    /// What was removed by its owner.
    pub removed: BTreeSet<Entity>,
    /// Who has reported which note.
    pub reports: BTreeSet<(i64, i64)>,
    /// The notes that a service has written by key: author and number.
    pub upserts: BTreeSet<(i64, u32)>,
    /// Users who had something unread and have marked it as read.
    pub readers: BTreeSet<i64>,
    /// Views of each note. A killed process loses its last ones.
    pub views: BTreeMap<i64, i64>,
}

impl Done {
    /// Adds an acknowledged action of a user.
    pub fn note(&mut self, me: i64, act: Act, acted: Acted) {
        match act {
            Act::Flip { kind, target, on } => {
                let was_on = self.edges.insert((kind, me, target.id), on).unwrap_or(false);
                if was_on != on {
                    self.flips.entry((kind, me, target.id)).or_default().push(on);
                }
            }
            Act::Grant { user, amount } => *self.coins.entry(user).or_default() += amount,
            Act::Hide { .. } | Act::Suspend { .. } => {}
            Act::Erase { user } => self.forget(user),
            Act::Rate { note, score: Some(score) } => drop(self.ratings.insert((me, note), score)),
            Act::Rate { note, score: None } => drop(self.ratings.remove(&(me, note))),
            Act::Comment { note } => {
                self.comments.insert(acted.created.unwrap(), (me, note));
                self.commented.insert(acted.created.unwrap(), me);
                self.words.insert(acted.created.unwrap(), FIRST_WORDS.into());
            }
            Act::Uncomment { comment } => {
                self.removed.insert(entity(EntityKind::Comment, comment));
                self.comments.remove(&comment);
                self.words.remove(&comment);
            }
            Act::EditComment { comment, number } => drop(self.words.insert(comment, edited_body(number))),
            Act::Edit { note, number } => drop(self.bodies.insert(note, edited_body(number))),
            Act::Post => drop(self.posts.insert(acted.created.unwrap(), me)),
            Act::Unpost { note } => {
                self.removed.insert(entity(EntityKind::Note, note));
                self.posts.remove(&note);
            }
            Act::Found => {
                let group = acted.created.unwrap();
                self.groups.insert(group);
                self.edges.insert((EdgeKind::GroupJoin, me, group), true);
            }
            Act::Disband { group } => {
                self.removed.insert(entity(EntityKind::Group, group));
                self.groups.remove(&group);
                self.edges.remove(&(EdgeKind::GroupJoin, me, group));
            }
            Act::View { note } => *self.views.entry(note).or_default() += 1,
            Act::Report { note } => drop(self.reports.insert((me, note))),
            Act::Upsert { number } => self.upserts.extend([(me, number), (me, number + 1)]),
            Act::ReadInbox => self.readers.extend(acted.changed.then_some(me)),
        }
    }

    /// Adds the actions of another user. Users share no edge.
    pub fn add(&mut self, other: Self) {
        self.edges.extend(other.edges);
        self.flips.extend(other.flips);
        self.commented.extend(other.commented);
        self.removed.extend(other.removed);
        self.ratings.extend(other.ratings);
        self.comments.extend(other.comments);
        self.posts.extend(other.posts);
        self.groups.extend(other.groups);
        self.bodies.extend(other.bodies);
        self.reports.extend(other.reports);
        self.upserts.extend(other.upserts);
        self.readers.extend(other.readers);
        self.words.extend(other.words);
        for (user, coins) in other.coins {
            *self.coins.entry(user).or_default() += coins;
        }
        for (note, views) in other.views {
            *self.views.entry(note).or_default() += views;
        }
    }

    /// Removes all that an erased user did, and that others did to the user.
    fn forget(&mut self, user: i64) {
        self.edges.retain(|(kind, actor, target), _| {
            *actor != user && !(kind.target() == EntityKind::User && *target == user)
        });
        self.coins.remove(&user);
        self.ratings.retain(|(by, _), _| *by != user);
        self.comments.retain(|_, (author, _)| *author != user);
        self.words.retain(|comment, _| self.comments.contains_key(comment));
        self.posts.retain(|_, author| *author != user);
        self.reports.retain(|(by, _)| *by != user);
        self.upserts.retain(|(author, _)| *author != user);
        self.readers.remove(&user);
    }

    pub fn pairs_on(&self) -> BTreeSet<Pair> {
        self.edges.iter().filter(|(_, on)| **on).map(|(pair, _)| *pair).collect()
    }

    /// Expected values of the counters that direct changes move. Nobody is hidden.
    pub fn direct_counts(&self, world: &World) -> BTreeMap<(Entity, Counter), i64> {
        let (user, note) = (|id| entity(EntityKind::User, id), |id| entity(EntityKind::Note, id));
        let mut counts = BTreeMap::new();
        for of in world.entities_in_the_end() {
            let counters: &[Counter] = match of.kind {
                EntityKind::User => &[Counter::UserNotes, Counter::UserComments, Counter::UserCoins],
                EntityKind::Note => &[Counter::NoteComments, Counter::NoteRatings, Counter::NoteRatingSum],
                EntityKind::Comment => &[Counter::CommentReplies],
                EntityKind::Inbox | EntityKind::Group => &[],
            };
            counts.extend(counters.iter().map(|counter| ((of, *counter), 0)));
        }
        let mut add = |of, counter, by| *counts.entry((of, counter)).or_default() += by;
        let upserts = self.upserts.iter().map(|(author, _)| *author);
        let posts = self.posts.values().copied().chain(upserts);
        for author in world.notes.iter().map(|note| note.owner).chain(posts) {
            add(user(author), Counter::UserNotes, 1);
        }
        // The world's first comments are on the notes of the same places.
        let first = world.comments.iter().zip(&world.notes).map(|(comment, note)| (comment.owner, note.id));
        for (author, on) in first.chain(self.comments.values().copied()) {
            add(user(author), Counter::UserComments, 1);
            add(note(on), Counter::NoteComments, 1);
        }
        for ((_, rated), score) in &self.ratings {
            add(note(*rated), Counter::NoteRatings, 1);
            add(note(*rated), Counter::NoteRatingSum, i64::from(*score));
        }
        for (id, coins) in &self.coins {
            add(user(*id), Counter::UserCoins, *coins);
        }
        counts
    }
}

/// Expected values of all counters that edges move, if these edges are on.
pub fn counts_of(world: &World, on: &BTreeSet<Pair>) -> BTreeMap<(Entity, Counter), i64> {
    let mut counts = BTreeMap::new();
    for entity in world.entities_in_the_end() {
        let moved = EdgeKind::ALL.iter().flat_map(|kind| kind.moves()).map(|moved| moved.counter);
        counts.extend(moved.filter(|counter| counter.kind() == entity.kind).map(|counter| {
            let count = (entity, counter);
            (count, world.carried.get(&count).copied().unwrap_or_default())
        }));
    }
    for (kind, actor, target) in on {
        // A group that the actor founded has no counts to compare; the actor's count it.
        for (entity, counter, by) in world.flip(*kind, *actor, *target).deltas() {
            if let Some(count) = counts.get_mut(&(entity, counter)) {
                *count += by;
            }
        }
    }
    counts
}
