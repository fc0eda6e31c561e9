//! The stream of events, for the app's own servers.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures_util::FutureExt;

use crate::{
    definition::{
        arguments::Arguments,
        pages::{self, MAX_PAGE},
        resolve::{Call, Resolve},
        types::ObjectType,
        values::{Object, Output, Page, Places},
    },
    errors::{ApiError, ApiResult},
    objects::events::event,
    request::access::Who,
};
use plaudit_catalogue::primitives::EventCursor;
use plaudit_domain::{EventPage, event_stream};

pub fn events(query: ObjectType) -> ObjectType {
    query.field(
        &format!("events{}: EventConnection", pages::arguments(MAX_PAGE)),
        "What happened, in the order in which it took effect, after a cursor or from the oldest event on that is kept. None is \
         missed. A page without events ends at the cursor of the request. For services.",
        Resolve::Call(|call| page_of_events(call).boxed()),
    )
    .who(Who::Service)
}

async fn page_of_events(call: Call<'_>) -> ApiResult<Output> {
    let (most, after) = (most(call.arguments)?, cursor(call.arguments)?);
    let page = event_stream::events_after(call.scope.plaudit(), after, most).await?;
    Ok(connection(after.is_some(), page).into())
}

/// The argument `first`: the most events of a page.
///
/// # Errors
/// [`Code::BadUserInput`](crate::Code::BadUserInput) naming `first`, beyond 1 to 100.
pub fn most(arguments: &Arguments) -> ApiResult<usize> {
    let first = arguments.int("first").unwrap_or(MAX_PAGE);
    if (1..=MAX_PAGE).contains(&first) {
        return Ok(first as usize);
    }
    let message = format!("first: a page has 1 to {MAX_PAGE} items, not {first}");
    Err(ApiError::bad_input("first", message))
}

/// `has_previous`: the page follows a cursor.
pub fn connection(has_previous: bool, page: EventPage) -> Object {
    let EventPage { events, has_more, end } = page;
    let cursors = Cursors { cursors: events.iter().map(|event| event.cursor).collect(), end };
    let nodes = events.into_iter().map(event).collect();
    Object::Page(Arc::new(Page::new(nodes, (has_previous, has_more), cursors)))
}

/// # Errors
/// [`Code::BadUserInput`](crate::Code::BadUserInput) naming `after`, if it is no cursor.
pub fn cursor(arguments: &Arguments) -> ApiResult<Option<EventCursor>> {
    let Some(text) = arguments.text("after") else { return Ok(None) };
    let refused = |_| {
        ApiError::bad_input(
            "after",
            "after: it is not a cursor of an event; pass a page's endCursor or an event's cursor",
        )
    };
    text.parse().map(Some).map_err(refused)
}

/// The cursors of a page's events.
struct Cursors {
    cursors: Vec<EventCursor>,
    /// Where the page ends, also if it has no events.
    end: EventCursor,
}

impl Places for Cursors {
    fn cursor(&self, index: usize) -> Option<String> {
        let is_end = self.cursors.is_empty() && index > 0;
        self.cursors.get(index).or_else(|| is_end.then_some(&self.end)).map(ToString::to_string)
    }

    fn at(&self, _: usize) -> Option<DateTime<Utc>> {
        None
    }
}
