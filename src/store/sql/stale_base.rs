//! Lines by which PostgreSQL corrects Redis.

use std::{collections::BTreeSet, time::Duration};

use sqlx::Row;
use uuid::Uuid;

use super::{Db, Tx};
use crate::{
    catalogue::{Entity, EntityKind},
    primitives::{ShardCount, ShardId},
    store::{StoreError, StoreResult},
};

/// How long a request has for the corrections that it makes itself.
const OWN_CORRECTION: Duration = Duration::from_secs(2);

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
    add_lines(db, tx, shards, entities, reason, Duration::ZERO).await.map(drop)
}

/// The same for a writer that makes the corrections itself, at once: they become the owners' duty only
/// after a while. Returns the lines, to be deleted then.
pub async fn add_own_stale_lines(
    db: &Db,
    tx: &mut Tx,
    shards: ShardCount,
    entities: &[Entity],
    reason: &str,
) -> StoreResult<Vec<StaleLine>> {
    add_lines(db, tx, shards, entities, reason, OWN_CORRECTION).await
}

async fn add_lines(
    db: &Db,
    tx: &mut Tx,
    shards: ShardCount,
    entities: &[Entity],
    reason: &str,
    delay: Duration,
) -> StoreResult<Vec<StaleLine>> {
    if entities.is_empty() {
        return Ok(Vec::new());
    }
    let lines: Vec<StaleLine> =
        entities.iter().map(|entity| StaleLine { id: Uuid::new_v4(), entity: *entity }).collect();
    let query = sqlx::query(
        "INSERT INTO stale_base (id, shard, entity, reason, due_at)
         SELECT id, shard, entity, $4, now() + $5 * interval '1 ms'
         FROM unnest($1::uuid[], $2::smallint[], $3::text[]) AS line (id, shard, entity)",
    )
    .bind(lines.iter().map(|line| line.id).collect::<Vec<_>>())
    .bind(entities.iter().map(|entity| shards.shard_of(entity.id).0 as i16).collect::<Vec<_>>())
    .bind(entities.iter().map(Entity::to_string).collect::<Vec<_>>())
    .bind(reason)
    .bind(delay.as_millis() as i64);
    db.run(query.execute(&mut **tx)).await?;
    Ok(lines)
}

impl Db {
    /// The oldest lines of a shard that are due. Lines about kinds of entities that only a later release knows stay
    /// for that one.
    pub async fn stale_lines(&self, shard: ShardId, most: usize) -> StoreResult<Vec<StaleLine>> {
        let kinds: Vec<&str> = EntityKind::ALL.iter().map(|kind| kind.name()).collect();
        let query = sqlx::query(
            "SELECT id, entity FROM stale_base WHERE shard = $1 AND due_at <= now() AND split_part(entity, ':', 1) = ANY($3)
             ORDER BY created_at LIMIT $2",
        )
        .bind(shard.0 as i16)
        .bind(most as i64)
        .bind(kinds);
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        rows.iter()
            .map(|row| {
                Ok(StaleLine { id: row.try_get(0)?, entity: parse_entity(row.try_get::<&str, _>(1)?)? })
            })
            .collect()
    }

    /// Those of the entities that have a line, due or not: Redis is behind PostgreSQL there, and is told so.
    pub async fn stale_among(&self, entities: &[Entity]) -> StoreResult<BTreeSet<Entity>> {
        let names: Vec<String> = entities.iter().map(Entity::to_string).collect();
        let query =
            sqlx::query_scalar("SELECT DISTINCT entity FROM stale_base WHERE entity = ANY($1)").bind(names);
        let rows: Vec<String> = self.run(query.fetch_all(&self.pool())).await?;
        rows.into_iter().map(parse_entity).collect()
    }

    /// Deletes exactly these lines; others for the same entities may have come meanwhile.
    pub async fn delete_stale_lines(&self, lines: &[StaleLine]) -> StoreResult<()> {
        let ids: Vec<Uuid> = lines.iter().map(|line| line.id).collect();
        let query = sqlx::query("DELETE FROM stale_base WHERE id = ANY($1)").bind(ids);
        self.run(query.execute(&self.pool())).await.map(drop)
    }
}

fn parse_entity(text: impl AsRef<str>) -> StoreResult<Entity> {
    let text = text.as_ref();
    text.parse().map_err(|_| StoreError::Unexpected(format!("stale_base names {text:?}")))
}
