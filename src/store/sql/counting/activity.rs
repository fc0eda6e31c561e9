//! Activity of edges: the table `activity` has every flip, in one partition per UTC day; it is read in steps of equal
//! length.

use std::{collections::BTreeSet, time::Duration};

use chrono::{DateTime, NaiveDate, Utc};

use crate::{
    StoreResult,
    sql::{Db, Tx, from_catalogue, times::timestamp},
};
use plaudit_catalogue::{
    EdgeKind, Flip, UnixMillis,
    primitives::{Id, UserId},
};

/// A flip and the target's total after it.
pub struct CountedFlip<'a> {
    pub flip: &'a Flip,
    /// 0 for an erased user.
    pub actor: i64,
    pub total_after: i64,
}

/// The activity to read, in steps of equal length.
#[derive(Clone, Copy, Debug)]
pub struct ActivityQuery {
    pub kind: EdgeKind,
    pub target: Id,
    /// Where the first step begins.
    pub from: UnixMillis,
    /// Where the last step ends.
    pub to: UnixMillis,
    /// Length of a step in milliseconds; a divisor of `from`.
    pub step: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Activity {
    /// The total when the first step began.
    pub before: i64,
    /// In order of time; steps without a flip are missing.
    pub steps: Vec<ActivityStep>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActivityStep {
    pub start: UnixMillis,
    pub gained: i64,
    pub lost: i64,
    /// The total after the flip that was written last, in this step or before it.
    pub total: i64,
}

/// How many flips on either side of the beginning of a query are searched for the one that was written last before
/// it, or first after it: the index has them in the order of the actions, and a batch may write them in another order.
const NEAR: &str = "100";
/// Increment of the sequence `activity_position`: each call reserves a block of this many positions, one per row.
const STEPS_AT_ONCE: usize = 10_000;
/// Days that have a partition.
const DAYS: &str = "SELECT day FROM pg_inherits
    JOIN pg_class ON pg_class.oid = inhrelid
    CROSS JOIN LATERAL to_date(substring(relname FROM '^activity_([0-9]{8})$'), 'YYYYMMDD') AS d (day)
    WHERE inhparent = 'activity'::regclass";
/// How long creating or dropping a partition may make writers wait.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

/// `None` for a target that does not exist.
pub async fn activity(db: &Db, wanted: &ActivityQuery) -> StoreResult<Option<Activity>> {
    // `written` is the position in the order of writing, then the total: the greatest array was written last.
    let text = format!(
        "WITH of_target AS NOT MATERIALIZED (
             SELECT at, is_on, ARRAY[coalesce(position, 0), total_after] AS written FROM activity
             WHERE kind = $1 AND target_id = $2
         ), before AS (
             SELECT max(written) AS written
             FROM (SELECT written FROM of_target WHERE at < {from} ORDER BY at DESC LIMIT {NEAR}) AS near
         ), before_first AS (
             SELECT written[2] - CASE WHEN is_on THEN 1 ELSE -1 END AS total
             FROM (SELECT written, is_on FROM of_target WHERE at >= {from} ORDER BY at LIMIT {NEAR}) AS near
             ORDER BY written LIMIT 1
         ), step AS (
             SELECT date_bin($5 * interval '1 ms', at, 'epoch') AS start, max(written) AS written,
                    count(*) FILTER (WHERE is_on) AS gained, count(*) FILTER (WHERE NOT is_on) AS lost
             FROM of_target WHERE at >= {from} AND at < {to} GROUP BY 1
         )
         SELECT coalesce(before.written[2], (SELECT total FROM before_first), c.{total}), start, gained, lost,
                (greatest(before.written, max(step.written) OVER (ORDER BY start)))[2]
         FROM {target}_counts AS c CROSS JOIN before LEFT JOIN step ON true
         WHERE c.id = $2 ORDER BY start",
        from = timestamp!("$3"),
        to = timestamp!("$4"),
        total = wanted.kind.total().name(),
        target = wanted.kind.target().name(),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(wanted.kind.number())
        .bind(wanted.target.get())
        .bind(wanted.from)
        .bind(wanted.to)
        .bind(wanted.step);
    let rows: Vec<StepColumns> = db.run(query.fetch_all(&db.pool())).await?;
    let Some((before, ..)) = rows.first() else { return Ok(None) };
    Ok(Some(Activity { before: *before, steps: rows.iter().filter_map(activity_step).collect() }))
}

/// Creates the partitions of these days if they do not exist. Call it before the batch's transaction: creating a
/// partition locks the whole table for a moment.
pub async fn ensure_activity_days(db: &Db, days: &BTreeSet<NaiveDate>) -> StoreResult<()> {
    let days: Vec<NaiveDate> = days.iter().copied().collect();
    let query = sqlx::query("SELECT ensure_activity_day(day) FROM unnest($1::date[]) AS d (day)").bind(days);
    db.run(query.execute(&db.pool())).await.map(drop)
}

/// Creates the partition of a future day. Fails if writers would have to wait longer than 200 ms.
pub async fn prepare_activity_day(db: &Db, day: NaiveDate) -> StoreResult<()> {
    let mut tx = begin_with_lock_timeout(db).await?;
    let query = sqlx::query("SELECT ensure_activity_day($1)").bind(day);
    db.run(query.execute(&mut *tx.inner)).await?;
    tx.commit().await
}

/// Days before `day` that have a partition, oldest first.
pub async fn activity_days_before(db: &Db, day: NaiveDate) -> StoreResult<Vec<NaiveDate>> {
    let query = sqlx::query_scalar(from_catalogue(format!("{DAYS} AND day < $1 ORDER BY day")));
    db.run(query.bind(day).fetch_all(&db.pool())).await
}

/// Drops the partition of a day. Fails if writers would have to wait longer than 200 ms.
pub async fn drop_activity_day(db: &Db, day: NaiveDate) -> StoreResult<()> {
    let mut tx = begin_with_lock_timeout(db).await?;
    let text = format!("DROP TABLE IF EXISTS {}", partition(day));
    db.run(sqlx::query(from_catalogue(text)).execute(&mut *tx.inner)).await?;
    tx.commit().await
}

/// A transaction that waits only briefly for a lock on a whole table, because later statements queue behind it.
async fn begin_with_lock_timeout(db: &Db) -> StoreResult<Tx> {
    let mut tx = db.begin().await?;
    let text = format!("SET LOCAL lock_timeout = {}", LOCK_TIMEOUT.as_millis());
    db.run(sqlx::query(from_catalogue(text)).execute(&mut *tx.inner)).await?;
    Ok(tx)
}

/// The total before the first step, and a step: when it starts, gained, lost, and the total after it.
type StepColumns = (i64, Option<DateTime<Utc>>, Option<i64>, Option<i64>, Option<i64>);

/// `None` if there was no step: then the columns of the step are null.
fn activity_step((_, start, gained, lost, total): &StepColumns) -> Option<ActivityStep> {
    Some(ActivityStep {
        start: (*start)?.timestamp_millis(),
        gained: (*gained)?,
        lost: (*lost)?,
        total: (*total)?,
    })
}

/// The table of a day.
pub(crate) fn partition(day: NaiveDate) -> String {
    format!("activity_{}", day.format("%Y%m%d"))
}

/// The UTC day of a flip: its partition of `activity`.
pub fn day_of(flip: &Flip) -> NaiveDate {
    DateTime::from_timestamp_millis(flip.at).unwrap_or_default().date_naive()
}

/// Days that have a partition, the newest first, from `last` backwards.
pub async fn activity_days(tx: &mut Tx, last: NaiveDate) -> StoreResult<Vec<NaiveDate>> {
    let query = sqlx::query_scalar(from_catalogue(format!("{DAYS} AND day <= $1 ORDER BY day DESC")));
    tx.db.run(query.bind(last).fetch_all(&mut *tx.inner)).await
}

/// Writes flips; flips of one target keep their order. The caller has locked the totals of the targets.
pub async fn add_activity(tx: &mut Tx, steps: &mut [CountedFlip<'_>]) -> StoreResult<()> {
    // In the order of the index. The sort is stable: steps of one target keep their order.
    steps.sort_by_key(|step| (step.flip.kind, step.flip.target));
    for of_kind in steps.chunk_by(|one, other| one.flip.kind == other.flip.kind) {
        for page in of_kind.chunks(STEPS_AT_ONCE) {
            add_steps(tx, page[0].flip.kind, page).await?;
        }
    }
    Ok(())
}

async fn add_steps(tx: &mut Tx, kind: EdgeKind, steps: &[CountedFlip<'_>]) -> StoreResult<()> {
    let by = |step: &CountedFlip<'_>| step.flip.by.map(UserId::get);
    let by: Vec<Option<i64>> = steps.iter().map(by).collect();
    // The column costs nothing unless a service acted for a user.
    let (column, values) =
        if by.iter().any(Option::is_some) { (", acted_by", ", $7::bigint[]") } else { ("", "") };
    let text = format!(
        "INSERT INTO activity (at, kind, actor_id, target_id, is_on, total_after, position{column})
         SELECT {at}, $1, actor_id, target_id, is_on, total_after, block.first + place - 1{column}
         FROM (SELECT nextval('activity_position') AS first OFFSET 0) AS block
         CROSS JOIN unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[], $6::bigint[]{values})
                 WITH ORDINALITY AS step (at, actor_id, target_id, is_on, total_after{column}, place)",
        at = timestamp!("at"),
    );
    let query = sqlx::query(from_catalogue(text))
        .bind(kind.number())
        .bind(steps.iter().map(|step| step.flip.at).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.actor).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.flip.target.get()).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.flip.on).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.total_after).collect::<Vec<_>>());
    let query = if column.is_empty() { query } else { query.bind(by) };
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
