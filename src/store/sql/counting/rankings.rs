//! Heat of notes as computed by PostgreSQL: from `activity`, and from totals.

use crate::{
    StoreResult,
    sql::{Db, from_catalogue, times::timestamp},
};
use plaudit_catalogue::{
    EdgeKind, UnixMillis, WEIGHTS,
    primitives::{GroupId, Id, PageRequest, Ranked, ShardCount, ShardId, Slice, UserId},
};

/// Heat by the events of a shard's actors between two moments (the second one excluded), from `activity`: at most
/// `most` notes, the hottest.
pub async fn heat_between(
    db: &Db,
    (shard, shards): (ShardId, ShardCount),
    from: UnixMillis,
    to: UnixMillis,
    most: usize,
) -> StoreResult<Vec<(Id, i64)>> {
    let text = format!(
        "SELECT target_id, sum({heat} * CASE WHEN is_on THEN 1 ELSE -1 END)::bigint AS heat
         FROM activity WHERE at >= {from} AND at < {to} AND actor_id % $3 = $4 AND {heat} <> 0
         GROUP BY target_id ORDER BY heat DESC LIMIT $5",
        heat = heat_of_edge(),
        from = timestamp!("$1::bigint"),
        to = timestamp!("$2::bigint"),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(from)
        .bind(to)
        .bind(shards.get() as i64)
        .bind(i64::from(shard.0))
        .bind(most as i64);
    db.run(query.fetch_all(&db.pool())).await
}

/// Notes of the highest steps of all-time heat with their heat, the newest first within a step. A step is
/// about as wide as random differences of counts, so fetch more notes than needed, and take the hottest ones.
pub async fn hot_candidates(db: &Db, most: usize) -> StoreResult<Vec<(Id, i64)>> {
    let text = format!(
        "SELECT c.id, {} FROM note_counts AS c JOIN note AS n ON n.id = c.id AND n.is_shown
         ORDER BY c.heat_step DESC, c.id DESC LIMIT $1",
        heat_of_totals("c.")
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(most as i64);
    db.run(query.fetch_all(&db.pool())).await
}

/// Whose notes are ranked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotesOf {
    Author(UserId),
    Group(GroupId),
}

/// A page of the notes of an author or a group by their coarse step of all-time heat, the newest first within a
/// step. The score of a place is the step.
pub async fn hottest_notes(db: &Db, of: NotesOf, page: &PageRequest<Ranked>) -> StoreResult<Slice<Ranked>> {
    let (column, id) = match of {
        NotesOf::Author(author) => ("author_id", author.get()),
        NotesOf::Group(group) => ("group_id", group.get()),
    };
    let text = format!(
        "SELECT c.heat_step::bigint, c.id FROM note_counts AS c JOIN note AS n ON n.id = c.id AND n.is_shown
         WHERE c.{column} = $1 AND (c.heat_step, c.id) < ($2::bigint, $3::bigint)
         ORDER BY c.heat_step DESC, c.id DESC LIMIT $4"
    );
    let after = page.after.unwrap_or(Ranked::LAST);
    let query = sqlx::query_as(from_catalogue(text))
        .bind(id)
        .bind(after.score)
        .bind(after.id.get())
        .bind(page.rows());
    let rows: Vec<(i64, Id)> = db.run(query.fetch_all(&db.pool())).await?;
    Ok(page.slice(rows.into_iter().map(|(score, id)| Ranked { score, id }).collect()))
}

/// SQL for the weight of an edge's kind.
fn heat_of_edge() -> String {
    let cases: Vec<_> = EdgeKind::ALL
        .iter()
        .filter(|kind| kind.heat() != 0)
        .map(|kind| format!("WHEN {} THEN {}", kind.number(), kind.heat()))
        .collect();
    format!("CASE kind {} ELSE 0 END", cases.join(" "))
}

/// SQL for the heat in a note's totals; the column `heat_step` is made of exactly this.
fn heat_of_totals(prefix: &str) -> String {
    let terms: Vec<_> = WEIGHTS
        .iter()
        .map(|(counter, weight)| match weight {
            1 => format!("{prefix}{}", counter.name()),
            _ => format!("{weight} * {prefix}{}", counter.name()),
        })
        .collect();
    format!("({})", terms.join(" + "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_heat_are_of_the_heat_that_ranks_by_totals() {
        let migration = include_str!("../../../../migrations/0002_counts.sql");
        assert!(migration.contains(&format!("greatest({}, 0)", heat_of_totals(""))), "{migration}");
    }
}
