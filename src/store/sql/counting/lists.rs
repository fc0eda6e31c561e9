//! Lists of edges: the targets of an actor, and the actors of a target. The edge that was switched on last comes first.

use chrono::{DateTime, Utc};

use super::edges::{entity_table, is_shown};
use crate::{
    StoreResult,
    sql::{Db, columns::offset, from_catalogue},
};
use plaudit_catalogue::{
    EdgeKind,
    primitives::{Id, Moment, Offset, PageRequest, ShardId, Slice, UserId},
};

/// Targets of the actor's edges that are on, without removed and hidden ones and without `except`, each
/// with its position in the list; and the offset up to which the shard's log was persisted at that moment.
/// Returns one row more than the page has, if there is one.
pub async fn targets_of(
    db: &Db,
    shard: ShardId,
    kind: EdgeKind,
    actor: UserId,
    except: &[Id],
    page: &PageRequest<Moment>,
) -> StoreResult<(Vec<Moment>, Offset)> {
    let before = page.before();
    // One statement reads the edges and the log's offset, so that both are of the same moment.
    let text = format!(
        "SELECT s.generation, s.number, edge.target_id, edge.changed_at FROM shard AS s LEFT JOIN LATERAL (
             SELECT e.target_id, e.changed_at FROM {edges} AS e
             JOIN {targets} AS t ON t.id = e.target_id AND t.{shown}
             WHERE e.actor_id = $2 AND e.is_on AND e.target_id <> ALL($3)
               AND (e.changed_at, e.target_id) < ($4, $5)
             ORDER BY e.changed_at DESC, e.target_id DESC LIMIT $6
         ) AS edge ON true WHERE s.id = $1",
        edges = kind.name(),
        targets = entity_table(kind.target()),
        shown = is_shown(kind.target()),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(shard.0 as i16)
        .bind(actor.get())
        .bind(super::counts::raw(except))
        .bind(time(before.micros))
        .bind(before.id.get())
        .bind(page.rows());
    Ok(edges_and_offset(db.run(query.fetch_all(&db.pool())).await?))
}

/// The newest of the actor's edges that are on, at most `most`, also edges to removed and hidden targets;
/// and the offset up to which the shard's log was persisted at that moment.
pub async fn newest_edges(
    db: &Db,
    shard: ShardId,
    kind: EdgeKind,
    actor: UserId,
    most: usize,
) -> StoreResult<(Vec<Moment>, Offset)> {
    let text = format!(
        "SELECT s.generation, s.number, edge.target_id, edge.changed_at FROM shard AS s LEFT JOIN LATERAL (
             SELECT target_id, changed_at FROM {} WHERE actor_id = $2 AND is_on
             ORDER BY changed_at DESC, target_id DESC LIMIT $3
         ) AS edge ON true WHERE s.id = $1",
        kind.name(),
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(shard.0 as i16).bind(actor.get()).bind(most as i64);
    Ok(edges_and_offset(db.run(query.fetch_all(&db.pool())).await?))
}

/// Actors whose edge to the target is included in its total, each with its position in the list.
pub async fn actors_of(
    db: &Db,
    kind: EdgeKind,
    target: Id,
    page: &PageRequest<Moment>,
) -> StoreResult<Slice<Moment>> {
    let before = page.before();
    let text = format!(
        "SELECT actor_id, changed_at FROM {}
         WHERE target_id = $1 AND included AND (changed_at, actor_id) < ($2, $3)
         ORDER BY changed_at DESC, actor_id DESC LIMIT $4",
        kind.name(),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(target.get())
        .bind(time(before.micros))
        .bind(before.id.get())
        .bind(page.rows());
    let rows: Vec<(Id, DateTime<Utc>)> = db.run(query.fetch_all(&db.pool())).await?;
    Ok(page.slice(rows.into_iter().map(moment).collect()))
}

/// Generation and number of the log's offset, and an edge. Without edges there is one row, and its columns of
/// the edge are null.
type OffsetAndEdge = (i64, i64, Option<Id>, Option<DateTime<Utc>>);

fn edges_and_offset(rows: Vec<OffsetAndEdge>) -> (Vec<Moment>, Offset) {
    let persisted = rows.first().map(|row| offset(row.0, row.1)).unwrap_or_default();
    let edges = rows.into_iter().filter_map(|(_, _, target, changed_at)| Some((target?, changed_at?)));
    (edges.map(moment).collect(), persisted)
}

/// Times that no position has are the nearest one that has.
pub(crate) fn time(micros: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(micros.clamp(Moment::EARLIEST, Moment::LAST.micros)).unwrap_or_default()
}

pub(crate) fn moment((id, at): (Id, DateTime<Utc>)) -> Moment {
    Moment { micros: at.timestamp_micros(), id }
}
