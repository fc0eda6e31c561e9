//! Rows of edges that exist beside the lines of an import.

use chrono::{DateTime, Utc};

use crate::{
    StoreResult,
    sql::{Tx, from_catalogue},
};
use plaudit_catalogue::{
    EdgeKind, Flip, UnixMillis,
    primitives::{Id, UserId},
};

/// A row of an edge, locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockedEdge {
    pub actor: UserId,
    pub target: Id,
    pub is_on: bool,
    pub changed_at: UnixMillis,
}

/// Locks the rows of these flips' edges, in their order. Edges without a row are missing.
pub async fn lock_edges(tx: &mut Tx, kind: EdgeKind, flips: &[&Flip]) -> StoreResult<Vec<LockedEdge>> {
    if flips.is_empty() {
        return Ok(Vec::new());
    }
    let text = format!(
        "SELECT edge.actor_id, edge.target_id, edge.is_on, edge.changed_at
         FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS f (actor, target, place)
         JOIN {} AS edge ON edge.actor_id = f.actor AND edge.target_id = f.target
         ORDER BY f.place FOR NO KEY UPDATE OF edge",
        kind.name(),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(flips.iter().map(|flip| flip.actor.get()).collect::<Vec<_>>())
        .bind(flips.iter().map(|flip| flip.target.get()).collect::<Vec<_>>());
    let rows: Vec<(UserId, Id, bool, DateTime<Utc>)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let row = |(actor, target, is_on, at): (UserId, Id, bool, DateTime<Utc>)| LockedEdge {
        actor,
        target,
        is_on,
        changed_at: at.timestamp_millis(),
    };
    Ok(rows.into_iter().map(row).collect())
}
