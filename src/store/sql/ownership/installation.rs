//! Table `installation`: what is chosen at the first start.

use chrono::{DateTime, Utc};
use sqlx::FromRow;

use crate::{StoreError, StoreResult, sql::Db};
use plaudit_catalogue::primitives::{Layout, ShardCount};

#[derive(Clone, Copy, Debug)]
pub struct Installation {
    /// Chosen at the first start; a reshard changes it.
    pub shards: ShardCount,
}

/// How the tables came to be on their timeline.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct TimelineBegun {
    /// They are on a new one: the next start begins it.
    pub is_new: bool,
    pub since: DateTime<Utc>,
    /// The last sign of life in the rows that were restored, or that a promoted standby had; `None` on the first one.
    pub from: Option<DateTime<Utc>>,
}

/// How the timeline began; `None` before the first start. Begins none.
pub async fn timeline_begun(db: &Db) -> StoreResult<Option<TimelineBegun>> {
    let query = sqlx::query_as(
        "SELECT timeline <> current_timeline() AS is_new, timeline_since AS since, timeline_from AS \"from\"
         FROM installation",
    );
    db.run(query.fetch_optional(&db.pool())).await
}

/// The virtual shards; `None` before the first start.
pub async fn shard_count(db: &Db) -> StoreResult<Option<ShardCount>> {
    let stored = sqlx::query_as("SELECT virtual_shards, layout FROM installation");
    let stored: Option<(i32, i32)> = db.run(stored.fetch_optional(&db.pool())).await?;
    stored.map(parse_shard_count).transpose()
}

/// Its id, which no other installation has.
pub async fn installation_id(db: &Db) -> StoreResult<String> {
    db.run(sqlx::query_scalar("SELECT id::text FROM installation").fetch_one(&db.pool())).await
}

/// The id and the virtual shards; `None` before the first start, also without tables.
pub async fn known_installation(db: &Db) -> StoreResult<Option<(String, ShardCount)>> {
    let exists = sqlx::query_scalar("SELECT to_regclass('installation') IS NOT NULL");
    let exists: bool = db.run(exists.fetch_one(&db.pool())).await?;
    if !exists {
        return Ok(None);
    }
    let Some(shards) = shard_count(db).await? else { return Ok(None) };
    Ok(Some((installation_id(db).await?, shards)))
}

/// Reads the installation; at the first start creates it with `shards` virtual shards.
pub async fn installation(db: &Db, shards: ShardCount) -> StoreResult<Installation> {
    // Two statements, because the second one also sees a row that another process has inserted at the same time.
    let created =
        sqlx::query(
        "INSERT INTO installation (virtual_shards, timeline) VALUES ($1, current_timeline()) ON CONFLICT DO NOTHING",
    )
    .bind(shards.get() as i32);
    db.run(created.execute(&db.pool())).await?;
    let stored = sqlx::query_as("SELECT virtual_shards, layout FROM installation");
    let stored: (i32, i32) = db.run(stored.fetch_one(&db.pool())).await?;
    let shards = parse_shard_count(stored)?;
    let rows = sqlx::query(
        "INSERT INTO shard (id) SELECT generate_series(0, virtual_shards - 1)::smallint FROM installation
         ON CONFLICT DO NOTHING",
    );
    db.run(rows.execute(&db.pool())).await?;
    Ok(Installation { shards })
}

pub(crate) fn parse_shard_count((stored, layout): (i32, i32)) -> StoreResult<ShardCount> {
    let shards = u16::try_from(stored).ok().and_then(ShardCount::new);
    let layout = u16::try_from(layout).ok().map(Layout);
    let shards = shards.zip(layout).map(|(shards, layout)| shards.in_layout(layout));
    shards.ok_or_else(|| StoreError::Unexpected(format!("{stored} virtual shards")))
}
