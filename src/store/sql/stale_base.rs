//! Lines by which PostgreSQL corrects Redis.

use sqlx::{Row, postgres::PgListener};
use uuid::Uuid;

use super::{Db, Tx};
use crate::{
    catalogue::{Entity, EntityKind},
    primitives::{ShardCount, ShardId},
    store::{StoreError, StoreResult},
};

/// One correction: this entity's totals moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaleLine {
    pub id: Uuid,
    pub entity: Entity,
}

/// Writes a line for each entity whose totals this transaction moved otherwise than its events say.
pub async fn add_stale_lines(
    db: &Db,
    tx: &mut Tx,
    shards: ShardCount,
    entities: &[Entity],
    reason: &str,
) -> StoreResult<()> {
    if entities.is_empty() {
        return Ok(());
    }
    let query = sqlx::query(
        "INSERT INTO stale_base (shard, entity, reason)
         SELECT shard, entity, $3 FROM unnest($1::smallint[], $2::text[]) AS line (shard, entity)",
    )
    .bind(entities.iter().map(|entity| shards.shard_of(entity.id).0 as i16).collect::<Vec<_>>())
    .bind(entities.iter().map(Entity::to_string).collect::<Vec<_>>())
    .bind(reason);
    db.run(query.execute(&mut **tx)).await.map(drop)
}

impl Db {
    /// The oldest lines of a shard. Lines about kinds of entities that only a later release knows stay
    /// for that one.
    pub async fn stale_lines(&self, shard: ShardId, most: usize) -> StoreResult<Vec<StaleLine>> {
        let kinds: Vec<&str> = EntityKind::ALL.iter().map(|kind| kind.name()).collect();
        let query = sqlx::query(
            "SELECT id, entity FROM stale_base WHERE shard = $1 AND split_part(entity, ':', 1) = ANY($3)
             ORDER BY created_at LIMIT $2",
        )
        .bind(shard.0 as i16)
        .bind(most as i64)
        .bind(kinds);
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        rows.iter()
            .map(|row| Ok(StaleLine { id: row.try_get(0)?, entity: parse_entity(row.try_get(1)?)? }))
            .collect()
    }

    /// Deletes exactly these lines; others for the same entities may have come meanwhile.
    pub async fn delete_stale_lines(&self, lines: &[StaleLine]) -> StoreResult<()> {
        let ids: Vec<Uuid> = lines.iter().map(|line| line.id).collect();
        let query = sqlx::query("DELETE FROM stale_base WHERE id = ANY($1)").bind(ids);
        self.run(query.execute(&self.pool())).await.map(drop)
    }

    /// Hears when lines are written.
    pub async fn listen_stale(&self) -> StoreResult<StaleListener> {
        let mut listener = self.run(PgListener::connect_with(&self.pool())).await?;
        self.run(listener.listen("stale_base")).await?;
        Ok(StaleListener(listener))
    }
}

pub struct StaleListener(PgListener);

impl StaleListener {
    /// Returns when lines were written, for whichever shard, or when some may have been missed.
    pub async fn changed(&mut self) -> StoreResult<()> {
        self.0.try_recv().await?;
        Ok(())
    }
}

fn parse_entity(text: &str) -> StoreResult<Entity> {
    text.parse().map_err(|_| StoreError::Unexpected(format!("stale_base names {text:?}")))
}
