//! History: every step of every edge, and events that could not be read.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate};

use super::{Db, Tx, times::timestamp};
use crate::{
    catalogue::Flip,
    primitives::{Offset, ShardId},
    store::StoreResult,
};

/// A flip and the target's total after it.
pub struct Step<'a> {
    pub flip: &'a Flip,
    pub total_after: i64,
}

impl Db {
    /// Makes sure that the days of these flips have a partition. Call it before the batch's transaction:
    /// a new partition locks the whole table for a moment.
    pub async fn ensure_activity_days(&self, days: &BTreeSet<NaiveDate>) -> StoreResult<()> {
        let days: Vec<NaiveDate> = days.iter().copied().collect();
        let query =
            sqlx::query("SELECT ensure_activity_day(day) FROM unnest($1::date[]) AS d (day)").bind(days);
        self.run(query.execute(&self.pool())).await.map(drop)
    }
}

/// The UTC day of a flip, on which its history stands.
pub fn day_of(flip: &Flip) -> NaiveDate {
    DateTime::from_timestamp_millis(flip.at).unwrap_or_default().date_naive()
}

pub async fn add_activity(db: &Db, tx: &mut Tx, steps: &[Step<'_>]) -> StoreResult<()> {
    let query = sqlx::query(concat!(
        "INSERT INTO activity (at, kind, actor_id, target_id, is_on, total_after)
         SELECT ",
        timestamp!("at"),
        ", kind, actor_id, target_id, is_on, total_after
         FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::boolean[], $6::bigint[])
         AS step (at, kind, actor_id, target_id, is_on, total_after)"
    ))
    .bind(steps.iter().map(|step| step.flip.at).collect::<Vec<_>>())
    .bind(steps.iter().map(|step| step.flip.kind.name()).collect::<Vec<_>>())
    .bind(steps.iter().map(|step| step.flip.actor.get()).collect::<Vec<_>>())
    .bind(steps.iter().map(|step| step.flip.target.get()).collect::<Vec<_>>())
    .bind(steps.iter().map(|step| step.flip.on).collect::<Vec<_>>())
    .bind(steps.iter().map(|step| step.total_after).collect::<Vec<_>>());
    db.run(query.execute(&mut **tx)).await.map(drop)
}

/// Keeps an event that could not be read, once.
pub async fn add_dead_event(
    db: &Db,
    tx: &mut Tx,
    shard: ShardId,
    at: Offset,
    payload: &str,
) -> StoreResult<()> {
    let query = sqlx::query(
        "INSERT INTO dead_event (shard, generation, number, payload) VALUES ($1, $2, $3, $4)
         ON CONFLICT ON CONSTRAINT dead_event_once DO NOTHING",
    )
    .bind(shard.0 as i16)
    .bind(at.generation as i64)
    .bind(at.number as i64)
    .bind(payload);
    db.run(query.execute(&mut **tx)).await.map(drop)
}
