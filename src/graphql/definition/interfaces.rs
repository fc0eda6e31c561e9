//! Interfaces: what several types of objects have in common.

/// An interface. Its fields have the same arguments and types as in the objects that implement it.
pub struct InterfaceType {
    pub name: &'static str,
    pub description: &'static str,
    pub fields: &'static [&'static str],
}

pub const NODE: &str = "Node";
pub const COUNTED: &str = "Counted";
pub const LIKEABLE: &str = "Likeable";
pub const COLLECTABLE: &str = "Collectable";

const PAGE: &[&str] = &["nodes", "pageInfo"];

/// Connections of the same nodes, whose edges differ.
pub const NOTE_LIST: &str = "NoteList";
pub const USER_LIST: &str = "UserList";
pub const COMMENT_LIST: &str = "CommentList";
pub const GROUP_LIST: &str = "GroupList";

pub const INTERFACES: [InterfaceType; 8] = [
    InterfaceType { name: NODE, description: "Anything that has a global id.", fields: &["id"] },
    InterfaceType {
        name: COUNTED,
        description: "Anything that has counts. All counts of one object are from the same moment.",
        fields: &["countsVersion"],
    },
    InterfaceType {
        name: LIKEABLE,
        description: "Anything that users like.",
        fields: &["likeCount", "viewerHasLiked", "likers"],
    },
    InterfaceType {
        name: COLLECTABLE,
        description: "Anything that users collect.",
        fields: &["collectCount", "viewerHasCollected"],
    },
    InterfaceType { name: NOTE_LIST, description: "A page of any list of notes.", fields: PAGE },
    InterfaceType { name: USER_LIST, description: "A page of any list of users.", fields: PAGE },
    InterfaceType { name: GROUP_LIST, description: "A page of any list of groups.", fields: PAGE },
    InterfaceType { name: COMMENT_LIST, description: "A page of any list of comments.", fields: PAGE },
];
