//! Edges: relations that are on or off, and the counters that a flip moves.

use super::{Counter, Entity, EntityKind};
use crate::primitives::{Id, UnixMillis, UserId};

/// Whose counter an edge moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Party {
    /// The user who acts.
    Actor,
    /// The target of the action.
    Target,
    /// The author of the target.
    Owner,
}

/// One counter that rises by one when the edge is switched on, and falls by one when off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    pub party: Party,
    pub counter: Counter,
}

/// Declares the edge kinds, a line each: the number in columns; the name in the log, in keys and of the table; what it
/// points at; the counters that it moves, and whose; the badge that counts it when it is switched on, and whose inbox
/// it is.
macro_rules! edges {
    ($($(#[$doc:meta])* $kind:ident $number:literal $name:literal of $target:ident
       moves [$($party:ident $counter:ident),+] $(notifies $recipient:ident $inbox:ident)?;)+) => {
        /// A relation between a user and a target. Unique per (actor, kind, target).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum EdgeKind { $($(#[$doc])* $kind),+ }

        impl EdgeKind {
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// The number in the columns `kind` of `inbox_entry` and `activity`.
            pub const fn number(self) -> i16 {
                match self { $(Self::$kind => $number),+ }
            }

            /// The name in the log and in keys, and of its table.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }

            /// The kind of its targets.
            pub const fn target(self) -> EntityKind {
                match self { $(Self::$kind => EntityKind::$target),+ }
            }

            /// The counters that it moves.
            pub const fn moves(self) -> &'static [Move] {
                match self {
                    $(Self::$kind => &[$(Move { party: Party::$party, counter: Counter::$counter }),+]),+
                }
            }

            /// The badge that counts it when it is switched on, and whose inbox it is.
            pub const fn notifies(self) -> Option<(Party, Counter)> {
                match self { $(Self::$kind => edges!(@notifies $($recipient $inbox)?)),+ }
            }
        }
    };
    (@notifies) => { None };
    (@notifies $recipient:ident $inbox:ident) => { Some((Party::$recipient, Counter::$inbox)) };
}

// Add new kinds at the end: backfills in progress store a kind by its position. Numbers are in stored rows, so they
// never change; edges have numbers below 100.
edges! {
    /// A user likes a note.
    NoteLike 1 "note_like" of Note
        moves [Target NoteLikes, Owner UserLikesReceived] notifies Owner InboxLikes;
    /// A user likes a comment.
    CommentLike 2 "comment_like" of Comment
        moves [Target CommentLikes] notifies Owner InboxLikes;
    /// A user follows a user.
    Follow 3 "follow" of User
        moves [Target UserFollowers, Actor UserFollowing] notifies Target InboxFollowers;
    /// A user keeps a note in their collection.
    NoteCollect 4 "note_collect" of Note
        moves [Target NoteCollects, Owner UserCollectsReceived];
    /// A user is a member of a group.
    GroupJoin 5 "group_join" of Group
        moves [Target GroupMembers, Actor UserGroups];
}

impl EdgeKind {
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether it also counts for its actor. Then the removal of a target excludes each of its edges, page by
    /// page; other edges just stop counting with their target.
    pub fn counts_for_actor(self) -> bool {
        self.moves().iter().any(|m| m.party == Party::Actor)
    }

    /// The target's counter, whose totals are in `activity`.
    pub fn total(self) -> Counter {
        self.moves()
            .iter()
            .find(|m| m.party == Party::Target)
            .map(|m| m.counter)
            .expect("every edge moves a counter of its target")
    }
}

/// An edge was switched on or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flip {
    pub kind: EdgeKind,
    pub actor: UserId,
    pub target: Id,
    /// Author of the target; the target itself when it is a user.
    pub owner: UserId,
    pub on: bool,
    pub at: UnixMillis,
    /// The service that acted for the actor: its user.
    pub by: Option<UserId>,
}

impl Flip {
    pub const fn party(&self, party: Party) -> Id {
        match party {
            Party::Actor => self.actor.0,
            Party::Target => self.target,
            Party::Owner => self.owner.0,
        }
    }

    /// The entity of the target.
    pub const fn target_entity(&self) -> Entity {
        Entity::new(self.kind.target(), self.target)
    }

    /// +1 or -1.
    pub const fn sign(&self) -> i64 {
        if self.on { 1 } else { -1 }
    }

    /// Every counter that the flip moves, with its entity and the change.
    pub fn deltas(&self) -> impl Iterator<Item = (Entity, Counter, i64)> + '_ {
        self.deltas_if(true)
    }

    /// The same; `is_shown`: whether everybody sees the target. If not, it does not count for its owner.
    pub fn deltas_if(&self, is_shown: bool) -> impl Iterator<Item = (Entity, Counter, i64)> + '_ {
        let moves = self.kind.moves().iter().filter(move |m| is_shown || m.party != Party::Owner);
        moves.map(|m| self.delta(m))
    }

    /// The changes of the target's owner.
    pub fn deltas_of_owner(&self) -> impl Iterator<Item = (Entity, Counter, i64)> + '_ {
        self.kind.moves().iter().filter(|m| m.party == Party::Owner).map(|m| self.delta(m))
    }

    const fn delta(&self, m: &Move) -> (Entity, Counter, i64) {
        (Entity::new(m.counter.kind(), self.party(m.party)), m.counter, self.sign())
    }

    /// Whose badge counts it, if it is switched on. `None` if the actor is that user.
    pub fn notifies(&self) -> Option<(UserId, Counter)> {
        let (party, counter) = self.kind.notifies()?;
        let recipient = self.party(party);
        (recipient != self.actor.0).then_some((UserId(recipient), counter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_that_count_for_their_actor_end_with_their_target() {
        let kinds: Vec<EdgeKind> =
            EdgeKind::ALL.iter().copied().filter(|kind| kind.counts_for_actor()).collect();
        let excluded = [EdgeKind::Follow, EdgeKind::GroupJoin];
        assert_eq!(
            kinds, excluded,
            "src/counting/jobs/ must exclude other edges when their target is removed"
        );
    }
}
