//! Event stream: what happened, for services and webhooks.

use std::collections::BTreeSet;

use super::{
    erased,
    notify::Notices,
    plan::{BatchPlan, ChangedEdges},
};
use plaudit_catalogue::{EventKind, Flip, primitives::Id};
use plaudit_store::sql::{
    Tx,
    stream::events::{self, NewEvent},
};

/// Adds the events, which the commit writes: flips that changed an edge, except flips of erased users; then the
/// entries of inboxes.
pub fn record(
    tx: &mut Tx,
    plan: &BatchPlan<'_>,
    changed: &ChangedEdges,
    erased: &BTreeSet<Id>,
    notices: &Notices<'_>,
) {
    if !events::records_events(tx) {
        return;
    }
    for flip in plan.effective(changed).into_iter().filter(|flip| !erased::is_of(erased, flip)) {
        events::record(tx, event_of(flip));
    }
    notices.events().into_iter().for_each(|event| events::record(tx, event));
}

fn event_of(flip: &Flip) -> NewEvent {
    NewEvent {
        kind: EventKind::Edge(flip.kind, flip.on),
        at: flip.at,
        actor: Some(flip.actor),
        target: flip.target,
        recipient: None,
        number: 1,
        subject: None,
    }
}
