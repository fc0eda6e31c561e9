//! Views of notes: recorded in this process, which appends them to the log.

use std::{collections::HashSet, num::NonZeroU32, sync::Arc};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{
    DomainError, DomainResult, IdempotencyKey, Note, NoteViewer, Plaudit, actions,
    keys::{self, ActionCall},
    memory::views::ViewCounts,
};
use plaudit_catalogue::primitives::NoteId;

/// Views that are not appended: what one number of shards leaves to the next.
#[derive(Default)]
pub struct UnappendedViews(ViewCounts);

/// The notes whose views one request has recorded: it counts each once, however often it names it.
#[derive(Default)]
pub struct RecordedViews(Mutex<HashSet<NoteId>>);

impl RecordedViews {
    /// Whether this is the request's first view of the note.
    fn insert(&self, note: NoteId) -> bool {
        self.0.lock().insert(note)
    }
}

/// Records one view per note, without waiting for the counts, unless it is one of `recorded`, or the
/// viewer's view of the note was counted within the window. Skips ids of unknown, removed and hidden notes:
/// a page may show a note that was just removed. Views by a hidden user do not count. Returns the viewed
/// notes in the order of the ids, each once.
///
/// # Errors
/// [`DomainError::Overloaded`] while the buffer is full.
pub async fn record_views(
    plaudit: &Plaudit,
    viewer: NoteViewer<'_>,
    ids: &[NoteId],
    key: Option<&IdempotencyKey>,
    recorded: &RecordedViews,
) -> DomainResult<Vec<Arc<Note>>> {
    let mut seen = HashSet::with_capacity(ids.len());
    let ids: Vec<NoteId> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
    let found = plaudit.notes().get_many(&ids).await?.into_iter().flatten();
    let notes: Vec<Arc<Note>> = found
        .filter(|note| note.is_public() || note.is_hidden && Some(note.author) == viewer.user())
        .collect();
    let counts = counts_views_of(plaudit, viewer).await?;
    let views = &plaudit.inner.views;
    // Checked before the key is claimed: a rejected request must not leave a claim.
    if views.is_full() {
        return Err(DomainError::Overloaded("views"));
    }
    let is_new = match (key, viewer.user()) {
        (Some(key), Some(user)) => keys::claim_key(plaudit, user, key, &call(&ids)).await?,
        _ => true,
    };
    if is_new && counts {
        let new = |note: &NoteId| recorded.insert(*note) && views.window.admits(viewer, *note);
        let viewed: Vec<NoteId> = notes.iter().map(|note| note.id).filter(new).collect();
        if !viewed.is_empty() {
            actions::changed("recordViews");
        }
        views.add(viewed.into_iter().map(|note| (note, NonZeroU32::MIN)));
    }
    Ok(notes)
}

/// Views by hidden users do not count.
async fn counts_views_of(plaudit: &Plaudit, viewer: NoteViewer<'_>) -> DomainResult<bool> {
    let Some(user) = viewer.user() else { return Ok(true) };
    let user = plaudit.users().get_many(&[user]).await?.pop().flatten();
    Ok(user.is_none_or(|user| !user.is_hidden))
}

/// Takes over what another number of shards has left.
pub fn take_views(plaudit: &Plaudit, views: UnappendedViews) {
    plaudit.inner.views.add(views.0.into_iter());
}

/// The views that are left after [`run`].
pub fn unappended_views(plaudit: &Plaudit) -> UnappendedViews {
    UnappendedViews(std::mem::take(&mut *plaudit.inner.views.buffer.lock()))
}

/// Runs the background tasks until `stop`; returns once the last views are appended, or time is up.
pub async fn run(plaudit: &Plaudit, stop: CancellationToken) {
    let services = &plaudit.inner;
    tokio::join!(services.views.run(stop.clone()), services.rates.run(&stop), services.accounts.run(&stop));
}

/// The same ids in any order are the same call.
fn call(ids: &[NoteId]) -> ActionCall {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ActionCall::new("recordViews", &ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::primitives::Id;

    fn note(id: i64) -> NoteId {
        NoteId(Id::try_from(id).unwrap())
    }

    #[test]
    fn a_call_identifies_notes_but_not_their_order() {
        assert_eq!(call(&[note(1), note(2)]), call(&[note(2), note(1)]));
        assert_ne!(call(&[note(1)]), call(&[note(2)]));
    }
}
