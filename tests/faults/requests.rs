//! The mutations of each action.

use plaudit_catalogue::{EdgeKind, EntityKind};
use plaudit_domain::Badge;
use serde_json::{Value, json};

use crate::{
    done::FIRST_WORDS,
    watching::WatchedType,
    world::{Act, Acted, edited_body, upserted_key},
};

/// Who sends a mutation.
pub enum By {
    Actor,
    Service,
    Moderator,
}

/// A mutation, and the fields of its payload that say what it has done.
pub struct Request {
    pub by: By,
    pub mutation: &'static str,
    pub input: Value,
    pub fields: String,
}

/// The first mutation of an action.
pub fn request(actor: i64, act: Act) -> Request {
    let by_actor =
        |mutation, input, field: &str| Request { by: By::Actor, mutation, input, fields: field.into() };
    let by_moderator =
        |mutation, input| Request { by: By::Moderator, mutation, input, fields: "changed".into() };
    let user = |id: i64| json!({ "userId": format!("user_{id}") });
    let note = |id: i64| json!({ "noteId": format!("note_{id}") });
    match act {
        Act::Flip { kind, target, on } => {
            let (turn_on, turn_off, argument, target_kind, _) = edge_names(kind);
            let input = json!({ argument: format!("{target_kind}_{}", target.id) });
            let (counts, of_user) =
                (WatchedType::of(kind.target()).fields(), WatchedType::of(EntityKind::User).fields());
            // Everything whose counts move.
            let fields = match kind.target() {
                EntityKind::Note | EntityKind::Comment => {
                    let (counts, _) = counts.rsplit_once('}').unwrap();
                    format!("changed {target_kind} {counts} author {of_user} }}")
                }
                _ => format!("changed {target_kind} {counts} viewer {{ user {of_user} }}"),
            };
            by_actor(if on { turn_on } else { turn_off }, input, &fields)
        }
        Act::Grant { user: id, amount } => {
            let input = json!({ "userId": format!("user_{id}"), "amount": amount, "reason": "A test" });
            Request { by: By::Service, mutation: "grantCoins", input, fields: "__typename".into() }
        }
        Act::Hide { user: id, hidden } => {
            by_moderator(if hidden { "hideUser" } else { "restoreUser" }, user(id))
        }
        Act::Erase { user: id } => by_moderator("eraseUser", user(id)),
        Act::Rate { note: id, score: Some(score) } => {
            by_actor("rateNote", json!({ "noteId": format!("note_{id}"), "score": score }), "changed")
        }
        Act::Rate { note: id, score: None } => by_actor("unrateNote", note(id), "changed"),
        Act::Comment { note: id } => {
            let input = json!({ "noteId": format!("note_{id}"), "body": FIRST_WORDS });
            by_actor("addComment", input, "comment { id }")
        }
        Act::Uncomment { comment } => {
            by_actor("deleteComment", json!({ "commentId": format!("comment_{comment}") }), "changed")
        }
        Act::EditComment { comment, number } => {
            let input = json!({ "commentId": format!("comment_{comment}"), "body": edited_body(number) });
            by_actor("updateComment", input, "changed")
        }
        Act::Edit { note: id, number } => {
            let input = json!({ "noteId": format!("note_{id}"), "body": edited_body(number) });
            by_actor("updateNote", input, "changed")
        }
        Act::Post => by_actor("createNote", json!({}), "note { id }"),
        Act::Unpost { note: id } => by_actor("deleteNote", note(id), "changed"),
        Act::Found => by_actor("createGroup", json!({ "name": "A group" }), "group { id }"),
        Act::Disband { group } => {
            by_actor("deleteGroup", json!({ "groupId": format!("group_{group}") }), "changed")
        }
        Act::View { note: id } => {
            by_actor("recordViews", json!({ "noteIds": [format!("note_{id}")] }), "__typename")
        }
        Act::Report { note: id } => {
            let input = json!({ "noteId": format!("note_{id}"), "reason": "SPAM" });
            by_actor("reportNote", input, "changed")
        }
        Act::Upsert { number } => {
            let note = |number| {
                let author = format!("user_{actor}");
                json!({ "key": upserted_key(actor, number), "authorId": author, "body": edited_body(number) })
            };
            let input = json!({ "notes": [note(number), note(number + 1)] });
            let fields = "changed results { error { message } }".into();
            Request { by: By::Service, mutation: "upsertNotes", input, fields }
        }
        Act::ReadInbox => {
            let badges = Badge::ALL.map(|badge| format!("{badge:?}").to_uppercase());
            by_actor("markInboxRead", json!({ "badges": badges }), "changed")
        }
        Act::Suspend { user: id, until } => by_moderator(
            "suspendUser",
            json!({ "userId": format!("user_{id}"), "until": until.to_rfc3339() }),
        ),
    }
}

/// What completes an action: the approval of a text, the membership in a new group, or the end of a suspension.
pub fn second_request(act: Act, acted: Acted) -> Option<Request> {
    let (by, mutation, input) = match act {
        Act::Comment { .. } | Act::EditComment { .. } => {
            let comment = if let Act::EditComment { comment, .. } = act { comment } else { acted.created? };
            (
                By::Moderator,
                "decide",
                json!({ "aboutId": format!("comment_{comment}"), "decision": "APPROVE" }),
            )
        }
        Act::Suspend { user, .. } => {
            (By::Moderator, "unsuspendUser", json!({ "userId": format!("user_{user}") }))
        }
        Act::Found => (By::Actor, "joinGroup", json!({ "groupId": format!("group_{}", acted.created?) })),
        _ => return None,
    };
    Some(Request { by, mutation, input, fields: "changed".into() })
}

/// Mutations that switch the edge on and off, their argument, the prefix of target ids, and the viewer's field.
pub const fn edge_names(
    kind: EdgeKind,
) -> (&'static str, &'static str, &'static str, &'static str, &'static str) {
    match kind {
        EdgeKind::NoteLike => ("likeNote", "unlikeNote", "noteId", "note", "viewerHasLiked"),
        EdgeKind::NoteCollect => ("collectNote", "uncollectNote", "noteId", "note", "viewerHasCollected"),
        EdgeKind::CommentLike => ("likeComment", "unlikeComment", "commentId", "comment", "viewerHasLiked"),
        EdgeKind::Follow => ("follow", "unfollow", "userId", "user", "viewerIsFollowing"),
        EdgeKind::GroupJoin => ("joinGroup", "leaveGroup", "groupId", "group", "viewerIsMember"),
    }
}
