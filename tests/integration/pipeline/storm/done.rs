//! What users have done in a storm, according to the replies.

use std::collections::{BTreeMap, BTreeSet};

/// Kinds of edges: mutations that switch one on and off, their argument, and the kind of target.
pub const EDGES: [(&str, &str, &str, &str); 5] = [
    ("likeNote", "unlikeNote", "noteId", "note"),
    ("collectNote", "uncollectNote", "noteId", "note"),
    ("likeComment", "unlikeComment", "commentId", "comment"),
    ("follow", "unfollow", "userId", "user"),
    ("joinGroup", "leaveGroup", "groupId", "group"),
];
/// The places of kinds in [`EDGES`].
pub const LIKE: usize = 0;
pub const COLLECT: usize = 1;
pub const LIKE_COMMENT: usize = 2;
pub const FOLLOW: usize = 3;
pub const JOIN: usize = 4;

/// A note that the user created.
pub struct Post {
    pub group: Option<String>,
    pub body: String,
}

/// A comment that the user wrote.
pub struct Words {
    pub note: String,
    pub parent: Option<String>,
    pub body: String,
    /// The moderator approves its last text.
    pub is_allowed: bool,
}

/// The actions of one user, in sequence.
#[derive(Default)]
pub struct Done {
    /// Last state of each edge, by kind and target, except memberships, which others end, too.
    pub edges: BTreeMap<(usize, String), bool>,
    /// How often the user has joined each group, less how often they have left it.
    pub memberships: BTreeMap<String, i64>,
    /// Memberships that the user has ended as the owner of a group: member and group.
    pub ended: Vec<(String, String)>,
    /// Notes that the user created and did not delete.
    pub notes: BTreeMap<String, Post>,
    /// Comments that the user wrote and did not delete.
    pub comments: BTreeMap<String, Words>,
    /// Notes, comments and groups that the user removed.
    pub removed: BTreeSet<String>,
    /// Own notes that somebody else had removed before.
    pub found_removed: Vec<String>,
    /// Notes that the user took out of their groups.
    pub taken_out: BTreeSet<String>,
    /// Whether the user, as the owner of its group, features a note.
    pub featured: BTreeMap<String, bool>,
    pub viewed: BTreeSet<String>,
    pub ratings: BTreeMap<String, i64>,
    pub name: Option<String>,
    pub group_names: BTreeMap<String, String>,
}

/// What one user did who has this id. A subject whose user was erased comes back as another one.
pub struct Life {
    pub user: String,
    pub done: Done,
}
