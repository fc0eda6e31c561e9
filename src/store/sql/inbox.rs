//! Inbox entries: what reached a user.

use sqlx::Row;

use super::{Db, Tx, times::timestamp};
use crate::{catalogue::Flip, primitives::UserId, store::StoreResult};

/// Writes one entry per flip to the inbox of its recipient; those that exist stay as they are. Returns
/// for each entry that is new the position of its flip.
pub async fn add_inbox_entries(db: &Db, tx: &mut Tx, entries: &[(UserId, &Flip)]) -> StoreResult<Vec<usize>> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let query = sqlx::query(concat!(
        "WITH given AS (
             SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
             WITH ORDINALITY AS g (recipient_id, kind, actor_id, target_id, at, position)
         ), added AS (
             INSERT INTO inbox_entry (recipient_id, kind, actor_id, target_id, created_at)
             SELECT recipient_id, kind, actor_id, target_id, ",
        timestamp!("at"),
        " FROM given ON CONFLICT DO NOTHING
             RETURNING recipient_id, kind, actor_id, target_id
         )
         SELECT position FROM given JOIN added USING (recipient_id, kind, actor_id, target_id)"
    ))
    .bind(entries.iter().map(|(recipient, _)| recipient.get()).collect::<Vec<_>>())
    .bind(entries.iter().map(|(_, flip)| flip.kind.name()).collect::<Vec<_>>())
    .bind(entries.iter().map(|(_, flip)| flip.actor.get()).collect::<Vec<_>>())
    .bind(entries.iter().map(|(_, flip)| flip.target.get()).collect::<Vec<_>>())
    .bind(entries.iter().map(|(_, flip)| flip.at).collect::<Vec<_>>());
    let rows = db.run(query.fetch_all(&mut **tx)).await?;
    rows.iter().map(|row| Ok(row.try_get::<i64, _>(0)? as usize - 1)).collect()
}
