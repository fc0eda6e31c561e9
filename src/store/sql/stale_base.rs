//! Lines by which PostgreSQL corrects Redis.

use std::{collections::BTreeSet, time::Duration};

use sqlx::Row;
use uuid::Uuid;

use super::{Db, Tx};
use crate::{
    catalogue::{EdgeKind, Entity, EntityKind},
    primitives::{ShardCount, ShardId, UserId},
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

/// What is due in a shard. A line names an entity (`note:42`) whose base and text are to be forgotten, or a cached
/// set of edges (`note_like:42`: what user 42 likes).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DueLines {
    pub ids: Vec<Uuid>,
    pub entities: BTreeSet<Entity>,
    pub sets: BTreeSet<(EdgeKind, UserId)>,
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
    let named = lines.iter().map(|line| (line.id, shards.shard_of(line.entity.id), line.entity.to_string()));
    insert_lines(db, tx, named, reason, delay).await?;
    Ok(lines)
}

/// Writes a line for the cached set of each of these actors' edges: rows of it were switched otherwise than
/// through the log.
pub async fn add_stale_sets(
    db: &Db,
    tx: &mut Tx,
    shards: ShardCount,
    sets: &[(EdgeKind, UserId)],
    reason: &str,
) -> StoreResult<()> {
    let named = sets
        .iter()
        .map(|(kind, actor)| (Uuid::new_v4(), shards.shard_of(actor.0), format!("{}:{actor}", kind.name())));
    insert_lines(db, tx, named, reason, Duration::ZERO).await
}

async fn insert_lines(
    db: &Db,
    tx: &mut Tx,
    lines: impl Iterator<Item = (Uuid, ShardId, String)>,
    reason: &str,
    delay: Duration,
) -> StoreResult<()> {
    let (mut ids, mut shards, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (id, shard, name) in lines {
        ids.push(id);
        shards.push(shard.0 as i16);
        names.push(name);
    }
    let query = sqlx::query(
        "INSERT INTO stale_base (id, shard, entity, reason, due_at)
         SELECT id, shard, entity, $4, now() + $5 * interval '1 ms'
         FROM unnest($1::uuid[], $2::smallint[], $3::text[]) AS line (id, shard, entity)",
    )
    .bind(ids)
    .bind(shards)
    .bind(names)
    .bind(reason)
    .bind(delay.as_millis() as i64);
    db.run(query.execute(&mut **tx)).await.map(drop)
}

impl Db {
    /// The oldest lines of a shard that are due. Lines about what only a later release knows stay for that one.
    pub async fn stale_lines(&self, shard: ShardId, most: usize) -> StoreResult<DueLines> {
        let entities = EntityKind::ALL.iter().map(|kind| kind.name());
        let known: Vec<&str> = entities.chain(EdgeKind::ALL.iter().map(|kind| kind.name())).collect();
        let query = sqlx::query(
            "SELECT id, entity FROM stale_base WHERE shard = $1 AND due_at <= now() AND split_part(entity, ':', 1) = ANY($3)
             ORDER BY created_at LIMIT $2",
        )
        .bind(shard.0 as i16)
        .bind(most as i64)
        .bind(known);
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        let mut due = DueLines::default();
        for row in &rows {
            due.ids.push(row.try_get(0)?);
            due.add(row.try_get(1)?)?;
        }
        Ok(due)
    }

    /// Deletes exactly these lines; others about the same may have come meanwhile.
    pub async fn delete_stale_lines(&self, ids: &[Uuid]) -> StoreResult<()> {
        let query = sqlx::query("DELETE FROM stale_base WHERE id = ANY($1)").bind(ids);
        self.run(query.execute(&self.pool())).await.map(drop)
    }
}

impl DueLines {
    fn add(&mut self, name: &str) -> StoreResult<()> {
        if let Ok(entity) = name.parse() {
            self.entities.insert(entity);
            return Ok(());
        }
        let set = || {
            let (kind, actor) = name.split_once(':')?;
            Some((EdgeKind::from_name(kind)?, UserId(actor.parse().ok()?)))
        };
        self.sets.insert(set().ok_or_else(|| StoreError::Unexpected(format!("stale_base names {name:?}")))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_an_entity_or_a_set_of_edges() {
        let mut due = DueLines::default();
        for name in ["note:42", "note_like:42", "note:42"] {
            due.add(name).unwrap();
        }
        let user = UserId("42".parse().unwrap());
        assert_eq!(due.entities, BTreeSet::from(["note:42".parse().unwrap()]));
        assert_eq!(due.sets, BTreeSet::from([(EdgeKind::NoteLike, user)]));
        assert!(due.add("cat:42").is_err());
    }
}
