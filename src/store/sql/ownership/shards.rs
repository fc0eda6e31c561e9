//! Table `shard`: leases with fencing tokens, and how far each log is persisted.

use std::time::Duration;

use crate::{
    StoreError, StoreResult,
    sql::{Db, Tx, columns::offset},
};
use plaudit_catalogue::{
    event_log::EntryDigest,
    primitives::{Offset, ShardId},
};

/// Second key of the advisory lock that batches take shared, and a removal or hiding takes exclusively: cheaper than a
/// row lock per like. The first one is of the schema, since locks are of a whole database.
const REMOVAL_LOCK: i32 = 0x506c_6175;

/// Rows of [`PersistedState`].
const PERSISTED_STATE: &str =
    "SELECT generation, number, digest, epoch, fence, current_timeline() FROM shard ORDER BY id";

/// Leadership of one shard, with its fencing token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lease {
    pub shard: ShardId,
    pub fence: u64,
}

/// The table `shard`, read in one statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersistedState {
    /// Per shard: its log is persisted up to this offset.
    pub offsets: Vec<Offset>,
    /// Per shard: of the entry there, if it is known.
    pub digests: Vec<Option<EntryDigest>>,
    /// Per shard: epoch of its counters.
    pub epochs: Vec<u64>,
    /// Per shard: fencing token of its newest owner.
    pub fences: Vec<u64>,
    pub timeline: String,
}

/// A step of a log's persisted offset.
#[derive(Clone, Copy, Debug)]
pub struct OffsetStep {
    pub lease: Lease,
    pub from: Offset,
    pub to: Offset,
    /// Of the entry at `to`.
    pub digest: EntryDigest,
}

/// Takes a shard that has no owner, whose lease has expired, or that `owner` already owns, and raises its fencing
/// token. Not during a reshard, and not a shard of another layout. Compares with the clock, not with the start of
/// the statement, which may have waited for the row.
pub async fn acquire_lease(
    db: &Db,
    shard: ShardId,
    owner: &str,
    life: Duration,
) -> StoreResult<Option<Lease>> {
    let leases = db.leases();
    let query = sqlx::query_scalar(
        "UPDATE shard SET owner = $2, fence = fence + 1, lease_until = clock_timestamp() + $3 * interval '1 ms',
             owned_since = clock_timestamp()
         WHERE id = $1 AND (owner IS NULL OR owner = $2 OR lease_until < clock_timestamp())
             AND EXISTS (SELECT FROM installation WHERE layout = $4 AND reshard_to IS NULL)
         RETURNING fence",
    )
    .bind(shard.0 as i16)
    .bind(owner)
    .bind(life.as_millis() as i64)
    .bind(i32::from(shard.1.0));
    let fence: Option<i64> = leases.run(query.fetch_optional(&leases.pool())).await?;
    Ok(fence.map(|fence| Lease { shard, fence: fence as u64 }))
}

/// Renews leases, and reads the table as it is when the statement begins. Returns for each whether it was
/// renewed: not if the shard has a newer owner, nor if a transaction has the row locked. It waits for no
/// lock, because statements that wait for several rows may wait for each other.
pub async fn renew_leases(
    db: &Db,
    leases: &[Lease],
    life: Duration,
) -> StoreResult<(PersistedState, Vec<bool>)> {
    let pool = db.leases();
    let text = "WITH free AS (
             SELECT s.id FROM shard AS s JOIN unnest($1::smallint[], $2::bigint[]) AS lease (shard, fence)
                 ON s.id = lease.shard AND s.fence = lease.fence
             FOR UPDATE OF s SKIP LOCKED
         ), renewed AS (
             UPDATE shard AS s SET lease_until = clock_timestamp() + $3 * interval '1 ms'
             FROM free WHERE s.id = free.id RETURNING s.id
         )
         SELECT generation, number, digest, epoch, fence, current_timeline(),
                id = ANY (ARRAY(SELECT id FROM renewed)) FROM shard ORDER BY id";
    let query = sqlx::query_as(text)
        .bind(leases.iter().map(|lease| lease.shard.0 as i16).collect::<Vec<_>>())
        .bind(leases.iter().map(|lease| lease.fence as i64).collect::<Vec<_>>())
        .bind(life.as_millis() as i64);
    type Row = (i64, i64, Option<i64>, i64, i64, String, bool);
    let rows: Vec<Row> = pool.run(query.fetch_all(&pool.pool())).await?;
    let is_renewed = |lease: &Lease| rows.get(lease.shard.index()).is_some_and(|row| row.6);
    let renewed = leases.iter().map(is_renewed).collect();
    let state = rows.into_iter().map(|(generation, number, digest, epoch, fence, timeline, _)| {
        (generation, number, digest, epoch, fence, timeline)
    });
    Ok((parse_state(state), renewed))
}

/// Renews a lease, and reads the table as it is when the statement begins.
///
/// # Errors
/// [`StoreError::Fenced`] when the shard has a newer owner.
pub async fn renew_lease(db: &Db, lease: Lease, life: Duration) -> StoreResult<PersistedState> {
    let leases = db.leases();
    let text = "WITH renewed AS (
             UPDATE shard SET lease_until = clock_timestamp() + $3 * interval '1 ms'
             WHERE id = $1 AND fence = $2 RETURNING id
         )
         SELECT generation, number, digest, epoch, fence, current_timeline() FROM shard
         WHERE EXISTS (SELECT FROM renewed) ORDER BY id";
    let query = sqlx::query_as(text)
        .bind(lease.shard.0 as i16)
        .bind(lease.fence as i64)
        .bind(life.as_millis() as i64);
    let rows = leases.run(query.fetch_all(&leases.pool())).await?;
    if rows.is_empty() { Err(StoreError::Fenced) } else { Ok(parse_state(rows)) }
}

/// Releases a shard, so that the next owner need not wait until the lease expires, and notifies the others.
pub async fn release_lease(db: &Db, lease: Lease) -> StoreResult<()> {
    let leases = db.leases();
    let released = sqlx::query(
        "WITH released AS (
             UPDATE shard SET owner = NULL, lease_until = NULL WHERE id = $1 AND fence = $2 RETURNING id
         )
         SELECT pg_notify('shards', '') FROM released",
    )
    .bind(lease.shard.0 as i16)
    .bind(lease.fence as i64);
    leases.run(released.execute(&leases.pool())).await.map(drop)
}

pub async fn persisted_state(db: &Db) -> StoreResult<PersistedState> {
    let rows = db.run(sqlx::query_as(PERSISTED_STATE).fetch_all(&db.pool())).await?;
    Ok(parse_state(rows))
}

/// Raises the epoch of a shard's counters above `seen` (the epoch in Redis) and above its own, and reads how far
/// each log is persisted after that.
pub async fn raise_epoch(db: &Db, lease: Lease, seen: u64) -> StoreResult<PersistedState> {
    let mut tx = db.begin().await?;
    let raised = sqlx::query("UPDATE shard SET epoch = greatest(epoch, $3) + 1 WHERE id = $1 AND fence = $2")
        .bind(lease.shard.0 as i16)
        .bind(lease.fence as i64)
        .bind(seen as i64);
    one_row(db.run(raised.execute(&mut *tx.inner)).await?.rows_affected())?;
    let rows = db.run(sqlx::query_as(PERSISTED_STATE).fetch_all(&mut *tx.inner)).await?;
    tx.commit().await?;
    Ok(parse_state(rows))
}

/// Begins a log's next generation, above `seen`, and returns it. What survived of the generation before must be
/// persisted. If events were `lost`, the epoch of every shard's counters rises too: any of them may include a lost
/// event.
pub async fn raise_generation(db: &Db, lease: Lease, seen: u64, lost: bool) -> StoreResult<u64> {
    let mut tx = db.begin().await?;
    if lost {
        // All rows in id order, so that two owners that do this at once cannot deadlock.
        let locked = sqlx::query("SELECT id FROM shard ORDER BY id FOR UPDATE");
        db.run(locked.execute(&mut *tx.inner)).await?;
    }
    let raised = sqlx::query_scalar(
        "UPDATE shard SET generation = greatest(generation, $3) + 1, number = 0, digest = NULL
         WHERE id = $1 AND fence = $2 RETURNING generation",
    )
    .bind(lease.shard.0 as i16)
    .bind(lease.fence as i64)
    .bind(seen as i64);
    let generation: Option<i64> = db.run(raised.fetch_optional(&mut *tx.inner)).await?;
    let generation = generation.ok_or(StoreError::Fenced)?;
    if lost {
        let epochs = sqlx::query("UPDATE shard SET epoch = epoch + 1");
        db.run(epochs.execute(&mut *tx.inner)).await?;
    }
    tx.commit().await?;
    Ok(generation as u64)
}

/// Claims the entries of each step for this transaction: checks the fencing tokens and moves the offsets,
/// which also locks the shards' rows, in the given order. Returns the shards of whose edges dead events wait for a
/// decision.
///
/// # Errors
/// [`StoreError::Fenced`] if a shard has a newer owner, or its offset is not `from`.
pub async fn advance_offsets(tx: &mut Tx, steps: &[OffsetStep]) -> StoreResult<Vec<ShardId>> {
    let column =
        |value: fn(&OffsetStep) -> u64| -> Vec<i64> { steps.iter().map(|step| value(step) as i64).collect() };
    let moved = sqlx::query_as(
        "UPDATE shard AS s SET generation = step.to_generation, number = step.to_number, digest = step.digest
         FROM unnest($1::smallint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                     $7::bigint[])
             AS step (shard, fence, generation, number, to_generation, to_number, digest)
         WHERE s.id = step.shard AND s.fence = step.fence
             AND s.generation = step.generation AND s.number = step.number
         RETURNING s.id,
                   EXISTS (SELECT FROM dead_event AS d
                           WHERE d.decided_at IS NULL AND d.shard = s.id AND d.actor_id > 0)",
    )
    .bind(steps.iter().map(|step| step.lease.shard.0 as i16).collect::<Vec<_>>())
    .bind(column(|step| step.lease.fence))
    .bind(column(|step| step.from.generation))
    .bind(column(|step| step.from.number))
    .bind(column(|step| step.to.generation))
    .bind(column(|step| step.to.number))
    .bind(steps.iter().map(|step| step.digest.0).collect::<Vec<_>>());
    let moved: Vec<(i16, bool)> = tx.db.run(moved.fetch_all(&mut *tx.inner)).await?;
    if moved.len() != steps.len() {
        return Err(StoreError::Fenced);
    }
    Ok(moved
        .into_iter()
        .filter(|(_, has_dead)| *has_dead)
        .filter_map(|(id, _)| steps.iter().map(|step| step.lease.shard).find(|shard| shard.0 as i16 == id))
        .collect())
}

/// Blocks removals and hidings until the transaction ends.
pub async fn lock_removals_shared(tx: &mut Tx) -> StoreResult<()> {
    let lock =
        sqlx::query("SELECT pg_advisory_xact_lock_shared(hashtext(current_schema()), $1)").bind(REMOVAL_LOCK);
    tx.db.run(lock.execute(&mut *tx.inner)).await.map(drop)
}

/// Blocks batches, and other removals and hidings, until the transaction ends: no batch writes an edge by an
/// outdated state of its actor or target.
pub async fn lock_removals(tx: &mut Tx) -> StoreResult<()> {
    let lock = sqlx::query("SELECT pg_advisory_xact_lock(hashtext(current_schema()), $1)").bind(REMOVAL_LOCK);
    tx.db.run(lock.execute(&mut *tx.inner)).await.map(drop)
}

pub(crate) fn offsets(generations: &[i64], numbers: &[i64]) -> Vec<Offset> {
    generations.iter().zip(numbers).map(|(generation, number)| offset(*generation, *number)).collect()
}

fn parse_state(rows: impl IntoIterator<Item = (i64, i64, Option<i64>, i64, i64, String)>) -> PersistedState {
    let mut state = PersistedState {
        offsets: Vec::new(),
        digests: Vec::new(),
        epochs: Vec::new(),
        fences: Vec::new(),
        timeline: String::new(),
    };
    for (generation, number, digest, epoch, fence, timeline) in rows {
        state.offsets.push(offset(generation, number));
        state.digests.push(digest.map(EntryDigest));
        state.epochs.push(epoch as u64);
        state.fences.push(fence as u64);
        state.timeline = timeline;
    }
    state
}

fn one_row(affected: u64) -> StoreResult<()> {
    if affected == 1 { Ok(()) } else { Err(StoreError::Fenced) }
}
