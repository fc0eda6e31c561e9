//! Writing, editing and deleting comments.

use futures_util::FutureExt;

use plaudit_token_auth::Role;

use super::action::{APP_KEY, Action, Mutation, Permission, created, payload};
use crate::{
    definition::{
        resolve::Call,
        values::{Object, Output},
    },
    errors::ApiResult,
    request::{access::Who, ids::global_id},
};
use plaudit_catalogue::primitives::{CommentId, NoteId, UserId};
use plaudit_domain::{
    CommentText, Judged, TextEdit,
    content::{comments, edits},
};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "addComment",
        permission: Permission::Create(Who::SignedIn),
        description: "Comments on a note, or replies to a comment. A reply to a reply is listed beside it and names its author. Others see it once it is approved. Send an idempotency key if you may have to retry.",
        input: &[
            ("noteId: ID!", "What it is about."),
            ("replyToId: ID", "The comment to reply to. Omit it to comment on the note itself."),
            ("body: String!", "At most 1024 characters; at least one, unless there are images."),
            ("images: [URL!]", "At most 9 https addresses. They are not fetched."),
            ("mentions: [ID!]", "Users to notify: at most 10."),
            APP_KEY,
        ],
        unchanged: None,
        payload: &[("comment: Comment!", "The new comment: only you see it until it is approved.")],
        act: |call| add_comment(call).boxed(),
    },
    Mutation {
        name: "updateComment",
        permission: Permission::Write(Who::Author),
        description: "Changes parts of your own comment. Others see the new text once it is approved, and of an approved comment the old one until then. A later edit replaces one that waits.",
        input: &[
            ("commentId: ID!", "The comment to edit."),
            (
                "body: String",
                "At most 1024 characters; at least one, unless there are images. Omit it to leave it as it is.",
            ),
            (
                "images: [URL!]",
                "At most 9 https addresses, in place of the earlier ones. Omit it to leave them as they are.",
            ),
            (
                "mentions: [ID!]",
                "At most 10 users, in place of the earlier ones; those who are new are notified once it is approved. Omit it to leave them as they are.",
            ),
        ],
        unchanged: Some("False when the text was the same already."),
        payload: &[("comment: Comment!", "The comment.")],
        act: |call| update_comment(call).boxed(),
    },
    Mutation {
        name: "deleteComment",
        permission: Permission::Write(Who::AuthorOrModerator),
        description: "Removes a comment: your own, or any if you are a moderator. A comment with replies leaves a placeholder.",
        input: &[("commentId: ID!", "The comment to remove.")],
        unchanged: Some("False when it was removed before."),
        payload: &[
            ("deletedCommentId: ID!", "The id of the removed comment, to evict from your cache."),
            ("note: Note", "Its note, with the new counts. Null if the note was removed."),
        ],
        act: |call| delete_comment(call).boxed(),
    },
];

async fn add_comment(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let input = &action.input;
    let note: NoteId = input.id("noteId")?;
    let reply_to: Option<CommentId> = input.optional_id("replyToId")?;
    let mentions: Vec<UserId> = input.ids("mentions")?;
    let images = input.texts("images").into_iter().map(Into::into).collect();
    let text = CommentText::parse(&input.text("body").unwrap_or_default(), images, mentions)?;
    let app_key = action.app_key()?;
    let author = action.actor().await?;
    let (comment, _) = comments::add_comment(
        action.plaudit(),
        author,
        note,
        reply_to,
        app_key.as_ref(),
        &text,
        action.key(),
    )
    .await?;
    Ok(created([("comment", comment.into())]))
}

async fn update_comment(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let input = &action.input;
    let comment: CommentId = input.id("commentId")?;
    action.must_give_one_of(["body", "images", "mentions"])?;
    let images = || input.texts("images").into_iter().map(Into::into).collect();
    let edit = TextEdit::of_comment(
        input.text("body").as_deref(),
        input.value("images").map(|_| images()),
        input.value("mentions").map(|_| input.ids("mentions")).transpose()?,
    )?;
    let actor = action.actor().await?;
    let target = (Judged::Comment, comment.0);
    let changed = edits::update_text(action.plaudit(), actor, target, &edit, action.key()).await?;
    Ok(payload(changed, [("comment", comment.into())]))
}

async fn delete_comment(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let comment: CommentId = action.input.id("commentId")?;
    let actor = action.actor().await?;
    let may_remove_any = action.scope.viewer().has_role(Role::Moderator);
    let (place, outcome) =
        comments::delete_comment(action.plaudit(), actor, comment, may_remove_any, action.key()).await?;
    let parts =
        [("deletedCommentId", global_id(comment).0.into()), ("note", Object::sought(place.note).into())];
    Ok(payload(outcome.changed, parts))
}
