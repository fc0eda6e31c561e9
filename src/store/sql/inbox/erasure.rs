//! Erasing a user's own inbox, and what the user caused in the inboxes of others.

use std::collections::BTreeSet;

use super::{
    entries::{EntryKey, read_to},
    notices::{Leaves, Withdrawn},
};
use crate::{
    StoreResult,
    sql::{
        Tx,
        counting::counts::{self, raw},
        from_catalogue,
        inbox::notices,
        people::erasure::ErasedEdge,
    },
};
use plaudit_catalogue::{Deltas, EdgeKind, Entity, EntityKind, InboxKind, primitives::Id};

/// Takes erased edges out of the inboxes of others. Locks their totals; returns how these move.
pub async fn withdraw_erased(tx: &mut Tx, kind: EdgeKind, edges: &[ErasedEdge]) -> StoreResult<Deltas> {
    let Some((_, badge)) = kind.notifies() else { return Ok(Deltas::new()) };
    lock_inboxes(tx, edges.iter().map(|edge| edge.owner.0)).await?;
    let entry =
        |edge: &ErasedEdge| EntryKey { recipient: edge.owner, kind: kind.number(), target: edge.target };
    let withdrawn: Vec<Withdrawn> =
        edges.iter().map(|edge| Withdrawn { entry: entry(edge), told: edge.told }).collect();
    let mut moved = Deltas::new();
    for place in notices::withdraw(tx, &withdrawn, Leaves::All).await? {
        let inbox = Entity::new(EntityKind::Inbox, edges[place].owner.0);
        moved.entry(inbox).or_default().add(badge, -1);
    }
    Ok(moved)
}

/// Deletes at most `most` entries about these comments, or about messages of a user, from all inboxes. Locks their
/// totals. Returns the number of entries, and how the totals move.
pub async fn delete_entries_about(
    tx: &mut Tx,
    kinds: &[InboxKind],
    targets: &[Id],
    most: usize,
) -> StoreResult<(usize, Deltas)> {
    // The index has kinds above 100 only.
    let query = sqlx::query_as(
        "SELECT recipient_id, kind, target_id FROM inbox_entry
         WHERE target_id = ANY($1) AND kind = ANY($2) AND kind > 100 LIMIT $3",
    )
    .bind(raw(targets))
    .bind(kinds.iter().map(|kind| kind.number()).collect::<Vec<_>>())
    .bind(most as i64);
    let entries: Vec<(Id, i16, Id)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    lock_inboxes(tx, entries.iter().map(|(recipient, ..)| *recipient)).await?;
    let text = format!(
        "DELETE FROM inbox_entry AS e
         USING unnest($1::bigint[], $2::smallint[], $3::bigint[]) AS gone (recipient, kind, target),
               inbox_counts AS c
         WHERE e.recipient_id = recipient AND e.kind = gone.kind AND e.target_id = target AND c.id = recipient
         RETURNING e.recipient_id, e.kind, CASE WHEN e.id > {} THEN e.unread ELSE 0 END",
        read_to("e.kind", "c"),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(entries.iter().map(|(recipient, ..)| recipient.get()).collect::<Vec<_>>())
        .bind(entries.iter().map(|(_, kind, _)| *kind).collect::<Vec<_>>())
        .bind(entries.iter().map(|(.., target)| target.get()).collect::<Vec<_>>());
    let deleted: Vec<(Id, i16, i32)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let mut moved = Deltas::new();
    for (recipient, kind, unread) in deleted {
        if let Some(badge) = InboxKind::from_number(kind).and_then(InboxKind::badge) {
            let inbox = Entity::new(EntityKind::Inbox, recipient);
            moved.entry(inbox).or_default().add(badge, -i64::from(unread));
        }
    }
    Ok((entries.len(), moved))
}

async fn lock_inboxes(tx: &mut Tx, of: impl Iterator<Item = Id>) -> StoreResult<()> {
    let inboxes: BTreeSet<Id> = of.collect();
    let inboxes: Vec<Id> = inboxes.into_iter().collect();
    counts::lock_totals(tx, EntityKind::Inbox, &inboxes).await.map(drop)
}
