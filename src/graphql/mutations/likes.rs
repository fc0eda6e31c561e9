//! Likes of notes and comments.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::ApiResult,
    request::access::Who,
};
use plaudit_domain::edges::likes;

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "likeNote",
        permission: Permission::Write(Who::SignedIn),
        description: "Likes a note. Liking it again changes nothing.",
        input: &[("noteId: ID!", "The note to like.")],
        unchanged: Some("False when you liked it already."),
        payload: &[("note: Note!", "The note, with its new counts.")],
        act: |call| set_note_like(call, true).boxed(),
    },
    Mutation {
        name: "unlikeNote",
        permission: Permission::Write(Who::SignedIn),
        description: "Takes the like of a note back.",
        input: &[("noteId: ID!", "The note whose like is taken back.")],
        unchanged: Some("False when you did not like it."),
        payload: &[("note: Note!", "The note, with its new counts.")],
        act: |call| set_note_like(call, false).boxed(),
    },
    Mutation {
        name: "likeComment",
        permission: Permission::Write(Who::SignedIn),
        description: "Likes a comment. Liking it again changes nothing.",
        input: &[("commentId: ID!", "The comment to like.")],
        unchanged: Some("False when you liked it already."),
        payload: &[("comment: Comment!", "The comment, with its new counts.")],
        act: |call| set_comment_like(call, true).boxed(),
    },
    Mutation {
        name: "unlikeComment",
        permission: Permission::Write(Who::SignedIn),
        description: "Takes the like of a comment back.",
        input: &[("commentId: ID!", "The comment whose like is taken back.")],
        unchanged: Some("False when you did not like it."),
        payload: &[("comment: Comment!", "The comment, with its new counts.")],
        act: |call| set_comment_like(call, false).boxed(),
    },
];

async fn set_note_like(call: Call<'_>, on: bool) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let note = action.input.id("noteId")?;
    let (note, switched) = likes::set_note_like(action.plaudit(), note, action.switching(on).await?).await?;
    Ok(action.switched(switched, [("note", note.into())]))
}

async fn set_comment_like(call: Call<'_>, on: bool) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let comment = action.input.id("commentId")?;
    let (comment, switched) =
        likes::set_comment_like(action.plaudit(), comment, action.switching(on).await?).await?;
    Ok(action.switched(switched, [("comment", comment.into())]))
}
