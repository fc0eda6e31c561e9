//! Kinds of inbox entries, and which badge counts them.

use super::{Counter, EdgeKind};

/// Why a user has an inbox entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum InboxKind {
    /// An edge was switched on.
    Edge(EdgeKind),
    Comment,
    Reply,
    Mention,
    Message,
}

impl InboxKind {
    pub fn all() -> impl Iterator<Item = Self> {
        let edges = EdgeKind::ALL.iter().filter(|kind| kind.notifies().is_some());
        edges.map(|kind| Self::Edge(*kind)).chain([Self::Comment, Self::Reply, Self::Mention, Self::Message])
    }

    /// The number in the column `kind` of `inbox_entry`, which never changes, and the name.
    const fn stored(self) -> (i16, &'static str) {
        match self {
            Self::Edge(kind) => (kind.number(), kind.name()),
            Self::Comment => (101, "comment"),
            Self::Reply => (102, "reply"),
            Self::Mention => (103, "mention"),
            Self::Message => (104, "message"),
        }
    }

    pub const fn number(self) -> i16 {
        self.stored().0
    }

    pub const fn name(self) -> &'static str {
        self.stored().1
    }

    /// The name in events, for clients.
    pub const fn event_name(self) -> &'static str {
        match self {
            Self::Edge(EdgeKind::NoteLike) => "NOTE_LIKED",
            Self::Edge(EdgeKind::CommentLike) => "COMMENT_LIKED",
            Self::Edge(EdgeKind::Follow) => "FOLLOWED",
            Self::Edge(EdgeKind::NoteCollect) => "NOTE_COLLECTED",
            Self::Edge(EdgeKind::GroupJoin) => "GROUP_JOINED",
            Self::Comment => "NOTE_COMMENTED",
            Self::Reply => "COMMENT_ANSWERED",
            Self::Mention => "MENTIONED",
            Self::Message => "MESSAGE_RECEIVED",
        }
    }

    /// The kind with this number; `None` for one of a later release.
    pub fn from_number(number: i16) -> Option<Self> {
        Self::all().find(|kind| kind.number() == number)
    }

    /// The badge that counts its events. `None` for an edge that notifies nobody.
    pub fn badge(self) -> Option<Counter> {
        match self {
            Self::Edge(kind) => kind.notifies().map(|(_, badge)| badge),
            Self::Comment | Self::Reply | Self::Mention => Some(Counter::InboxReplies),
            Self::Message => Some(Counter::InboxMessages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_kinds_are_unique_and_never_change() {
        let expected = [
            (1, "note_like"),
            (2, "comment_like"),
            (3, "follow"),
            (4, "note_collect"),
            (5, "group_join"),
            (101, "comment"),
            (102, "reply"),
            (103, "mention"),
            (104, "message"),
        ];
        let edges = EdgeKind::ALL.iter().map(|kind| InboxKind::Edge(*kind));
        let others = InboxKind::all().filter(|kind| !matches!(kind, InboxKind::Edge(_)));
        assert_eq!(edges.chain(others).map(InboxKind::stored).collect::<Vec<_>>(), expected);
    }
}
