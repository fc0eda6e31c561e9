//! Edges: relations that are on or off, and what a flip of one moves.

use super::{Counter, Entity, EntityKind};
use crate::primitives::{Id, UserId};

/// Milliseconds since 1970-01-01 00:00 UTC.
pub type UnixMillis = i64;

/// A relation between a user and a target. Unique per (actor, kind, target).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// A user likes a note.
    NoteLike,
    /// A user likes a comment.
    CommentLike,
    /// A user follows a user.
    Follow,
}

/// Whose counter an edge moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Party {
    /// Who acts.
    Actor,
    /// What it is done to.
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

const fn moves(party: Party, counter: Counter) -> Move {
    Move { party, counter }
}

impl EdgeKind {
    pub const ALL: &'static [Self] = &[Self::NoteLike, Self::CommentLike, Self::Follow];

    /// As written in the log and in keys; also the name of its table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoteLike => "note_like",
            Self::CommentLike => "comment_like",
            Self::Follow => "follow",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// What the edge points at.
    pub const fn target(self) -> EntityKind {
        match self {
            Self::NoteLike => EntityKind::Note,
            Self::CommentLike => EntityKind::Comment,
            Self::Follow => EntityKind::User,
        }
    }

    /// The counters that it moves.
    pub const fn moves(self) -> &'static [Move] {
        const NOTE_LIKE: &[Move] =
            &[moves(Party::Target, Counter::NoteLikes), moves(Party::Owner, Counter::UserLikesReceived)];
        const COMMENT_LIKE: &[Move] = &[moves(Party::Target, Counter::CommentLikes)];
        const FOLLOW: &[Move] =
            &[moves(Party::Actor, Counter::UserFollowing), moves(Party::Target, Counter::UserFollowers)];
        match self {
            Self::NoteLike => NOTE_LIKE,
            Self::CommentLike => COMMENT_LIKE,
            Self::Follow => FOLLOW,
        }
    }

    /// The inbox counter that rises at the first switch-on ever, and whose inbox it is.
    pub const fn notifies(self) -> Option<(Party, Counter)> {
        match self {
            Self::NoteLike | Self::CommentLike => Some((Party::Owner, Counter::InboxLikes)),
            Self::Follow => Some((Party::Target, Counter::InboxNewFollowers)),
        }
    }

    /// The target's own counter, whose running total the history keeps.
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

    /// Every counter that the flip moves, with its entity and the difference.
    pub fn deltas(&self) -> impl Iterator<Item = (Entity, Counter, i64)> + '_ {
        self.kind.moves().iter().map(|m| {
            let entity = Entity::new(m.counter.kind(), self.party(m.party));
            (entity, m.counter, self.sign())
        })
    }

    /// Whose inbox counter rises if this is the first switch-on ever. Nobody is told of their own deeds.
    pub fn notifies(&self) -> Option<(UserId, Counter)> {
        let (party, counter) = self.kind.notifies()?;
        let recipient = self.party(party);
        (recipient != self.actor.0).then_some((UserId(recipient), counter))
    }
}
