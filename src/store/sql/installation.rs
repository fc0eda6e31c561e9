//! Which installation this is.

use sqlx::Row;

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
    /// Reads the installation; at the first start creates it with `shards` virtual shards.
    pub async fn installation(&self, shards: ShardCount) -> StoreResult<Installation> {
        let created = "WITH created AS (
                 INSERT INTO installation (virtual_shards) VALUES ($1)
                 ON CONFLICT DO NOTHING RETURNING virtual_shards)
             SELECT virtual_shards FROM created
             UNION ALL SELECT virtual_shards FROM installation LIMIT 1";
        let row = sqlx::query(created).bind(shards.get() as i32);
        let stored: i32 = self.run(row.fetch_one(self.pool())).await?.try_get(0)?;
        let shards = u16::try_from(stored)
            .ok()
            .and_then(ShardCount::new)
            .ok_or_else(|| StoreError::Unexpected(format!("{stored} virtual shards")))?;
        let rows = sqlx::query(
            "INSERT INTO shard (id) SELECT generate_series(0, $1 - 1)::smallint ON CONFLICT DO NOTHING",
        )
        .bind(stored);
        self.run(rows.execute(self.pool())).await?;
        Ok(Installation { shards })
    }
}
