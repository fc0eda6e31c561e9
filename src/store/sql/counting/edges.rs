//! Tables of edges: the persister writes rows; requests read them if Redis has no cached set.

use std::collections::{BTreeSet, HashMap, HashSet};

use sqlx::{FromRow, Postgres, postgres::PgArguments, query::QueryAs};

use crate::{
    StoreError, StoreResult,
    sql::{Db, Tx, columns::offset, from_catalogue, times::timestamp},
};
use plaudit_catalogue::{
    EdgeKind, EntityKind, Flip,
    primitives::{Id, Offset, ShardId, UserId},
};

pub(crate) use plaudit_catalogue::{entity_table, is_shown, owner_column};

/// A row that a batch changed.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct ChangedEdge {
    #[sqlx(rename = "actor_id")]
    pub actor: UserId,
    #[sqlx(rename = "target_id")]
    pub target: Id,
    /// If switched on: totals include it now. If switched off: totals included it before. A removed target's totals
    /// include none, unless the kind also counts for its actor: then its row says so.
    pub included: bool,
    /// Its target is shown to everybody: only then it also counts for the target's owner.
    pub is_shown: bool,
    /// The position at which the target's owner was notified of it; 0 if never. See `notices::tell`.
    pub told: i64,
}

/// State of one edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeState {
    pub target: Id,
    pub is_on: bool,
}

/// The highest targets of an actor's edges that are on, and the persisted offset of the shard's log at that moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberPage {
    pub targets: Vec<Id>,
    /// Whether there are more, with lower ids.
    pub truncated: bool,
    pub persisted: Offset,
}

/// Switches rows on; rows that are already on do not change. All flips are of `kind`, at most one per edge. The
/// transaction holds the removal lock, so no user is hidden and nothing is removed before it ends. `told`: the
/// position at which the owners of targets are notified, of edges of which they do not know yet, and that count.
///
/// Nearly every row of a batch is plain: written for the first time, included, of a target that is shown. If all
/// rows changed, the statement returns only those that are not plain, and `with_plain_edges` adds the others.
pub async fn switch_on(
    tx: &mut Tx,
    kind: EdgeKind,
    flips: &[&Flip],
    told: i64,
) -> StoreResult<Vec<ChangedEdge>> {
    write_on(tx, kind, flips, told, SWITCH_ON).await
}

/// Writes rows that are on, of edges that have no row. Otherwise like `edges::switch_on`. `are_new`:
/// probably no edge has one, so PostgreSQL need not look before it writes; if one has, the statement is
/// repeated.
pub async fn add_on(
    tx: &mut Tx,
    kind: EdgeKind,
    flips: &[&Flip],
    told: i64,
    are_new: bool,
) -> StoreResult<Vec<ChangedEdge>> {
    if flips.is_empty() || !are_new {
        return write_on(tx, kind, flips, told, LEAVE).await;
    }
    control(tx, "SAVEPOINT before_edges").await?;
    match write_on(tx, kind, flips, told, "").await {
        Err(StoreError::Refused(refusal)) if refusal.code == UNIQUE_VIOLATION => {
            control(tx, "ROLLBACK TO SAVEPOINT before_edges").await?;
            write_on(tx, kind, flips, told, LEAVE).await
        }
        added => added,
    }
}

async fn control(tx: &mut Tx, statement: &'static str) -> StoreResult<()> {
    let done = sqlx::raw_sql(statement).execute(&mut *tx.inner);
    tx.db.run(done).await.map(drop)
}

async fn write_on(
    tx: &mut Tx,
    kind: EdgeKind,
    flips: &[&Flip],
    told: i64,
    clash: &str,
) -> StoreResult<Vec<ChangedEdge>> {
    if flips.is_empty() {
        return Ok(Vec::new());
    }
    debug_assert!(flips.iter().all(|flip| flip.kind == kind), "the table is the kind's");
    let query = bind(sqlx::query_as(from_catalogue(switch_on_text(kind, clash))), flips)
        .bind(distinct(flips.iter().map(|flip| flip.actor.0)))
        .bind(distinct(flips.iter().map(|flip| flip.target)))
        .bind(flips.iter().map(|flip| told_at(flip, told)).collect::<Vec<_>>());
    let rows: Vec<SwitchedOnRow> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let all_changed = rows.first().is_some_and(|row| row.5);
    let returned: Vec<ChangedEdge> = rows.into_iter().filter_map(returned_edge).collect();
    Ok(if all_changed { with_plain_edges(flips, told, &returned) } else { returned })
}

/// The code of an error of PostgreSQL.
const UNIQUE_VIOLATION: &str = "23505";
/// What is done with a row that exists: it stays.
const LEAVE: &str = "ON CONFLICT (actor_id, target_id) DO NOTHING";
/// It is switched on, unless it is on.
const SWITCH_ON: &str = "ON CONFLICT (actor_id, target_id) DO UPDATE
                 SET is_on = true, included = excluded.included, changed_at = excluded.changed_at,
                     told = CASE WHEN edge.told <> 0 THEN edge.told ELSE excluded.told END
                 WHERE NOT edge.is_on";

/// The inbox position at which the target's owner is notified of a flip that switches an edge on; nobody is notified
/// of an action of their own.
fn told_at(flip: &Flip, told: i64) -> i64 {
    flip.notifies().map_or(0, |_| told)
}

/// A changed edge (actor, target, included, `told`, is shown), null if none is returned; and whether all flips changed
/// a row.
type SwitchedOnRow = (Option<UserId>, Option<Id>, Option<bool>, Option<i64>, bool, bool);

/// Parameters: the flips' actors, targets and times; their distinct actors; their distinct targets; where each flip
/// notifies. `clash`: what is done with a row that exists; empty if that is an error.
///
/// `changed` writes the rows. The outer query returns at least one row, which has `all_changed`: the LEFT JOIN adds
/// each changed row, except plain ones if all rows changed.
fn switch_on_text(kind: EdgeKind, clash: &str) -> String {
    // A row is included if its actor is visible and its target present. Two counts decide that for the whole batch,
    // at a fraction of the cost of a look-up per row. Look-ups happen only if an actor or a target is hidden or
    // removed. An erased user gets no row.
    format!(
        "WITH visible AS NOT MATERIALIZED (
             SELECT id FROM app_user WHERE removed_at IS NULL AND hidden_at IS NULL
         ), shown AS NOT MATERIALIZED (
             SELECT id FROM {targets} WHERE {shown}
         ), whole AS MATERIALIZED (
             SELECT (SELECT count(*) FROM visible WHERE id = ANY($4)) = cardinality($4) AS actors_visible,
                    (SELECT count(*) FROM shown WHERE id = ANY($5)) = cardinality($5) AS targets_shown
         ), changed AS (
             INSERT INTO {edges} AS edge (actor_id, target_id, is_on, included, created_at, changed_at, told)
             SELECT actor, target, true, included, {at}, {at},
                    CASE WHEN (SELECT actors_visible AND targets_shown FROM whole)
                           OR included AND EXISTS (SELECT FROM shown WHERE id = target) THEN told ELSE 0 END
             FROM (SELECT flip.*, (SELECT actors_visible AND targets_shown FROM whole)
                       OR coalesce((SELECT true FROM visible WHERE id = actor)
                           AND (SELECT true FROM {targets} WHERE id = target AND removed_at IS NULL), false) AS included
                   FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $6::bigint[]) AS flip (actor, target, at, told)
                  ) AS flip
             WHERE (SELECT actors_visible AND targets_shown FROM whole)
                OR NOT EXISTS (SELECT FROM app_user WHERE id IN ({users}) AND removed_at IS NOT NULL)
             {clash}
             RETURNING actor_id, target_id, included, told, xmax = 0 AS first
         )
         SELECT actor_id, target_id, included, told,
                targets_shown OR EXISTS (SELECT FROM shown WHERE shown.id = changed.target_id), all_changed
         FROM whole
         CROSS JOIN (SELECT count(*) = cardinality($1) AND (SELECT targets_shown FROM whole) AS all_changed
                     FROM changed) AS batch
         LEFT JOIN changed ON NOT (all_changed AND included AND first)",
        edges = kind.name(),
        targets = entity_table(kind.target()),
        shown = is_shown(kind.target()),
        users = users_of(kind),
        at = timestamp!("at"),
    )
}

/// The users without whom an edge has no row.
fn users_of(kind: EdgeKind) -> &'static str {
    if kind.target() == EntityKind::User { "actor, target" } else { "actor" }
}

fn distinct(ids: impl Iterator<Item = Id>) -> Vec<i64> {
    ids.collect::<BTreeSet<_>>().into_iter().map(Id::get).collect()
}

fn returned_edge((actor, target, included, told, is_shown, _): SwitchedOnRow) -> Option<ChangedEdge> {
    Some(ChangedEdge { actor: actor?, target: target?, included: included?, told: told?, is_shown })
}

/// The edges of all flips, if all flips changed a row of a target that is shown: an edge that was not returned is
/// included, and on for the first time.
fn with_plain_edges(flips: &[&Flip], told: i64, returned: &[ChangedEdge]) -> Vec<ChangedEdge> {
    let returned: HashMap<_, _> = returned.iter().map(|edge| ((edge.actor, edge.target), *edge)).collect();
    let plain = |flip: &&Flip| {
        let (actor, target) = (flip.actor, flip.target);
        ChangedEdge { actor, target, included: true, is_shown: true, told: told_at(flip, told) }
    };
    flips
        .iter()
        .map(|flip| returned.get(&(flip.actor, flip.target)).copied().unwrap_or_else(|| plain(flip)))
        .collect()
}

/// Switches rows off. Rows that are already off, or missing, do not change. See `Tx::withdraw`.
pub async fn switch_off(tx: &mut Tx, kind: EdgeKind, flips: &[&Flip]) -> StoreResult<Vec<ChangedEdge>> {
    let text = format!(
        "UPDATE {edges} AS edge SET is_on = false, included = false, changed_at = {at}
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS f (actor, target, at)
         JOIN {edges} AS old ON old.actor_id = f.actor AND old.target_id = f.target
         LEFT JOIN {targets} AS t ON t.id = f.target AND t.removed_at IS NULL
         WHERE edge.actor_id = f.actor AND edge.target_id = f.target AND edge.is_on
         RETURNING edge.actor_id, edge.target_id, old.included{counted} AS included, old.told,
                   coalesce(t.{shown}, false) AS is_shown",
        edges = kind.name(),
        targets = entity_table(kind.target()),
        shown = is_shown(kind.target()),
        counted = if kind.counts_for_actor() { "" } else { " AND t.id IS NOT NULL" },
        at = timestamp!("f.at"),
    );
    write(tx, text, flips).await
}

/// Writes rows that are off, of edges that have no row; a row that is off gets the later time. Rows that
/// are on do not change, and erased users get none. Returns the edges that it wrote.
pub async fn record_off(tx: &mut Tx, kind: EdgeKind, flips: &[&Flip]) -> StoreResult<BTreeSet<(UserId, Id)>> {
    let text = format!(
        "INSERT INTO {edges} AS edge (actor_id, target_id, is_on, included, created_at, changed_at)
         SELECT actor, target, false, false, {at}, {at}
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS f (actor, target, at)
         WHERE NOT EXISTS (SELECT FROM app_user WHERE id IN ({users}) AND removed_at IS NOT NULL)
         ON CONFLICT (actor_id, target_id) DO UPDATE SET changed_at = excluded.changed_at
             WHERE NOT edge.is_on AND edge.changed_at < excluded.changed_at
         RETURNING actor_id, target_id",
        edges = kind.name(),
        users = users_of(kind),
        at = timestamp!("f.at"),
    );
    changed_pairs(tx, text, flips).await
}

/// Gives rows that are as their flips say the flips' times, if these are later. Returns their edges.
pub async fn keep_later_times(
    tx: &mut Tx,
    kind: EdgeKind,
    flips: &[&Flip],
) -> StoreResult<BTreeSet<(UserId, Id)>> {
    let text = format!(
        "UPDATE {edges} AS edge SET changed_at = {at}
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[]) AS f (actor, target, at, is_on)
         WHERE edge.actor_id = f.actor AND edge.target_id = f.target AND edge.is_on = f.is_on
           AND edge.changed_at < {at}
         RETURNING edge.actor_id, edge.target_id",
        edges = kind.name(),
        at = timestamp!("f.at"),
    );
    if flips.is_empty() {
        return Ok(BTreeSet::new());
    }
    let query = bind(sqlx::query_as(from_catalogue(text)), flips)
        .bind(flips.iter().map(|flip| flip.on).collect::<Vec<_>>());
    let pairs: Vec<(UserId, Id)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    Ok(pairs.into_iter().collect())
}

async fn changed_pairs(tx: &mut Tx, text: String, flips: &[&Flip]) -> StoreResult<BTreeSet<(UserId, Id)>> {
    if flips.is_empty() {
        return Ok(BTreeSet::new());
    }
    let query = bind(sqlx::query_as(from_catalogue(text)), flips);
    let pairs: Vec<(UserId, Id)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    Ok(pairs.into_iter().collect())
}

async fn write(tx: &mut Tx, text: String, flips: &[&Flip]) -> StoreResult<Vec<ChangedEdge>> {
    if flips.is_empty() {
        return Ok(Vec::new());
    }
    let query = bind(sqlx::query_as(from_catalogue(text)), flips);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

fn bind<'q, O>(
    query: QueryAs<'q, Postgres, O, PgArguments>,
    flips: &[&Flip],
) -> QueryAs<'q, Postgres, O, PgArguments> {
    query
        .bind(flips.iter().map(|flip| flip.actor.get()).collect::<Vec<_>>())
        .bind(flips.iter().map(|flip| flip.target.get()).collect::<Vec<_>>())
        .bind(flips.iter().map(|flip| flip.at).collect::<Vec<_>>())
}

/// The `most` highest targets of an actor.
pub async fn member_page(
    db: &Db,
    shard: ShardId,
    kind: EdgeKind,
    actor: UserId,
    most: usize,
) -> StoreResult<MemberPage> {
    // One statement reads the rows and the log's offset, so that both are of the same moment.
    let text = format!(
        "SELECT s.generation, s.number,
                ARRAY(SELECT target_id FROM {} WHERE actor_id = $2 AND is_on
                      ORDER BY target_id DESC LIMIT $3) AS targets
         FROM shard AS s WHERE s.id = $1",
        kind.name(),
    );
    let query =
        sqlx::query_as(from_catalogue(text)).bind(shard.0 as i16).bind(actor.get()).bind(most as i64 + 1);
    let (generation, number, raw): (i64, i64, Vec<i64>) = db.run(query.fetch_one(&db.pool())).await?;
    let truncated = raw.len() > most;
    // Rising order: building an intset from sorted members is three times as fast.
    let targets = raw.into_iter().take(most).rev().filter_map(|id| Id::try_from(id).ok()).collect();
    Ok(MemberPage { targets, truncated, persisted: offset(generation, number) })
}

/// The edges, each an actor and a target, that are on.
pub async fn edges_on(db: &Db, kind: EdgeKind, edges: &[(UserId, Id)]) -> StoreResult<Vec<(UserId, Id)>> {
    let (actors, targets): (Vec<i64>, Vec<i64>) =
        edges.iter().map(|(actor, target)| (actor.get(), target.get())).unzip();
    let text = format!(
        "SELECT e.actor_id, e.target_id
         FROM unnest($1::bigint[], $2::bigint[]) AS asked (actor, target)
         JOIN {} AS e ON e.actor_id = asked.actor AND e.target_id = asked.target
         WHERE e.is_on",
        kind.name(),
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(actors).bind(targets);
    db.run(query.fetch_all(&db.pool())).await
}

/// States of single edges of an actor, and the persisted offset of the shard's log at that moment.
pub async fn edge_states(
    db: &Db,
    shard: ShardId,
    kind: EdgeKind,
    actor: UserId,
    targets: &[Id],
) -> StoreResult<(Vec<EdgeState>, Offset)> {
    let text = format!(
        "SELECT s.generation, s.number,
                ARRAY(SELECT target_id FROM {} WHERE actor_id = $2 AND target_id = ANY($3) AND is_on) AS targets
         FROM shard AS s WHERE s.id = $1",
        kind.name(),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(shard.0 as i16)
        .bind(actor.get())
        .bind(super::counts::raw(targets));
    let (generation, number, on): (i64, i64, Vec<i64>) = db.run(query.fetch_one(&db.pool())).await?;
    let on: HashSet<i64> = on.into_iter().collect();
    let states = targets.iter().map(|id| EdgeState { target: *id, is_on: on.contains(&id.get()) }).collect();
    Ok((states, offset(generation, number)))
}
