//! Lines of an import: what they say, and what they name.

use plaudit_catalogue::{Counter, EdgeKind, EntityKind, UnixMillis};
use plaudit_domain::Score;

/// Why a line is rejected, in words for the person who writes the file.
pub type Reason = String;

/// One line.
#[derive(Clone, PartialEq, Debug)]
pub enum Line {
    User(UserLine),
    Group(GroupLine),
    Note(NoteLine),
    Comment(CommentLine),
    Edge(EdgeLine),
    Rating(RatingLine),
    Carried(CarriedLine),
}

#[derive(Clone, PartialEq, Debug)]
pub struct UserLine {
    pub subject: String,
    pub name: String,
    pub avatar_url: Option<String>,
    /// `None`: now.
    pub at: Option<UnixMillis>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct GroupLine {
    pub key: String,
    pub owner: String,
    pub name: String,
    pub description: String,
    pub at: UnixMillis,
}

#[derive(Clone, PartialEq, Debug)]
pub struct NoteLine {
    pub key: String,
    pub author: String,
    pub group: Option<String>,
    /// The app's page about it.
    pub url: Option<String>,
    pub title: String,
    pub body: String,
    pub at: UnixMillis,
    /// When it was featured in its group.
    pub featured_at: Option<UnixMillis>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct CommentLine {
    pub key: String,
    pub note: String,
    pub author: String,
    /// Key of the comment that it answers.
    pub reply_to: Option<String>,
    pub body: String,
    pub images: Vec<String>,
    pub at: UnixMillis,
}

#[derive(Clone, PartialEq, Debug)]
pub struct EdgeLine {
    pub kind: EdgeKind,
    pub user: String,
    /// The key of the target; a user's subject.
    pub target: String,
    pub on: bool,
    pub at: UnixMillis,
}

#[derive(Clone, PartialEq, Debug)]
pub struct RatingLine {
    pub user: String,
    pub note: String,
    pub score: Score,
    pub at: UnixMillis,
}

/// What a total includes that has no rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CarriedLine {
    pub counter: Counter,
    /// The key of the note, or the subject of the user, by the kind of the counter.
    pub of: String,
    pub value: i64,
    /// The installation whose total it is. There it sets nothing: the total has it already.
    pub from: Option<String>,
}

impl Line {
    /// As its field `type`.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Group(_) => "group",
            Self::Note(_) => "note",
            Self::Comment(_) => "comment",
            Self::Rating(_) => "rating",
            Self::Carried(_) => "carried",
            Self::Edge(line) => match line.kind {
                EdgeKind::NoteLike | EdgeKind::CommentLike => "like",
                EdgeKind::NoteCollect => "collect",
                EdgeKind::Follow => "follow",
                EdgeKind::GroupJoin => "join",
            },
        }
    }

    /// The subjects that it names.
    pub fn subjects(&self) -> impl Iterator<Item = &str> {
        let (one, other) = match self {
            Self::User(line) => (Some(line.subject.as_str()), None),
            Self::Group(line) => (Some(line.owner.as_str()), None),
            Self::Note(line) => (Some(line.author.as_str()), None),
            Self::Comment(line) => (Some(line.author.as_str()), None),
            Self::Rating(line) => (Some(line.user.as_str()), None),
            Self::Edge(line) => {
                (Some(line.user.as_str()), (line.kind == EdgeKind::Follow).then_some(line.target.as_str()))
            }
            Self::Carried(line) => {
                ((line.counter.kind() == EntityKind::User).then_some(line.of.as_str()), None)
            }
        };
        [one, other].into_iter().flatten()
    }

    pub fn group_keys(&self) -> impl Iterator<Item = &str> {
        let key = match self {
            Self::Group(line) => Some(line.key.as_str()),
            Self::Note(line) => line.group.as_deref(),
            Self::Edge(line) if line.kind == EdgeKind::GroupJoin => Some(line.target.as_str()),
            _ => None,
        };
        key.into_iter()
    }

    pub fn note_keys(&self) -> impl Iterator<Item = &str> {
        let key = match self {
            Self::Note(line) => Some(line.key.as_str()),
            Self::Comment(line) => Some(line.note.as_str()),
            Self::Rating(line) => Some(line.note.as_str()),
            Self::Carried(line) if line.counter.kind() == EntityKind::Note => Some(line.of.as_str()),
            Self::Edge(line) if matches!(line.kind, EdgeKind::NoteLike | EdgeKind::NoteCollect) => {
                Some(line.target.as_str())
            }
            _ => None,
        };
        key.into_iter()
    }

    pub fn comment_keys(&self) -> impl Iterator<Item = &str> {
        let (one, other) = match self {
            Self::Comment(line) => (Some(line.key.as_str()), line.reply_to.as_deref()),
            Self::Edge(line) if line.kind == EdgeKind::CommentLike => (Some(line.target.as_str()), None),
            _ => (None, None),
        };
        [one, other].into_iter().flatten()
    }

    pub const fn carried(&self) -> Option<&CarriedLine> {
        match self {
            Self::Carried(line) => Some(line),
            _ => None,
        }
    }

    /// When it happened; `None` for a user without a time, and for a carried number.
    pub const fn at(&self) -> Option<UnixMillis> {
        match self {
            Self::User(line) => line.at,
            Self::Carried(_) => None,
            Self::Group(GroupLine { at, .. })
            | Self::Note(NoteLine { at, .. })
            | Self::Comment(CommentLine { at, .. })
            | Self::Edge(EdgeLine { at, .. })
            | Self::Rating(RatingLine { at, .. }) => Some(*at),
        }
    }

    /// Time of what may be in the log of events, too.
    pub const fn edge_time(&self) -> Option<UnixMillis> {
        match self {
            Self::Edge(line) => Some(line.at),
            _ => None,
        }
    }
}
