//! Notes that a service removes, many at once.

use std::collections::HashMap;

use super::{ElementDone, ElementOutcome, ElementResults};
use crate::{
    domain::{DomainError, DomainResult, Plaudit},
    primitives::NoteId,
    store::sql::{
        content::notes::{self, NoteState},
        ownership::shards,
    },
};

impl Plaudit {
    /// Removes notes, as [`Plaudit::delete_note`] does with one.
    ///
    /// # Errors
    /// Of an element: [`DomainError::NotFound`] for a note that never existed.
    pub async fn remove_notes_of_app(&self, notes: &[NoteId]) -> DomainResult<ElementResults> {
        let mut change = self.begin_without_key("removeNotes").await?;
        let tx = change.tx();
        // Before the notes are locked, because a backfill that holds the lock of removals locks notes.
        shards::lock_removals(tx).await?;
        let states = notes::lock_notes(tx, notes).await?;
        let present: Vec<NoteState> = states.iter().filter(|state| !state.is_removed).copied().collect();
        if !present.is_empty() {
            self.remove_notes(&mut change, &present, None).await?;
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
}
