//! Removals in the stream of events.

use super::{events, new_event::NewEvent};
use crate::{
    StoreResult,
    sql::{Tx, people::users},
};
use plaudit_catalogue::{
    EntityKind, EventKind,
    primitives::{Id, UserId},
};

/// Adds the removal of things. An erased user is left out of it: a process that has not heard of the
/// erasure may still act for the user. The transaction holds the removal lock.
pub async fn record_removals(
    tx: &mut Tx,
    of: EntityKind,
    by: Option<UserId>,
    things: &[Id],
) -> StoreResult<()> {
    if !events::records_events(tx) {
        return Ok(());
    }
    let by = match by {
        Some(user) => users::present_users(tx, &[user]).await?.pop_first(),
        None => None,
    };
    for thing in things {
        events::record(tx, NewEvent::now(EventKind::Removal(of), by, *thing));
    }
    Ok(())
}
