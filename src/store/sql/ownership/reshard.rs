//! A reshard in PostgreSQL: takes all shards from their owners, and begins the next layout in one transaction.

use super::{installation::parse_shard_count, shards::Lease};
use crate::{StoreError, StoreResult, sql::Db};
use plaudit_catalogue::primitives::{Offset, ShardCount};

/// Owner of all shards during a reshard. Its leases do not expire.
const OWNER: &str = "reshard";

/// Where an installation is between two layouts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReshardState {
    pub shards: ShardCount,
    /// The number of shards of the reshard that is under way.
    pub to: Option<u16>,
    /// The number of shards of the layout before, while Redis has its keys.
    pub from: Option<u16>,
}

/// The highest numbers that any shard of a layout has had; the numbers of the next layout are above.
#[derive(Clone, Copy, Debug)]
pub struct Highest {
    pub generation: u64,
    pub epoch: u64,
}

/// `None` before the first start.
pub async fn reshard_state(db: &Db) -> StoreResult<Option<ReshardState>> {
    let query = sqlx::query_as("SELECT virtual_shards, layout, reshard_to, reshard_from FROM installation");
    let row: Option<(i32, i32, Option<i32>, Option<i32>)> = db.run(query.fetch_optional(&db.pool())).await?;
    row.map(|(shards, layout, to, from)| {
        let shards = parse_shard_count((shards, layout))?;
        Ok(ReshardState { shards, to: to.map(|to| to as u16), from: from.map(|from| from as u16) })
    })
    .transpose()
}

/// Takes all shards of `from` from their owners, in order. A reshard to the same number goes on.
///
/// # Errors
/// [`StoreError::Fenced`] if the installation has another layout, or a reshard to another number is under way.
pub async fn begin_reshard(db: &Db, from: ShardCount, to: ShardCount) -> StoreResult<Vec<Lease>> {
    let mut tx = db.begin().await?;
    // All rows in id order, as in `raise_generation`.
    let locked = sqlx::query("SELECT id FROM shard ORDER BY id FOR UPDATE");
    db.run(locked.execute(&mut *tx.inner)).await?;
    let marked = sqlx::query(
        "UPDATE installation SET reshard_to = $1 WHERE layout = $2 AND coalesce(reshard_to, $1) = $1",
    )
    .bind(to.get() as i32)
    .bind(i32::from(from.layout().0));
    if db.run(marked.execute(&mut *tx.inner)).await?.rows_affected() == 0 {
        return Err(StoreError::Fenced);
    }
    let taken = sqlx::query("UPDATE shard SET owner = $1, lease_until = NULL, fence = fence + 1").bind(OWNER);
    db.run(taken.execute(&mut *tx.inner)).await?;
    let fences = sqlx::query_scalar("SELECT fence FROM shard ORDER BY id");
    let fences: Vec<i64> = db.run(fences.fetch_all(&mut *tx.inner)).await?;
    tx.commit().await?;
    Ok(from.all().zip(fences).map(|(shard, fence)| Lease { shard, fence: fence as u64 }).collect())
}

/// Begins the next layout with `to` shards, if `leases` are still the newest and each log is persisted to
/// its end. No generation, epoch or fencing token of before comes again. Work of a shard goes to the shard
/// that its subject has then.
///
/// # Errors
/// [`StoreError::Fenced`] if another reshard has taken over.
pub async fn finish_reshard(
    db: &Db,
    leases: &[Lease],
    ends: &[Option<Offset>],
    (from, to): (ShardCount, ShardCount),
    highest: Highest,
) -> StoreResult<()> {
    let mut tx = db.begin().await?;
    let rows = sqlx::query_as("SELECT fence, generation, number FROM shard ORDER BY id FOR UPDATE");
    let rows: Vec<(i64, i64, i64)> = db.run(rows.fetch_all(&mut *tx.inner)).await?;
    let is_due =
        |((fence, generation, number), (lease, end)): (&(i64, i64, i64), (&Lease, &Option<Offset>))| {
            let persisted = Offset::new(*generation as u64, *number as u64);
            *fence as u64 == lease.fence && end.is_none_or(|end| end <= persisted)
        };
    if rows.len() != leases.len() || !rows.iter().zip(leases.iter().zip(ends)).all(is_due) {
        return Err(StoreError::Fenced);
    }
    let moved = sqlx::query(
        "UPDATE installation SET virtual_shards = $1, layout = layout + 1, reshard_to = NULL, reshard_from = $3
         WHERE layout = $2 AND reshard_to = $1",
    )
    .bind(to.get() as i32)
    .bind(i32::from(from.layout().0))
    .bind(from.get() as i32);
    if db.run(moved.execute(&mut *tx.inner)).await?.rows_affected() == 0 {
        return Err(StoreError::Fenced);
    }
    // New rows take part in the highest numbers with zero, which changes nothing.
    for text in [
        "INSERT INTO shard (id) SELECT generate_series(0, $1 - 1)::smallint ON CONFLICT DO NOTHING",
        "WITH highest AS (SELECT max(fence) AS fence FROM shard)
         UPDATE shard SET fence = highest.fence + 1, owner = NULL, lease_until = NULL FROM highest
         WHERE $1 > 0",
        "DELETE FROM shard WHERE id >= $1",
        "UPDATE invalidation SET shard = shard % $1, due_at = now() WHERE $1 > 0",
        "UPDATE backfill SET shard = split_part(subject, '_', 2)::bigint % $1",
        "UPDATE dead_event SET shard = CASE WHEN actor_id > 0 THEN actor_id % $1 ELSE shard % $1 END",
    ] {
        db.run(sqlx::query(text).bind(to.get() as i32).execute(&mut *tx.inner)).await?;
    }
    let raised = sqlx::query(
        "UPDATE shard SET number = 0, digest = NULL, generation = greatest($1, highest.generation) + 1,
                          epoch = greatest($2, highest.epoch) + 1
         FROM (SELECT max(generation) AS generation, max(epoch) AS epoch FROM shard) AS highest",
    )
    .bind(highest.generation as i64)
    .bind(highest.epoch as i64);
    db.run(raised.execute(&mut *tx.inner)).await?;
    tx.commit().await
}

/// Gives the shards free in the layout of before. Returns whether a reshard was under way.
pub async fn abort_reshard(db: &Db) -> StoreResult<bool> {
    let mut tx = db.begin().await?;
    let locked = sqlx::query("SELECT id FROM shard ORDER BY id FOR UPDATE");
    db.run(locked.execute(&mut *tx.inner)).await?;
    let freed = sqlx::query("UPDATE shard SET owner = NULL, fence = fence + 1 WHERE owner = $1").bind(OWNER);
    db.run(freed.execute(&mut *tx.inner)).await?;
    let marked = sqlx::query("UPDATE installation SET reshard_to = NULL WHERE reshard_to IS NOT NULL");
    let was_under_way = db.run(marked.execute(&mut *tx.inner)).await?.rows_affected() > 0;
    tx.commit().await?;
    Ok(was_under_way)
}

/// Records that Redis has no keys of the layout before `of`.
pub async fn forget_former_layout(db: &Db, of: ShardCount) -> StoreResult<()> {
    let query = sqlx::query("UPDATE installation SET reshard_from = NULL WHERE layout = $1")
        .bind(i32::from(of.layout().0));
    db.run(query.execute(&db.pool())).await.map(drop)
}

/// Gives work to an owner that a process with more shards, which did not know of the present layout, has written.
pub async fn rehome_work(db: &Db, shards: ShardCount) -> StoreResult<()> {
    for text in [
        "UPDATE invalidation SET shard = shard % $1 WHERE shard >= $1",
        "UPDATE backfill SET shard = split_part(subject, '_', 2)::bigint % $1
         WHERE shard >= $1 AND finished_at IS NULL",
    ] {
        db.run(sqlx::query(text).bind(shards.get() as i32).execute(&db.pool())).await?;
    }
    Ok(())
}
