//! Changes of live lists: what is new since a position, as everybody sees it, and signals that something may be.

use std::sync::Arc;

use tokio::sync::watch;

use crate::{Comment, DomainError, DomainResult, InboxEntry, Plaudit};
use plaudit_catalogue::primitives::{ChangePosition, CommentId, NoteId, UserId};
use plaudit_store::sql::{
    content::changes::{self, CommentChange},
    inbox::entries,
};

pub use plaudit_store::sql::content::changes::Changes;

/// Most changes that are returned at once.
const MOST: usize = 50;
/// Most bytes of the texts of comments that are returned at once, unless the first is longer: an event has room
/// for them, with what else is selected.
const MOST_TEXT: usize = 48 * 1024;

/// How a comment changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangedComment {
    /// As everybody sees it.
    Shown(Arc<Comment>),
    Gone(CommentId),
}

/// Signals when there may be notes that are new, or removed.
pub fn watch_notes(plaudit: &Plaudit) -> watch::Receiver<u64> {
    plaudit.inner.signals.notes.subscribe()
}

/// The newest changes of a note's comments, of what everybody sees. None without a position.
///
/// # Errors
/// [`DomainError::NotFound`] for a note that not everybody may see.
pub async fn comment_changes(
    plaudit: &Plaudit,
    note: NoteId,
    since: Option<ChangePosition>,
) -> DomainResult<Changes<ChangedComment>> {
    let changes = changes::comment_changes(&plaudit.inner.db, note, since, MOST).await?;
    let changes = changes.ok_or(DomainError::NotFound("note"))?;
    let mut text = 0;
    let fitting = changes.items.iter().take_while(|change| {
        let is_first = text == 0;
        text += change.text_bytes();
        is_first || text <= MOST_TEXT
    });
    let fitting = fitting.count();
    let has_more = changes.has_more || fitting < changes.items.len();
    let items = changes.items.into_iter().take(fitting).map(ChangedComment::from).collect();
    Ok(Changes { items, has_more, position: changes.position, has_pending: changes.has_pending })
}

/// The newest notes of the feed since a position. None without one.
pub async fn feed_changes(plaudit: &Plaudit, since: Option<ChangePosition>) -> DomainResult<Changes<NoteId>> {
    Ok(changes::feed_changes(&plaudit.inner.db, since, MOST).await?)
}

/// The newest entries of an inbox since a position. None without one.
pub async fn inbox_changes(
    plaudit: &Plaudit,
    owner: UserId,
    since: Option<ChangePosition>,
) -> DomainResult<Changes<InboxEntry>> {
    let db = &plaudit.inner.db;
    // Before the entries, so that a position is never newer than what it stands for.
    let database = changes::database_identity(db).await?;
    let known = since.filter(|since| since.database == database);
    let above = known.map_or(0, |since| since.major);
    let rows = if since.is_some() { MOST + 1 } else { 1 };
    let mut items = entries::inbox_entries_above(db, owner, above, rows).await?;
    let major = items.first().map_or(above, |newest| newest.id.get());
    let has_more = since.is_some() && (items.len() > MOST || known.is_none());
    items.truncate(if since.is_some() { MOST } else { 0 });
    let position = ChangePosition { database, major, minor: 0 };
    Ok(Changes { position, items, has_more, has_pending: false })
}

impl From<CommentChange> for ChangedComment {
    fn from(change: CommentChange) -> Self {
        match change {
            CommentChange::Shown(comment) if !comment.is_public() => {
                Self::Shown(Arc::new(comment.as_removed()))
            }
            CommentChange::Shown(comment) => Self::Shown(Arc::new(*comment)),
            CommentChange::Gone(comment) => Self::Gone(comment),
        }
    }
}
