//! Notes that a service removes, many at once.

use std::collections::HashMap;

use super::{ElementDone, ElementOutcome, ElementResults};
use crate::{DomainError, DomainResult, Plaudit, content::notes::remove_notes, transaction};
use plaudit_catalogue::primitives::NoteId;
use plaudit_store::sql::{
    content::{self, notes::NoteState},
    ownership::shards,
};

/// Removes notes, as `notes::delete_note` does with one.
///
/// # Errors
/// Of an element: [`DomainError::NotFound`] for a note that never existed.
pub async fn remove_notes_of_app(plaudit: &Plaudit, notes: &[NoteId]) -> DomainResult<ElementResults> {
    let mut change = transaction::begin_without_key(plaudit, "removeNotes").await?;
    let tx = change.tx();
    // Before the notes are locked, because a backfill that holds the lock of removals locks notes.
    shards::lock_removals(tx).await?;
    let states = content::notes::lock_notes(tx, notes).await?;
    let present: Vec<NoteState> = states.iter().filter(|state| !state.is_removed).copied().collect();
    if !present.is_empty() {
        remove_notes(plaudit, &mut change, &present, None).await?;
    }
    change.finish(!present.is_empty(), None).await?;
    // Of the same note twice, the second finds it removed.
    let mut is_removed: HashMap<NoteId, bool> =
        states.iter().map(|state| (state.id, state.is_removed)).collect();
    let result = |note: &NoteId| match is_removed.insert(*note, true) {
        Some(false) => Ok(ElementDone { outcome: ElementOutcome::Removed, id: note.0 }),
        Some(true) => Ok(ElementDone { outcome: ElementOutcome::Unchanged, id: note.0 }),
        None => {
            is_removed.remove(note);
            Err(DomainError::NotFound("note"))
        }
    };
    Ok(notes.iter().map(result).collect())
}
