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
        let reading = self.comments().reading();
        Ok(reading.keep(self.inner.db.comments_of_note(note, page).await?))
    }
}
