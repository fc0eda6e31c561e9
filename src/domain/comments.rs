//! Comments of a note.

use std::sync::Arc;

use super::{Comment, DomainResult, Plaudit};
use crate::primitives::{NoteId, PageRequest, Slice};

impl Plaudit {
    /// Top-level comments, newest first.
    pub async fn comments_of_note(
        &self,
        note: NoteId,
        page: PageRequest,
    ) -> DomainResult<Slice<Arc<Comment>>> {
        let reading = self.comments().begin_reading();
        let comments = self.inner.db.comments_of_note(note, page).await?;
        Ok(self.comments().keep(reading, comments))
    }
}
