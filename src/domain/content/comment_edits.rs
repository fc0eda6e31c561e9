//! Editing comments: a new text is judged before it shows, and the old one stays until then.

use std::sync::Arc;

use crate::{
    Comment, CommentEdit, DomainError, DomainResult, IdempotencyKey, ModerationState, Plaudit,
    keys::ActionCall,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::primitives::{CommentId, UserId};
use plaudit_store::sql::{
    Tx,
    content::{
        comment_edits, comments, notes,
        submissions::{self, Judged},
    },
    ownership::shards,
};

/// Changes parts of the actor's own comment. What is not given stays as it is in the text that the author
/// wrote last. The new text waits for a decision. Of an approved comment everybody sees the old text until
/// then; any other comment has only the new one. A later edit replaces one that waits. Returns the comment,
/// and whether the text is another.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown, removed or invisible comment, and for an unknown mentioned
/// user; [`DomainError::Forbidden`] for a public one of somebody else; [`DomainError::BadInput`] if nothing
/// is left of the text.
pub async fn update_comment(
    plaudit: &Plaudit,
    actor: UserId,
    comment: CommentId,
    edit: &CommentEdit,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Comment>, bool)> {
    let mentions = edit.mentions.as_deref().unwrap_or_default();
    if plaudit.users().get_many(mentions).await?.iter().any(Option::is_none) {
        return Err(DomainError::NotFound("user"));
    }
    let body = edit.body.as_ref().map(|body| body.as_str());
    let call = ActionCall::new("updateComment", &(comment, body, &edit.images, &edit.mentions));
    let outcome = match transaction::begin(plaudit, actor, key, &call).await? {
        ActionStart::Repeated(outcome) => outcome,
        ActionStart::New(mut change) => {
            let changed = edit_own(change.tx(), actor, comment, edit).await?;
            if changed {
                change.touch(comment);
            }
            change.finish(changed, None).await?
        }
    };
    Ok((plaudit.comments().get(comment).await?, outcome.changed))
}

/// Writes the new text where it belongs. Returns whether it is another than the one before.
async fn edit_own(tx: &mut Tx, actor: UserId, comment: CommentId, edit: &CommentEdit) -> DomainResult<bool> {
    let not_found = || DomainError::NotFound("comment");
    // A note that is being removed takes its comments with it.
    shards::lock_removals_shared(tx).await?;
    let header = comments::lock_comments(tx, &[comment]).await?.pop().ok_or_else(not_found)?;
    if header.author != actor {
        let forbidden = DomainError::Forbidden("only its author can edit a comment");
        return Err(if header.is_counted { forbidden } else { not_found() });
    }
    if header.is_removed || notes::present_notes(tx, &[header.note]).await?.is_empty() {
        return Err(not_found());
    }
    let texts = comment_edits::comment_texts(tx, comment).await?;
    let before = texts.edit.as_ref().unwrap_or(&texts.shown);
    let text = edit.apply(before)?;
    if text == *before {
        return Ok(false);
    }
    match header.state {
        ModerationState::Approved if text == texts.shown => {
            submissions::withdraw_edits(tx, Judged::Comment, &[comment.0]).await?
        }
        ModerationState::Approved => comment_edits::keep_edit(tx, comment, &text).await?,
        ModerationState::Pending | ModerationState::Rejected => {
            comment_edits::replace_unapproved_text(tx, comment, &text).await?
        }
    }
    Ok(true)
}
