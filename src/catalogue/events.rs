//! Kinds of events in the stream that services read.

use super::{EdgeKind, EntityKind, InboxKind};

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// An edge was switched on, or off.
    Edge(EdgeKind, bool),
    /// An inbox got an entry, or an entry new events.
    Notice(InboxKind),
    /// A comment is seen by everybody for the first time.
    CommentApproval,
    /// A note, comment or group was removed.
    Removal(EntityKind),
    /// A user was erased.
    Erasure,
}

/// Added to the number of an [`InboxKind`], whose edges have events of their own.
const NOTICE: i16 = 200;

const REMOVALS: [(i16, EntityKind); 3] =
    [(112, EntityKind::Note), (113, EntityKind::Comment), (114, EntityKind::Group)];

impl EventKind {
    /// The name of kinds of a later release.
    pub const UNKNOWN: &'static str = "UNKNOWN";

    /// The name for clients: the same of all kinds of targets.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Edge(EdgeKind::NoteLike | EdgeKind::CommentLike, true) => "LIKED",
            Self::Edge(EdgeKind::NoteLike | EdgeKind::CommentLike, false) => "UNLIKED",
            Self::Edge(EdgeKind::Follow, true) => "FOLLOWED",
            Self::Edge(EdgeKind::Follow, false) => "UNFOLLOWED",
            Self::Edge(EdgeKind::NoteCollect, true) => "COLLECTED",
            Self::Edge(EdgeKind::NoteCollect, false) => "UNCOLLECTED",
            Self::Edge(EdgeKind::GroupJoin, true) => "JOINED",
            Self::Edge(EdgeKind::GroupJoin, false) => "LEFT",
            Self::CommentApproval => "COMMENTED",
            Self::Removal(_) => "REMOVED",
            Self::Erasure => "ERASED",
            Self::Notice(_) => "NOTIFIED",
        }
    }

    /// Every kind; edges as switched on.
    pub fn all() -> impl Iterator<Item = Self> {
        let edges = EdgeKind::ALL.iter().map(|kind| Self::Edge(*kind, true));
        let removals = REMOVALS.iter().map(|(_, of)| Self::Removal(*of));
        edges
            .chain([Self::CommentApproval])
            .chain(removals)
            .chain([Self::Erasure])
            .chain(InboxKind::all().map(Self::Notice))
    }

    /// The number in the column `kind` of `event`, which never changes.
    pub fn number(self) -> i16 {
        match self {
            Self::Edge(kind, _) => kind.number(),
            Self::Notice(kind) => NOTICE + kind.number(),
            Self::CommentApproval => 111,
            Self::Removal(of) => REMOVALS.iter().find(|known| known.1 == of).map_or(0, |known| known.0),
            Self::Erasure => 115,
        }
    }

    /// Whether an edge was switched on.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::Edge(_, true))
    }

    /// The kind with this number; `None` for one of a later release.
    pub fn from_stored(number: i16, is_on: bool) -> Option<Self> {
        let found = Self::all().find(|kind| kind.number() == number)?;
        Some(if let Self::Edge(kind, _) = found { Self::Edge(kind, is_on) } else { found })
    }

    /// The kind of its targets.
    pub const fn target(self) -> EntityKind {
        match self {
            Self::Edge(kind, _) | Self::Notice(InboxKind::Edge(kind)) => kind.target(),
            Self::Notice(InboxKind::Message) | Self::Erasure => EntityKind::User,
            Self::Notice(InboxKind::Comment | InboxKind::Reply | InboxKind::Mention)
            | Self::CommentApproval => EntityKind::Comment,
            Self::Removal(of) => of,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_kinds_never_change_and_read_back() {
        let numbers: Vec<i16> = EventKind::all().map(EventKind::number).collect();
        assert_eq!(
            numbers,
            [1, 2, 3, 4, 5, 111, 112, 113, 114, 115, 201, 202, 203, 301, 302, 303, 304],
            "they are in migrations/0009_events.sql, too"
        );
        for kind in EventKind::all() {
            assert_eq!(EventKind::from_stored(kind.number(), true), Some(kind));
        }
        let off = EventKind::Edge(EdgeKind::Follow, false);
        assert_eq!(EventKind::from_stored(off.number(), false), Some(off));
        assert_eq!(EventKind::from_stored(999, true), None);
    }
}
