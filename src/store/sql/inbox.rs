//! Inbox entries: what reached a user.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::{Row, postgres::PgRow};

use super::{Db, Tx, times::timestamp, users::id};
use crate::{
    catalogue::Flip,
    primitives::{Id, PageRequest, Slice, UserId},
    store::StoreResult,
};

/// Name of entries of direct messages; the target is the recipient.
pub(super) const DIRECT_MESSAGE: &str = "direct_message";

/// One thing that reached a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InboxRow {
    /// Its place in the inbox; rises with arrival.
    pub id: Id,
    /// Name of an edge kind, `comment`, `reply` or `direct_message`.
    pub kind: String,
    pub actor: UserId,
    pub target: Id,
    pub created_at: DateTime<Utc>,
}

/// Writes one entry per flip to the inbox of its recipient; those that exist stay as they are. Returns
/// for each entry that is new the position of its flip.
pub async fn add_inbox_entries(db: &Db, tx: &mut Tx, entries: &[(UserId, &Flip)]) -> StoreResult<Vec<usize>> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let query = sqlx::query(concat!(
        "INSERT INTO inbox_entry (recipient_id, kind, actor_id, target_id, created_at)
         SELECT recipient_id, kind, actor_id, target_id, ",
        timestamp!("at"),
        " FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
               AS given (recipient_id, kind, actor_id, target_id, at)
         ON CONFLICT DO NOTHING
         RETURNING recipient_id, kind, actor_id, target_id"
    ))
    .bind(entries.iter().map(|(recipient, _)| recipient.get()).collect::<Vec<_>>())
    .bind(entries.iter().map(|(_, flip)| flip.kind.name()).collect::<Vec<_>>())
    .bind(entries.iter().map(|(_, flip)| flip.actor.get()).collect::<Vec<_>>())
    .bind(entries.iter().map(|(_, flip)| flip.target.get()).collect::<Vec<_>>())
    .bind(entries.iter().map(|(_, flip)| flip.at).collect::<Vec<_>>());
    let rows = db.run(query.fetch_all(&mut **tx)).await?;
    // Matched here: the pipeline's connections join row by row, which is slow without an index.
    let place = |(position, (recipient, flip)): (usize, &(UserId, &Flip))| {
        ((recipient.get(), flip.kind.name(), flip.actor.get(), flip.target.get()), position)
    };
    let places: HashMap<_, _> = entries.iter().enumerate().map(place).collect();
    let mut added = Vec::with_capacity(rows.len());
    for row in &rows {
        let key = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        added.extend(places.get(&key).copied());
    }
    Ok(added)
}

/// Notes that someone wrote to the recipient. Returns whether it is the first time.
pub async fn add_direct_message(db: &Db, tx: &mut Tx, from: UserId, to: UserId) -> StoreResult<bool> {
    let query = sqlx::query(
        "INSERT INTO inbox_entry (recipient_id, kind, actor_id, target_id, created_at)
         VALUES ($1, $2, $3, $1, now()) ON CONFLICT DO NOTHING",
    )
    .bind(to.get())
    .bind(DIRECT_MESSAGE)
    .bind(from.get());
    Ok(db.run(query.execute(&mut **tx)).await?.rows_affected() == 1)
}

impl Db {
    /// The newest entries of an inbox.
    pub async fn inbox_entries(&self, recipient: UserId, page: PageRequest) -> StoreResult<Slice<InboxRow>> {
        let query = sqlx::query(
            "SELECT id, kind, actor_id, target_id, created_at FROM inbox_entry
             WHERE recipient_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        )
        .bind(recipient.get())
        .bind(page.below())
        .bind(page.rows());
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        Ok(page.slice(rows.iter().map(entry).collect::<StoreResult<_>>()?))
    }
}

fn entry(row: &PgRow) -> StoreResult<InboxRow> {
    Ok(InboxRow {
        id: id(row, 0)?,
        kind: row.try_get(1)?,
        actor: UserId(id(row, 2)?),
        target: id(row, 3)?,
        created_at: row.try_get(4)?,
    })
}
