//! Old events of the stream: deleted from its beginning, and emptied of the subjects of erased users.

use std::time::Duration;

use super::events::numbers_about;
use crate::{
    StoreResult,
    sql::{Db, Tx, from_catalogue, stream::events},
};
use plaudit_catalogue::{EntityKind, EventKind, primitives::UserId};

/// Events that one statement of an erasure goes through.
const ERASED_AT_ONCE: i64 = 20_000;

/// Whether the stream is on, as the server said that was started last.
pub async fn stream_is_on(db: &Db) -> StoreResult<bool> {
    db.run(sqlx::query_scalar("SELECT is_on FROM event_stream").fetch_one(&db.pool())).await
}

/// Records whether the stream is on. What happened while it was off is in no event: switched on again it
/// begins empty, and every older cursor is too old.
pub async fn set_stream(db: &Db, is_on: bool) -> StoreResult<()> {
    let mut tx = db.begin().await?;
    // Processes that start at once wait for each other here, and only the first one begins the stream.
    let was_on = sqlx::query_scalar("SELECT is_on FROM event_stream FOR UPDATE");
    let was_on: bool = db.run(was_on.fetch_one(&mut *tx.inner)).await?;
    if was_on == is_on {
        return Ok(());
    }
    if is_on {
        db.run(sqlx::query("TRUNCATE event").execute(&mut *tx.inner)).await?;
        let begun = "UPDATE event_stream SET position = event_horizon() - 1, written_at = now()";
        db.run(sqlx::query(begun).execute(&mut *tx.inner)).await?;
    }
    let set = sqlx::query("UPDATE event_stream SET is_on = $1").bind(is_on);
    db.run(set.execute(&mut *tx.inner)).await?;
    tx.commit().await
}

/// Deletes the oldest events if they were written longer ago than `retention`, at most `most`. Returns
/// their number.
pub async fn delete_old_events(db: &Db, retention: Duration, most: i64) -> StoreResult<u64> {
    let mut tx = db.begin().await?;
    // Events that appear later have positions beyond it.
    let horizon = events::event_horizon(&mut tx).await?;
    let query = sqlx::query(
        "WITH oldest AS (
             SELECT position, written_at FROM event WHERE position < $3 ORDER BY position LIMIT $2
         ), last AS (
             SELECT position, written_at FROM oldest
             WHERE position < coalesce((SELECT min(position) FROM oldest
                                        WHERE written_at >= now() - $1 * interval '1 ms'), $3)
             ORDER BY position DESC LIMIT 1
         ), mark AS (
             UPDATE event_stream SET position = last.position, written_at = last.written_at FROM last
         )
         DELETE FROM event USING last WHERE event.position <= last.position",
    )
    .bind(retention.as_millis() as i64)
    .bind(most)
    .bind(horizon);
    let deleted = db.run(query.execute(&mut *tx.inner)).await?.rows_affected();
    tx.commit().await?;
    Ok(deleted)
}

/// Empties the subjects of erasures that are older than `retention`.
pub async fn empty_erased_subjects(db: &Db, retention: Duration) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE event SET subject = NULL WHERE subject IS NOT NULL AND written_at < now() - $1 * interval '1 ms'",
    );
    db.run(query.bind(retention.as_millis() as i64).execute(&db.pool())).await.map(drop)
}

/// Takes a user out of the events after a position, except out of the erasure itself. Returns where the next page
/// begins; `None` after the last one.
pub async fn erase_events(tx: &mut Tx, user: UserId, after: i64) -> StoreResult<Option<i64>> {
    let text = format!(
        "WITH page AS (
             SELECT position FROM event WHERE position > $2 ORDER BY position LIMIT {ERASED_AT_ONCE}
         ), last AS (
             SELECT max(position) AS position, count(*) = {ERASED_AT_ONCE} AS is_full FROM page
         ), emptied AS (
             UPDATE event SET
                 actor_id = CASE actor_id WHEN $1 THEN 0 ELSE actor_id END,
                 recipient_id = CASE recipient_id WHEN $1 THEN 0 ELSE recipient_id END,
                 target_id = CASE WHEN target_id = $1 AND kind IN ({users}) THEN 0 ELSE target_id END
             WHERE position > $2 AND position <= (SELECT position FROM last)
               AND NOT (kind = {erasure} AND target_id = $1)
                 AND (actor_id = $1 OR recipient_id = $1 OR target_id = $1 AND kind IN ({users}))
         )
         SELECT CASE WHEN is_full THEN position END FROM last",
        users = numbers_about(EntityKind::User),
        erasure = EventKind::Erasure.number(),
    );
    let query = sqlx::query_scalar(from_catalogue(text)).bind(user.get()).bind(after);
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// Keeps a digest of the subject of an erased user.
pub(crate) async fn keep_digest(tx: &mut Tx, subject: &str) -> StoreResult<()> {
    let query = sqlx::query(
        "INSERT INTO erased_subject (digest) VALUES (subject_digest($1))
         ON CONFLICT (digest) DO UPDATE SET erased_at = excluded.erased_at",
    );
    tx.db.run(query.bind(subject).execute(&mut *tx.inner)).await.map(drop)
}
