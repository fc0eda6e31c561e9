//! Deliveries of the webhook: how far it is, the batch that is being delivered, and those that were given up.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::FromRow;
use uuid::Uuid;

use super::events::EventPage;
use crate::{
    StoreResult,
    sql::{Db, Tx, stream::events},
};
use plaudit_catalogue::primitives::{EventCursor, UserId};

const MOVE: &str = "UPDATE event_stream SET webhook_position = $1, webhook_written_at = $2";

/// A batch that is not delivered yet.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct OpenBatch {
    pub id: Uuid,
    pub after_position: i64,
    pub after_written_at: DateTime<Utc>,
    /// Of its last event.
    pub position: i64,
    pub events: i32,
    /// `None` if it is to be made again.
    pub body: Option<String>,
    pub created_at: DateTime<Utc>,
    /// When its first event was written.
    pub oldest_written_at: DateTime<Utc>,
}

/// A batch that was given up, or that failed and is tried again.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct FailedBatch {
    pub id: Uuid,
    pub after_position: i64,
    pub after_written_at: DateTime<Utc>,
    pub position: i64,
    pub written_at: DateTime<Utc>,
    pub events: i32,
    pub tries: i32,
    pub last_error: Option<String>,
    /// When that was.
    pub failed_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    /// `None` if it is tried again.
    pub died_at: Option<DateTime<Utc>>,
}

/// Why an attempt failed, in one line, and when.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct WebhookFailure {
    pub reason: String,
    pub at: DateTime<Utc>,
}

/// How far the webhook has the stream. A new webhook begins with what happens from now on.
pub async fn webhook_position(db: &Db) -> StoreResult<EventCursor> {
    let beginning = events::newest_event(db).await?;
    let query = sqlx::query(
        "UPDATE event_stream SET webhook_position = $1, webhook_written_at = $2 WHERE webhook_position IS NULL",
    )
    .bind(beginning.position)
    .bind(beginning.time());
    db.run(query.execute(&db.pool())).await?;
    let query = sqlx::query_as("SELECT webhook_position, webhook_written_at FROM event_stream");
    let (position, written_at): (i64, DateTime<Utc>) = db.run(query.fetch_one(&db.pool())).await?;
    Ok(EventCursor { position, written_at: written_at.timestamp_micros(), ..beginning })
}

/// Goes on after another event, because those before it are not kept.
pub async fn move_webhook(db: &Db, to: EventCursor) -> StoreResult<()> {
    let query = sqlx::query(MOVE).bind(to.position).bind(to.time());
    db.run(query.execute(&db.pool())).await.map(drop)
}

pub async fn open_batch(db: &Db) -> StoreResult<Option<OpenBatch>> {
    let query = sqlx::query_as(
        "SELECT id, after_position, after_written_at, position, events, body, created_at, oldest_written_at
         FROM webhook_batch WHERE died_at IS NULL",
    );
    db.run(query.fetch_optional(&db.pool())).await
}

/// Makes a batch of the events after a position, unless there are none, or there is an open batch.
pub async fn add_batch(db: &Db, after: EventCursor, page: &EventPage, body: &str) -> StoreResult<()> {
    let Some(oldest) = page.events.first() else { return Ok(()) };
    let query = sqlx::query(
        "INSERT INTO webhook_batch (after_position, after_written_at, position, written_at, events, body,
                                    oldest_written_at)
         SELECT $1, $2, $3, $4, $5, $6, $7 FROM event_stream WHERE webhook_position = $1
         ON CONFLICT DO NOTHING",
    )
    .bind(after.position)
    .bind(after.time())
    .bind(page.end.position)
    .bind(page.end.time())
    .bind(page.events.len() as i32)
    .bind(body)
    .bind(oldest.cursor.time());
    db.run(query.execute(&db.pool())).await.map(drop)
}

/// Stores the body of a batch that lacks one.
pub async fn set_body(db: &Db, batch: Uuid, body: &str) -> StoreResult<()> {
    let query = sqlx::query("UPDATE webhook_batch SET body = $2 WHERE id = $1 AND died_at IS NULL");
    db.run(query.bind(batch).bind(body).execute(&db.pool())).await.map(drop)
}

/// Records an attempt that failed.
pub async fn note_attempt(db: &Db, batch: Uuid, error: &str) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE webhook_batch SET tries = tries + 1, last_error = $2, failed_at = now() WHERE id = $1",
    );
    db.run(query.bind(batch).bind(error).execute(&db.pool())).await.map(drop)
}

/// Ends a batch: it was delivered, or is given up. The position moves with it. Does nothing if it ended before.
pub async fn end_batch(db: &Db, batch: Uuid, is_delivered: bool) -> StoreResult<()> {
    let mut tx = db.begin().await?;
    let ended = if is_delivered {
        "DELETE FROM webhook_batch WHERE id = $1 AND died_at IS NULL RETURNING position, written_at"
    } else {
        "UPDATE webhook_batch SET died_at = now(), body = NULL WHERE id = $1 AND died_at IS NULL
         RETURNING position, written_at"
    };
    let ended: Option<(i64, DateTime<Utc>)> =
        db.run(sqlx::query_as(ended).bind(batch).fetch_optional(&mut *tx.inner)).await?;
    if let Some((position, written_at)) = ended {
        let moved = sqlx::query(MOVE).bind(position).bind(written_at);
        db.run(moved.execute(&mut *tx.inner)).await?;
    }
    tx.commit().await
}

/// Batches that were given up, the oldest first, and then the one that failed and is tried again.
pub async fn failed_batches(db: &Db) -> StoreResult<Vec<FailedBatch>> {
    let query = sqlx::query_as(
        "SELECT * FROM webhook_batch WHERE died_at IS NOT NULL OR tries > 0 ORDER BY died_at, position",
    );
    db.run(query.fetch_all(&db.pool())).await
}

/// The last failure of the batch that is tried again. Attempts are at most two hours apart, unless the webhook was
/// turned off.
pub async fn webhook_failure(db: &Db) -> StoreResult<Option<WebhookFailure>> {
    let query = sqlx::query_as(
        "SELECT last_error AS reason, failed_at AS at FROM webhook_batch
         WHERE died_at IS NULL AND failed_at > now() - interval '3 hours' AND last_error IS NOT NULL",
    );
    db.run(query.fetch_optional(&db.pool())).await
}

/// Deletes batches that were given up longer ago than `retention`, and has an open body made again that may
/// hold the subject of an erased user for longer than `subjects`.
pub async fn clean_batches(db: &Db, retention: Duration, subjects: Duration) -> StoreResult<()> {
    let query = sqlx::query("DELETE FROM webhook_batch WHERE died_at < now() - $1 * interval '1 ms'");
    db.run(query.bind(retention.as_millis() as i64).execute(&db.pool())).await?;
    let query = sqlx::query(
        "UPDATE webhook_batch SET body = NULL
         WHERE body IS NOT NULL AND created_at < now() - $1 * interval '1 ms' AND strpos(body, '\"ERASED\"') > 0",
    );
    db.run(query.bind(subjects.as_millis() as i64).execute(&db.pool())).await.map(drop)
}

/// Has the body of an open batch made again if a user is in it. Erase the user's events first.
pub async fn erase_from_batch(tx: &mut Tx, user: UserId) -> StoreResult<()> {
    let query = sqlx::query("UPDATE webhook_batch SET body = NULL WHERE strpos(body, $1) > 0");
    let named = format!("\"user_{}\"", user.get());
    tx.db.run(query.bind(named).execute(&mut *tx.inner)).await.map(drop)
}
