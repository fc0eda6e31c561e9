//! The stream of events, for the app's own servers.

use super::{DomainError, DomainResult, Plaudit};
use crate::primitives::EventCursor;

pub use crate::store::sql::events::{CursorError, EventObject, EventPage, StreamedEvent};

impl Plaudit {
    /// The events after a cursor, or from the oldest one on that is kept, in order: at most `most`.
    ///
    /// # Errors
    /// [`DomainError::Forbidden`] if the stream is off; [`DomainError::Cursor`] if events after the cursor are not kept.
    pub async fn events_after(&self, after: Option<EventCursor>, most: usize) -> DomainResult<EventPage> {
        let db = &self.inner.db;
        if !db.records_events() {
            return Err(DomainError::Forbidden("the stream of events is off: set event_retention"));
        }
        Ok(db.events_after(after, most).await??)
    }
}
