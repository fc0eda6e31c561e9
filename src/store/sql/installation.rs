//! Table `installation`: the settings that are fixed at the first start.

use super::Db;
use crate::{
    primitives::ShardCount,
    store::{StoreError, StoreResult},
};

#[derive(Clone, Copy, Debug)]
pub struct Installation {
    /// Fixed at the first start.
    pub shards: ShardCount,
}

impl Db {
    /// The number of virtual shards; `None` before the first start.
    pub async fn shard_count(&self) -> StoreResult<Option<ShardCount>> {
        let stored = sqlx::query_scalar("SELECT virtual_shards FROM installation");
        let stored: Option<i32> = self.run(stored.fetch_optional(&self.pool())).await?;
        stored.map(shard_count).transpose()
    }

    /// Reads the installation; at the first start creates it with `shards` virtual shards.
    pub async fn installation(&self, shards: ShardCount) -> StoreResult<Installation> {
        // Two statements, because the second one also sees a row that another process has inserted at the same time.
        let created =
            sqlx::query(
            "INSERT INTO installation (virtual_shards, timeline) VALUES ($1, current_timeline()) ON CONFLICT DO NOTHING",
        )
        .bind(shards.get() as i32);
        self.run(created.execute(&self.pool())).await?;
        let stored = sqlx::query_scalar("SELECT virtual_shards FROM installation");
        let stored: i32 = self.run(stored.fetch_one(&self.pool())).await?;
        let shards = shard_count(stored)?;
        let rows = sqlx::query(
            "INSERT INTO shard (id) SELECT generate_series(0, $1 - 1)::smallint ON CONFLICT DO NOTHING",
        )
        .bind(stored);
        self.run(rows.execute(&self.pool())).await?;
        Ok(Installation { shards })
    }
}

fn shard_count(stored: i32) -> StoreResult<ShardCount> {
    let shards = u16::try_from(stored).ok().and_then(ShardCount::new);
    shards.ok_or_else(|| StoreError::Unexpected(format!("{stored} virtual shards")))
}
