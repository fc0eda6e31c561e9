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
    /// Title and body are empty if the line leaves them out.
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

    /// The user, group, note or comment that it is about, by kind and name.
    pub fn thing(&self) -> Option<(EntityKind, &str)> {
        match self {
            Self::User(line) => Some((EntityKind::User, &line.subject)),
            Self::Group(line) => Some((EntityKind::Group, &line.key)),
            Self::Note(line) => Some((EntityKind::Note, &line.key)),
            Self::Comment(line) => Some((EntityKind::Comment, &line.key)),
            _ => None,
        }
    }

    /// All things that it names, by kind and name: the one that it is about, and those that it refers to.
    pub fn names(&self) -> impl Iterator<Item = (EntityKind, &str)> {
        use EntityKind::{Comment, Group, Note, User};
        let (first, second, third) = match self {
            Self::User(_) => (None, None, None),
            Self::Group(line) => (Some((User, &line.owner)), None, None),
            Self::Note(line) => {
                (Some((User, &line.author)), line.group.as_ref().map(|group| (Group, group)), None)
            }
            Self::Comment(line) => {
                let answered = line.reply_to.as_ref().map(|answered| (Comment, answered));
                (Some((User, &line.author)), Some((Note, &line.note)), answered)
            }
            Self::Edge(line) => (Some((User, &line.user)), Some((line.kind.target(), &line.target)), None),
            Self::Rating(line) => (Some((User, &line.user)), Some((Note, &line.note)), None),
            Self::Carried(line) => (Some((line.counter.kind(), &line.of)), None, None),
        };
        let referred = [first, second, third].into_iter().flatten();
        self.thing().into_iter().chain(referred.map(|(kind, name)| (kind, name.as_str())))
    }

    /// The names of a kind among these.
    pub fn names_of(&self, kind: EntityKind) -> impl Iterator<Item = &str> {
        self.names().filter(move |(of, _)| *of == kind).map(|(_, name)| name)
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
