//! The stream of events, for the app's own servers.

use super::{DomainError, DomainResult, Plaudit};
use plaudit_catalogue::primitives::EventCursor;
use plaudit_store::sql::stream::{events, webhooks};

pub use plaudit_store::sql::stream::events::{
    CursorError, EventObject, EventPage, LOOK_EVERY, StreamedEvent,
};
pub use plaudit_store::sql::stream::webhooks::WebhookFailure;

/// The events after a cursor, or from the oldest one on that is kept, in order: at most `most`.
///
/// # Errors
/// [`DomainError::Forbidden`] if the stream is off; [`DomainError::Cursor`] if events after the cursor are
/// not kept.
pub async fn events_after(
    plaudit: &Plaudit,
    after: Option<EventCursor>,
    most: usize,
) -> DomainResult<EventPage> {
    stream_is_on(plaudit)?;
    Ok(events::events_after(&plaudit.inner.db, after, most).await??)
}

/// The newest event; without any, the last one that was deleted.
///
/// # Errors
/// [`DomainError::Forbidden`] if the stream is off.
pub async fn newest_event(plaudit: &Plaudit) -> DomainResult<EventCursor> {
    stream_is_on(plaudit)?;
    Ok(events::newest_event(&plaudit.inner.db).await?)
}

/// Why the webhook fails; `None` if its batch has not failed, or not lately.
pub async fn webhook_failure(plaudit: &Plaudit) -> DomainResult<Option<WebhookFailure>> {
    Ok(webhooks::webhook_failure(&plaudit.inner.db).await?)
}

fn stream_is_on(plaudit: &Plaudit) -> DomainResult<()> {
    if plaudit.inner.db.records_events() {
        return Ok(());
    }
    Err(DomainError::Forbidden("the stream of events is off: set event_retention"))
}
