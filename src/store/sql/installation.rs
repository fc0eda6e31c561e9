//! Table `installation`: what is chosen at the first start.

use super::Db;
use crate::{
    primitives::{Layout, ShardCount},
    store::{StoreError, StoreResult},
};

#[derive(Clone, Copy, Debug)]
pub struct Installation {
    /// Chosen at the first start; a reshard changes it.
    pub shards: ShardCount,
}

impl Db {
    /// The virtual shards; `None` before the first start.
    pub async fn shard_count(&self) -> StoreResult<Option<ShardCount>> {
        let stored = sqlx::query_as("SELECT virtual_shards, layout FROM installation");
        let stored: Option<(i32, i32)> = self.run(stored.fetch_optional(&self.pool())).await?;
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
        let stored = sqlx::query_as("SELECT virtual_shards, layout FROM installation");
        let stored: (i32, i32) = self.run(stored.fetch_one(&self.pool())).await?;
        let shards = shard_count(stored)?;
        let rows = sqlx::query(
            "INSERT INTO shard (id) SELECT generate_series(0, virtual_shards - 1)::smallint FROM installation
             ON CONFLICT DO NOTHING",
        );
        self.run(rows.execute(&self.pool())).await?;
        Ok(Installation { shards })
    }
}

pub(super) fn shard_count((stored, layout): (i32, i32)) -> StoreResult<ShardCount> {
    let shards = u16::try_from(stored).ok().and_then(ShardCount::new);
    let layout = u16::try_from(layout).ok().map(Layout);
    let shards = shards.zip(layout).map(|(shards, layout)| shards.in_layout(layout));
    shards.ok_or_else(|| StoreError::Unexpected(format!("{stored} virtual shards")))
}
