//! Lists along edges: what an actor switched on, and who did so to a target. Last switched on first.

use chrono::{DateTime, Utc};
use sqlx::{Row, postgres::PgRow};

use super::{
    Db,
    edges::{entity_table, log_place},
    from_catalogue,
    users::id,
};
use crate::{
    catalogue::EdgeKind,
    primitives::{Id, Moment, Offset, PageRequest, ShardId, Slice, UserId},
    store::StoreResult,
};

impl Db {
    /// Targets that the actor has on and that are still there, apart from `except`; and how far the shard's
    /// log was persisted then. Each comes with its place in the list. One row more than the page has.
    pub async fn targets_of(
        &self,
        shard: ShardId,
        kind: EdgeKind,
        actor: UserId,
        except: &[Id],
        page: &PageRequest<Moment>,
    ) -> StoreResult<(Vec<Moment>, Offset)> {
        let before = page.before();
        // The log's place stands in the same statement, so that both are of one moment.
        let text = format!(
            "SELECT s.generation, s.number, edge.target_id, edge.changed_at FROM shard AS s LEFT JOIN LATERAL (
                 SELECT e.target_id, e.changed_at FROM {edges} AS e
                 JOIN {targets} AS t ON t.id = e.target_id AND t.removed_at IS NULL
                 WHERE e.actor_id = $2 AND e.is_on AND e.target_id <> ALL($3)
                   AND (e.changed_at, e.target_id) < ($4, $5)
                 ORDER BY e.changed_at DESC, e.target_id DESC LIMIT $6
             ) AS edge ON true WHERE s.id = $1",
            edges = kind.name(),
            targets = entity_table(kind.target()),
        );
        let query = sqlx::query(from_catalogue(text))
            .bind(shard.0 as i16)
            .bind(actor.get())
            .bind(super::counts::raw(except))
            .bind(time(before.micros))
            .bind(before.id.get())
            .bind(page.rows());
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        let persisted = rows.first().map(log_place).transpose()?.unwrap_or_default();
        let found = rows.iter().filter(|row| !matches!(row.try_get::<Option<i64>, _>(2), Ok(None)));
        Ok((found.map(|row| moment(row, 2)).collect::<StoreResult<_>>()?, persisted))
    }

    /// Actors whose edge to the target counts, each with its place in the list.
    pub async fn actors_of(
        &self,
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
        let query = sqlx::query(from_catalogue(text))
            .bind(target.get())
            .bind(time(before.micros))
            .bind(before.id.get())
            .bind(page.rows());
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        Ok(page.slice(rows.iter().map(|row| moment(row, 0)).collect::<StoreResult<_>>()?))
    }
}

fn time(micros: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(micros).unwrap_or_default()
}

/// An id in `column`, and a time in the one behind it.
fn moment(row: &PgRow, column: usize) -> StoreResult<Moment> {
    let at: DateTime<Utc> = row.try_get(column + 1)?;
    Ok(Moment { micros: at.timestamp_micros(), id: id(row, column)? })
}
