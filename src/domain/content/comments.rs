//! Comments: written, removed, and read in threads.

use std::{collections::HashMap, sync::Arc};

use super::app_keys::must_be_free;
use crate::{
    ActionOutcome, AppKey, Comment, CommentText, DomainError, DomainResult, IdempotencyKey, Plaudit,
    entity_cache::Cached,
    keys::ActionCall,
    transaction::{self, ActionStart, ActionTransaction},
};
use plaudit_catalogue::{
    EntityKind,
    primitives::{CommentId, Id, Moment, NoteId, PageRequest, Ranked, Slice, UserId},
};
use plaudit_store::sql::{
    content::{
        self,
        comments::{CommentHeader, NewComment},
        threads,
    },
    moderation::decisions,
    ownership::shards,
};

pub use plaudit_store::sql::content::threads::{CommentOrder, CommentThread, ThreadPage};

/// Most comments of one author on one note that the author sees before they are approved.
const MOST_UNPUBLISHED: i64 = 50;

/// Writes a comment on a note, or (with `parent`) a reply to a comment. A reply to a reply stays on the
/// second level and names the user it answers. Others see the comment once it is approved.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown note, parent or mentioned user, and for an author who was erased;
/// [`DomainError::BadInput`] for a parent on another note, and if the key is taken.
pub async fn add_comment(
    plaudit: &Plaudit,
    author: UserId,
    note: NoteId,
    parent: Option<CommentId>,
    app_key: Option<&AppKey>,
    text: &CommentText,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Comment>, bool)> {
    let note = super::notes::note_for(plaudit, Some(author), note).await?.id;
    if plaudit.users().get_many(&text.mentions).await?.iter().any(Option::is_none) {
        return Err(DomainError::NotFound("user"));
    }
    let parent = match parent {
        Some(parent) => Some(answered(plaudit, note, parent).await?),
        None => None,
    };
    let answered = parent.as_ref().map(|parent| parent.id);
    let app_key_text = app_key.map(AppKey::as_str);
    let arguments = (note, answered, app_key_text, text.body.as_str(), &text.images, &text.mentions);
    let mut change =
        match transaction::begin(plaudit, author, key, &ActionCall::new("addComment", &arguments)).await? {
            ActionStart::Repeated(outcome) => return written(plaudit, outcome).await,
            ActionStart::New(change) => change,
        };
    let tx = change.tx();
    // The removal of a note processes the comments that exist, so none may be added meanwhile.
    shards::lock_removals_shared(tx).await?;
    if content::notes::present_notes(tx, &[note]).await?.is_empty() {
        return Err(DomainError::NotFound("note"));
    }
    let (below, reply_to) = match &parent {
        // The answered comment is a reply itself.
        Some(Comment { id, parent: Some(top), .. }) => (Some(*top), Some(*id)),
        Some(Comment { id, .. }) => (Some(*id), None),
        None => (None, None),
    };
    let CommentText { body, images, mentions } = text;
    let body = body.as_str();
    let new = NewComment { key: app_key_text, note, author, parent: below, reply_to, body, images, mentions };
    let added = content::comments::add_comment(tx, new).await?;
    if added.is_none() {
        must_be_free(tx, EntityKind::Comment, app_key).await?;
    }
    let id = added.ok_or(DomainError::NotFound("user"))?;
    change.touch(id);
    let outcome = change.finish(true, Some(id.0)).await?;
    written(plaudit, outcome).await
}

/// The comment that is answered, if it is public and on this note.
async fn answered(plaudit: &Plaudit, note: NoteId, parent: CommentId) -> DomainResult<Comment> {
    let parent = public_comment(plaudit, parent).await?;
    let parent = parent.record();
    if parent.note == note {
        Ok((**parent).clone())
    } else {
        Err(DomainError::bad_input("replyToId", "replyToId: this comment is on another note"))
    }
}

async fn written(plaudit: &Plaudit, outcome: ActionOutcome) -> DomainResult<(Arc<Comment>, bool)> {
    let id = CommentId(outcome.created.ok_or(DomainError::NotFound("comment"))?);
    Ok((plaudit.comments().get(id).await?, outcome.changed))
}

/// Removes a comment: the actor's own, or any comment if they may. Its text is deleted. A comment with
/// replies leaves a placeholder for as long as there are replies. It no longer counts for its note, its
/// author and its parent comment. Its likes stay with it, and its replies still count.
///
/// # Errors
/// [`DomainError::NotFound`] for a comment that never existed, or is somebody else's and not public;
/// [`DomainError::Forbidden`] for another one of somebody else.
pub async fn delete_comment(
    plaudit: &Plaudit,
    actor: UserId,
    comment: CommentId,
    may_remove_any: bool,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(CommentHeader, ActionOutcome)> {
    let not_found = || DomainError::NotFound("comment");
    let mut change =
        match transaction::begin(plaudit, actor, key, &ActionCall::new("deleteComment", &comment)).await? {
            ActionStart::Repeated(outcome) => {
                let mut tx = plaudit.inner.db.begin().await?;
                let header = content::comments::comment_header(&mut tx, comment).await?;
                return Ok((header.ok_or_else(not_found)?, outcome));
            }
            ActionStart::New(change) => change,
        };
    let tx = change.tx();
    // The backfill of a removed note locks in another order: comments first, then totals.
    shards::lock_removals_shared(tx).await?;
    let header = content::comments::comment_header(tx, comment).await?.ok_or_else(not_found)?;
    if header.author != actor && !may_remove_any {
        let is_public = header.is_counted;
        let forbidden = DomainError::Forbidden("only its author and moderators can remove a comment");
        return Err(if is_public { forbidden } else { not_found() });
    }
    decisions::lock_totals_of(tx, &[header], &[]).await?;
    let header = content::comments::lock_comments(tx, &[comment]).await?.pop().ok_or_else(not_found)?;
    if header.is_removed {
        return Ok((header, change.finish(false, None).await?));
    }
    change.remove_comment(&header, actor).await?;
    Ok((header, change.finish(true, None).await?))
}

/// A page of each of these threads, in one statement per kind of thread: approved comments, and
/// placeholders of removed ones that have replies.
pub async fn threads(
    plaudit: &Plaudit,
    threads: &[CommentThread],
    order: CommentOrder,
    page: &PageRequest<Ranked>,
) -> DomainResult<HashMap<CommentThread, ThreadPage>> {
    let (of_notes, of_comments): (Vec<CommentThread>, Vec<CommentThread>) =
        threads.iter().partition(|thread| matches!(thread, CommentThread::Note(_)));
    let mut found = HashMap::with_capacity(threads.len());
    for threads in [of_notes, of_comments] {
        let mut pages = threads::threads(&plaudit.inner.db, &threads, order, page).await?;
        for thread in threads {
            found.insert(thread, pages.remove(&thread_id(thread)).unwrap_or_default());
        }
    }
    Ok(found)
}

/// An author's comments on a note that only the author sees, newest first.
pub async fn unpublished_comments(
    plaudit: &Plaudit,
    author: UserId,
    note: NoteId,
) -> DomainResult<Vec<CommentId>> {
    Ok(threads::unpublished_comments(&plaudit.inner.db, author, note, MOST_UNPUBLISHED).await?)
}

/// A page of an author's comments that only the author sees, newest first: not approved, or hidden.
pub async fn unpublished_comments_of(
    plaudit: &Plaudit,
    author: UserId,
    page: &PageRequest<Moment>,
) -> DomainResult<Slice<Moment>> {
    Ok(threads::unpublished_comments_of(&plaudit.inner.db, author, page).await?)
}

/// A comment that everybody may see.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown, removed, hidden or not approved comment, and for one of a removed or
/// hidden note.
pub(crate) async fn public_comment(
    plaudit: &Plaudit,
    comment: CommentId,
) -> DomainResult<Cached<Arc<Comment>>> {
    let found = plaudit.comments().record(comment).await?;
    let comment = found.record();
    if !comment.is_public() || comment.is_removed {
        return Err(DomainError::NotFound("comment"));
    }
    match plaudit.notes().record(comment.note).await {
        Ok(note) if note.record().is_public() => Ok(found),
        Ok(_) | Err(DomainError::NotFound(_)) => Err(DomainError::NotFound("comment")),
        Err(error) => Err(error),
    }
}

impl ActionTransaction<'_> {
    /// Removes a comment that is locked, after the totals that change with it, under the lock of removals.
    pub(crate) async fn remove_comment(&mut self, header: &CommentHeader, actor: UserId) -> DomainResult<()> {
        if !header.is_removed {
            self.record_removals(EntityKind::Comment, Some(actor), &[header.id.0]).await?;
        }
        let tx = self.tx();
        let has_replies = content::comments::live_replies(tx, header.id).await? > 0;
        content::comments::remove_comment(tx, header.id, has_replies).await?;
        let is_included = header.is_counted;
        if let Some(parent) = header.parent.filter(|_| is_included) {
            let others = content::comments::live_replies(tx, parent).await? - 1;
            content::comments::set_placeholders(tx, &[parent], others > 0).await?;
            self.touch(parent);
        }
        if is_included {
            self.count_comment(header, -1);
        }
        self.touch(header.id);
        Ok(())
    }
}

const fn thread_id(thread: CommentThread) -> Id {
    match thread {
        CommentThread::Note(id) => id.0,
        CommentThread::Comment(id) => id.0,
    }
}
