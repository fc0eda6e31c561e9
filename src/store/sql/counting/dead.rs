//! Dead events (a dead-letter queue): log entries that cannot be persisted, set aside so that their shard continues.

use std::{collections::BTreeSet, time::Duration};

use chrono::{DateTime, Utc};
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Db, Tx, columns::offset, from_catalogue, times::timestamp},
};
use plaudit_catalogue::{
    Flip,
    event_log::{Entry, Event},
    primitives::{Offset, ShardId},
};

/// Longest stored error, in bytes.
const LONGEST_ERROR: usize = 1_000;

/// A stored dead event.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct DeadEvent {
    /// The id for operators. Within a shard it rises in the order of the log.
    pub serial: i64,
    pub shard: ShardId,
    #[sqlx(flatten)]
    pub offset: Offset,
    /// The text of the log entry.
    pub payload: String,
    /// Why PostgreSQL refused it; `None` if it could not be read.
    pub error: Option<String>,
    /// Attempts before it died.
    pub tries: i32,
    pub died_at: DateTime<Utc>,
    /// Whether it was applied or dropped, or a later event of its edge was persisted.
    pub is_decided: bool,
    /// Whether its edge is known, so that later events of the edge decide it.
    pub edge_is_known: bool,
    /// Whether activity was kept when it died.
    pub history: bool,
}

/// Why an event is dead, and after how many attempts.
#[derive(Clone, Copy, Debug)]
pub struct GivenUp<'a> {
    /// `None` if it cannot be read.
    pub error: Option<&'a str>,
    pub tries: u32,
    pub history: bool,
}

/// Stores a dead event, unless it is already stored.
pub async fn add_dead_event(
    tx: &mut Tx,
    shard: ShardId,
    entry: &Entry,
    given_up: GivenUp<'_>,
) -> StoreResult<()> {
    let flip = entry.flip();
    let query = sqlx::query(
        "INSERT INTO dead_event (shard, log, generation, number, payload, error, tries, history,
                                 kind, actor_id, target_id)
         VALUES ($1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT ON CONSTRAINT dead_event_once DO NOTHING",
    )
    .bind(shard.0 as i16)
    .bind(entry.offset.generation as i64)
    .bind(entry.offset.number as i64)
    .bind(without_nul(&entry.event.to_string()))
    .bind(given_up.error.map(short))
    .bind(given_up.tries as i32)
    .bind(given_up.history)
    .bind(flip.map(|flip| flip.kind.name()))
    .bind(flip.map(|flip| flip.actor.get()))
    .bind(flip.map(|flip| flip.target.get()));
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Decides dead events of these flips' edges, which later flips supersede, except those after `before`.
pub async fn supersede_dead_events(
    tx: &mut Tx,
    shard: ShardId,
    flips: &[&Flip],
    before: Offset,
) -> StoreResult<()> {
    // Forces one look-up per edge for any statistics of the table, so that all transactions lock in the same order.
    let query = sqlx::query(
        "WITH older AS (
             SELECT d.serial FROM dead_event AS d WHERE d.serial IN (
                 SELECT of_edge.serial
                 FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS edge (kind, actor_id, target_id)
                 CROSS JOIN LATERAL (
                     SELECT e.serial FROM dead_event AS e
                     WHERE e.decided_at IS NULL AND e.shard = $1 AND e.kind = edge.kind
                       AND e.actor_id = edge.actor_id AND e.target_id = edge.target_id
                       AND (e.generation, e.number) < ($5, $6)
                     OFFSET 0
                 ) AS of_edge
             ) ORDER BY d.serial FOR UPDATE
         )
         UPDATE dead_event SET decided_at = now()
         FROM older WHERE dead_event.serial = older.serial AND dead_event.decided_at IS NULL",
    )
    .bind(shard.0 as i16)
    .bind(flips.iter().map(|flip| flip.kind.name()).collect::<Vec<_>>())
    .bind(flips.iter().map(|flip| flip.actor.get()).collect::<Vec<_>>())
    .bind(flips.iter().map(|flip| flip.target.get()).collect::<Vec<_>>())
    .bind(before.generation as i64)
    .bind(before.number as i64);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Locks a dead event together with the others of its edge, always in the same order. `None` if it does not exist.
pub async fn lock_dead_event(tx: &mut Tx, serial: i64) -> StoreResult<Option<DeadEvent>> {
    let text = format!(
        "SELECT {COLUMNS} FROM dead_event AS d WHERE d.serial = $1 OR EXISTS (
             SELECT FROM dead_event AS o WHERE o.serial = $1 AND d.decided_at IS NULL AND d.shard = o.shard
                AND d.kind = o.kind AND d.actor_id = o.actor_id AND d.target_id = o.target_id
         ) ORDER BY d.serial FOR UPDATE OF d"
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(serial);
    let events: Vec<DeadEvent> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    Ok(events.into_iter().find(|event| event.serial == serial))
}

/// It waits no more.
pub async fn decide_dead_event(tx: &mut Tx, serial: i64) -> StoreResult<()> {
    let query = sqlx::query("UPDATE dead_event SET decided_at = now() WHERE serial = $1").bind(serial);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Whether the flip's row has a later time than the flip.
pub async fn edge_changed_after(tx: &mut Tx, flip: &Flip) -> StoreResult<bool> {
    let text = format!(
        "SELECT EXISTS (SELECT FROM {} WHERE actor_id = $1 AND target_id = $2 AND changed_at > {})",
        flip.kind.name(),
        timestamp!("$3::bigint"),
    );
    let query =
        sqlx::query_scalar(from_catalogue(text)).bind(flip.actor.get()).bind(flip.target.get()).bind(flip.at);
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// Part of a shard's log: after `from`, up to `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogSpan {
    pub shard: ShardId,
    pub from: Offset,
    pub to: Offset,
}

/// Offsets of the dead events of each part of a log, also of decided ones.
pub async fn dead_in(db: &Db, spans: &[LogSpan]) -> StoreResult<Vec<BTreeSet<Offset>>> {
    let column = |value: fn(&LogSpan) -> i64| -> Vec<i64> { spans.iter().map(value).collect() };
    let query = sqlx::query_as(
        "SELECT span.place, d.generation, d.number
         FROM unnest($1::smallint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
             WITH ORDINALITY AS span (shard, generation, number, to_generation, to_number, place)
         JOIN dead_event AS d ON d.shard = span.shard
             AND (d.generation, d.number) > (span.generation, span.number)
             AND (d.generation, d.number) <= (span.to_generation, span.to_number)",
    )
    .bind(spans.iter().map(|span| span.shard.0 as i16).collect::<Vec<_>>())
    .bind(column(|span| span.from.generation as i64))
    .bind(column(|span| span.from.number as i64))
    .bind(column(|span| clamped(span.to.generation)))
    .bind(column(|span| clamped(span.to.number)));
    let found: Vec<(i64, i64, i64)> = db.run(query.fetch_all(&db.pool())).await?;
    let mut dead = vec![BTreeSet::new(); spans.len()];
    for (place, generation, number) in found {
        if let Some(of_span) = dead.get_mut(place as usize - 1) {
            of_span.insert(offset(generation, number));
        }
    }
    Ok(dead)
}

/// The next dead events that wait for a decision, in the order of their serials.
pub async fn dead_events(db: &Db, after: i64, most: usize) -> StoreResult<Vec<DeadEvent>> {
    let text = format!(
        "SELECT {COLUMNS} FROM dead_event AS d WHERE serial > $1 AND decided_at IS NULL ORDER BY serial LIMIT $2"
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(after).bind(most as i64);
    db.run(query.fetch_all(&db.pool())).await
}

/// Number of dead events that wait for a decision.
pub async fn undecided_dead_events(db: &Db) -> StoreResult<i64> {
    let query = sqlx::query_scalar("SELECT count(*) FROM dead_event WHERE decided_at IS NULL");
    db.run(query.fetch_one(&db.pool())).await
}

pub async fn dead_event(db: &Db, serial: i64) -> StoreResult<Option<DeadEvent>> {
    let text = format!("SELECT {COLUMNS} FROM dead_event AS d WHERE serial = $1");
    let query = sqlx::query_as(from_catalogue(text)).bind(serial);
    db.run(query.fetch_optional(&db.pool())).await
}

/// Deletes at most a page of decided events that are older than `kept`. Returns their number.
pub async fn delete_decided_dead_events(db: &Db, kept: Duration, page: i64) -> StoreResult<u64> {
    let query = sqlx::query(
        "DELETE FROM dead_event WHERE serial IN (
             SELECT serial FROM dead_event
             WHERE decided_at < now() - $1 * interval '1 ms' LIMIT $2)",
    )
    .bind(kept.as_millis() as i64)
    .bind(page);
    Ok(db.run(query.execute(&db.pool())).await?.rows_affected())
}

const COLUMNS: &str = "d.generation, d.number, d.serial, d.shard, d.payload, d.error, d.tries,
    d.created_at AS died_at, d.decided_at IS NOT NULL AS is_decided, d.kind IS NOT NULL AS edge_is_known, d.history";

impl DeadEvent {
    pub fn event(&self) -> Event {
        Event::decode(&self.payload)
    }
}

fn clamped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Replaces NUL, which PostgreSQL's text cannot contain: an event that cannot be stored would block its shard.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{2400}")
}

fn short(error: &str) -> String {
    let end = error.floor_char_boundary(LONGEST_ERROR);
    without_nul(&error[..end])
}
