//! Invalidations: rows that make Redis drop what it holds of an entity or set, because PostgreSQL changed it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use uuid::Uuid;

use crate::{
    StoreError, StoreResult,
    sql::{Db, Tx, columns::numbers_of},
};
use plaudit_catalogue::{
    EdgeKind, Entity, EntityKind,
    primitives::{ShardCount, ShardId, UserId},
};

/// Most entities or sets that one row names. A batch changes the inboxes of thousands, and a row for each would cost
/// PostgreSQL a tenth of the batch.
const NAMES: usize = 500;
/// How long a request may take to apply its own invalidations, before the owners do.
const OWN_INVALIDATION: Duration = Duration::from_secs(2);

/// Due invalidations of one shard. A row names entities (`note_42 note_44`) whose counters and cached text are deleted,
/// or cached sets of edges (`note_like_42`: what user 42 likes).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DueInvalidations {
    pub ids: Vec<Uuid>,
    /// All copies are outdated.
    pub entities: BTreeSet<Entity>,
    /// Only their counts are.
    pub counts: BTreeSet<Entity>,
    pub sets: BTreeSet<(EdgeKind, UserId)>,
}

/// Writes invalidations of entities that this transaction changed without an event of the log.
pub async fn add_invalidations(
    tx: &mut Tx,
    shards: ShardCount,
    entities: &[Entity],
    reason: &str,
) -> StoreResult<()> {
    add_rows(tx, of_entities(shards, entities), reason, Writing::default()).await.map(drop)
}

/// The same for entities of which only the totals changed.
pub async fn add_count_invalidations(
    tx: &mut Tx,
    shards: ShardCount,
    entities: &[Entity],
    reason: &str,
) -> StoreResult<()> {
    let writing = Writing { only_counts: true, ..Writing::default() };
    add_rows(tx, of_entities(shards, entities), reason, writing).await.map(drop)
}

/// The same for a writer that applies them itself right after the commit: the rows are due for the owners only
/// after `OWN_INVALIDATION`. Returns the rows, which the writer then deletes.
pub async fn add_own_invalidations(
    tx: &mut Tx,
    shards: ShardCount,
    entities: &[Entity],
    reason: &str,
) -> StoreResult<Vec<Uuid>> {
    let writing = Writing { delay: OWN_INVALIDATION, ..Writing::default() };
    add_rows(tx, of_entities(shards, entities), reason, writing).await
}

/// Writes invalidations of the cached sets of these actors' edges, whose rows were switched without an event of the
/// log.
pub async fn add_set_invalidations(
    tx: &mut Tx,
    shards: ShardCount,
    sets: &[(EdgeKind, UserId)],
    reason: &str,
) -> StoreResult<()> {
    let named = sets
        .iter()
        .map(|(kind, actor)| (shards.shard_of(actor.0), kind.name(), format!("{}_{actor}", kind.name())));
    add_rows(tx, named, reason, Writing::default()).await.map(drop)
}

/// How invalidations are written.
#[derive(Clone, Copy, Default)]
struct Writing {
    only_counts: bool,
    /// After it they are due.
    delay: Duration,
}

fn of_entities(
    shards: ShardCount,
    entities: &[Entity],
) -> impl Iterator<Item = (ShardId, &'static str, String)> {
    entities.iter().map(move |entity| (shards.shard_of(entity.id), entity.kind.name(), entity.to_string()))
}

/// A row names entities or sets of one shard and of one kind, because an older release may not know the kind.
async fn add_rows(
    tx: &mut Tx,
    named: impl Iterator<Item = (ShardId, &'static str, String)>,
    reason: &str,
    writing: Writing,
) -> StoreResult<Vec<Uuid>> {
    let mut grouped = BTreeMap::<(ShardId, &str), Vec<String>>::new();
    for (shard, kind, name) in named {
        grouped.entry((shard, kind)).or_default().push(name);
    }
    if grouped.is_empty() {
        return Ok(Vec::new());
    }
    let (mut ids, mut shards, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for ((shard, _), all) in &grouped {
        for page in all.chunks(NAMES) {
            ids.push(Uuid::new_v4());
            shards.push(shard.0 as i16);
            names.push(page.join(" "));
        }
    }
    let query = sqlx::query(
        "INSERT INTO invalidation (id, shard, names, reason, only_counts, due_at)
         SELECT id, shard, names, $4, $5, now() + $6 * interval '1 ms'
         FROM unnest($1::uuid[], $2::smallint[], $3::text[]) AS line (id, shard, names)",
    )
    .bind(&ids)
    .bind(shards)
    .bind(names)
    .bind(reason)
    .bind(writing.only_counts)
    .bind(writing.delay.as_millis() as i64);
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    Ok(ids)
}

/// The oldest due rows, at most `most` of each of these shards; shards without one are left out. Leaves rows of a
/// kind that this release does not know to a later release.
pub async fn due_invalidations(
    db: &Db,
    shards: &[ShardId],
    most: usize,
) -> StoreResult<Vec<DueInvalidations>> {
    let entities = EntityKind::ALL.iter().map(|kind| kind.name());
    let known: Vec<&str> = entities.chain(EdgeKind::ALL.iter().map(|kind| kind.name())).collect();
    let query = sqlx::query_as(
        "SELECT of.shard, line.* FROM unnest($1::smallint[]) AS of (shard), LATERAL (
             SELECT id, names, only_counts FROM invalidation WHERE shard = of.shard AND due_at <= now()
                 AND substring(names FROM '^(.*?)_[0-9]') = ANY($3)
             ORDER BY created_at LIMIT $2) AS line",
    )
    .bind(numbers_of(shards))
    .bind(most as i64)
    .bind(known);
    let rows: Vec<(i16, Uuid, String, bool)> = db.run(query.fetch_all(&db.pool())).await?;
    let mut due = BTreeMap::<i16, DueInvalidations>::new();
    for (shard, id, names, only_counts) in rows {
        let of_shard = due.entry(shard).or_default();
        of_shard.ids.push(id);
        for name in names.split(' ') {
            of_shard.add(name, only_counts)?;
        }
    }
    Ok(due.into_values().map(DueInvalidations::without_repetitions).collect())
}

/// The entities that have an invalidation, due or not: in Redis their counters may be outdated.
pub async fn invalidated_among(db: &Db, entities: &[Entity]) -> StoreResult<BTreeSet<Entity>> {
    let names: Vec<String> = entities.iter().map(Entity::to_string).collect();
    let query = sqlx::query_scalar(
        "SELECT DISTINCT name FROM invalidation, string_to_table(names, ' ') AS name WHERE name = ANY($1)",
    )
    .bind(names);
    let rows: Vec<String> = db.run(query.fetch_all(&db.pool())).await?;
    let read = |name: &String| {
        name.parse().map_err(|_| StoreError::Unexpected(format!("invalidation names {name:?}")))
    };
    rows.iter().map(read).collect()
}

/// Whether the cached set of an actor's edges has an invalidation that is not yet applied to Redis.
pub async fn is_set_invalidated(db: &Db, shard: ShardId, kind: EdgeKind, actor: UserId) -> StoreResult<bool> {
    let query = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM invalidation WHERE shard = $1 AND $2 = ANY(string_to_array(names, ' ')))",
    )
    .bind(shard.0 as i16)
    .bind(format!("{}_{actor}", kind.name()));
    db.run(query.fetch_one(&db.pool())).await
}

/// Deletes exactly these rows; newer ones may name the same entities.
pub async fn delete_invalidations(db: &Db, ids: &[Uuid]) -> StoreResult<()> {
    let query = sqlx::query("DELETE FROM invalidation WHERE id = ANY($1)").bind(ids);
    db.run(query.execute(&db.pool())).await.map(drop)
}

impl DueInvalidations {
    fn add(&mut self, name: &str, only_counts: bool) -> StoreResult<()> {
        if let Ok(entity) = name.parse() {
            let named = if only_counts { &mut self.counts } else { &mut self.entities };
            named.insert(entity);
            return Ok(());
        }
        let set = || {
            let (kind, actor) = name.rsplit_once('_')?;
            Some((EdgeKind::from_name(kind)?, UserId(actor.parse().ok()?)))
        };
        self.sets
            .insert(set().ok_or_else(|| StoreError::Unexpected(format!("invalidation names {name:?}")))?);
        Ok(())
    }

    /// An entity of which all is outdated is dropped once.
    fn without_repetitions(mut self) -> Self {
        self.counts.retain(|entity| !self.entities.contains(entity));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_an_entity_or_a_set_of_edges() {
        let mut due = DueInvalidations::default();
        for (name, only_counts) in
            [("note_42", false), ("note_like_42", false), ("note_42", true), ("note_43", true)]
        {
            due.add(name, only_counts).unwrap();
        }
        let due = due.without_repetitions();
        let user = UserId("42".parse().unwrap());
        assert_eq!(due.entities, BTreeSet::from(["note_42".parse().unwrap()]));
        assert_eq!(due.counts, BTreeSet::from(["note_43".parse().unwrap()]));
        assert_eq!(due.sets, BTreeSet::from([(EdgeKind::NoteLike, user)]));
        assert!(DueInvalidations::default().add("cat_42", false).is_err());
    }
}
