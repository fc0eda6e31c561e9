//! Approving and rejecting notes and comments.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::ApiResult,
    request::access::Who,
};
use plaudit_catalogue::primitives::{CommentId, NoteId};
use plaudit_domain::{REJECTION_REASON, Text, moderation::texts};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "approveComment",
        permission: Permission::Write(Who::Moderator),
        description: "Approves a comment that waits: everybody sees it. For moderators.",
        input: &[("commentId: ID!", "The comment to approve.")],
        unchanged: Some("False when it was approved already."),
        payload: &[("comment: Comment!", "The comment.")],
        act: |call| approve(call).boxed(),
    },
    Mutation {
        name: "rejectComment",
        permission: Permission::Write(Who::Moderator),
        description: "Rejects a comment that waits: only its author and moderators see it. For moderators.",
        input: &[
            ("commentId: ID!", "The comment to reject."),
            ("reason: String!", "Why, for its author: 1 to 200 characters."),
        ],
        unchanged: Some("False when it was rejected already."),
        payload: &[("comment: Comment!", "The comment.")],
        act: |call| reject(call).boxed(),
    },
    Mutation {
        name: "approveNote",
        permission: Permission::Write(Who::Moderator),
        description: "Approves a note that waits: everybody sees it. Of a note with `pendingEdit` it approves the edit. For moderators.",
        input: &[("noteId: ID!", "The note to approve.")],
        unchanged: Some("False when it was approved already."),
        payload: &[("note: Note!", "The note.")],
        act: |call| approve_note(call).boxed(),
    },
    Mutation {
        name: "rejectNote",
        permission: Permission::Write(Who::Moderator),
        description: "Rejects a note that waits: only its author and moderators see it. Of a note with `pendingEdit` it rejects the edit. For moderators.",
        input: &[
            ("noteId: ID!", "The note to reject."),
            ("reason: String!", "Why, for its author: 1 to 200 characters."),
        ],
        unchanged: Some("False when it was rejected already."),
        payload: &[("note: Note!", "The note.")],
        act: |call| reject_note(call).boxed(),
    },
];

/// The reason that is recorded with an approval.
const BY_A_PERSON: &str = "approved by a person";

async fn approve(call: Call<'_>) -> ApiResult<Output> {
    decide(&Action::begin(call)?, true, BY_A_PERSON).await
}

async fn reject(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let reason = reason(&action)?;
    decide(&action, false, reason.as_str()).await
}

async fn decide(action: &Action<'_>, approve: bool, reason: &str) -> ApiResult<Output> {
    let comment: CommentId = action.input.id("commentId")?;
    let moderator = action.actor().await?;
    let (comment, changed) =
        texts::decide_comment(action.plaudit(), moderator, comment, approve, reason, action.key()).await?;
    Ok(payload(changed, [("comment", comment.into())]))
}

async fn approve_note(call: Call<'_>) -> ApiResult<Output> {
    decide_note(&Action::begin(call)?, true, BY_A_PERSON).await
}

async fn reject_note(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let reason = reason(&action)?;
    decide_note(&action, false, reason.as_str()).await
}

async fn decide_note(action: &Action<'_>, approve: bool, reason: &str) -> ApiResult<Output> {
    let note: NoteId = action.input.id("noteId")?;
    let moderator = action.actor().await?;
    let (note, changed) =
        texts::decide_note(action.plaudit(), moderator, note, approve, reason, action.key()).await?;
    Ok(payload(changed, [("note", note.into())]))
}

fn reason(action: &Action<'_>) -> ApiResult<Text> {
    Ok(Text::parse(&action.input.text("reason").unwrap_or_default(), &REJECTION_REASON)?)
}
