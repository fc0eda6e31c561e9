//! Retention of inbox entries.

use std::time::Duration;

use super::entries::read_to;
use crate::{
    StoreResult,
    sql::{
        Tx,
        counting::{
            counts::{self, raw},
            recount::kinds_of,
        },
        from_catalogue,
        people::erasure::{self, BLOCKS},
    },
};
use plaudit_catalogue::{Counter, EntityKind, primitives::Id};

/// Deletes at most `most` entries that are older than `age`, in the blocks of the table from `block` on.
/// Their unread events stay in the numbers of their badges, so no total moves. Returns where the next page
/// begins; `None` after the last one. An index by time would cost every like; this reads the table once.
pub async fn delete_old_entries(
    tx: &mut Tx,
    age: Duration,
    block: i64,
    most: usize,
) -> StoreResult<Option<i64>> {
    let end = block + BLOCKS;
    let text = format!(
        "SELECT recipient_id, kind, target_id FROM inbox_entry
         WHERE {OLD} AND ctid >= '({block},0)'::tid AND ctid < '({end},0)'::tid LIMIT $2"
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(age.as_secs() as i64).bind(most as i64);
    let entries: Vec<(Id, i16, Id)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    if !entries.is_empty() {
        delete_if_old(tx, age, &entries).await?;
    }
    if entries.len() == most {
        return Ok(Some(block));
    }
    Ok(erasure::has_block(tx, "inbox_entry", end).await?.then_some(end))
}

/// An entry that got an event before its inbox was locked is not old any more.
async fn delete_if_old(tx: &mut Tx, age: Duration, entries: &[(Id, i16, Id)]) -> StoreResult<()> {
    let recipients: Vec<Id> = entries.iter().map(|(recipient, ..)| *recipient).collect();
    counts::lock_totals(tx, EntityKind::Inbox, &recipients).await?;
    let text = format!(
        "WITH gone AS (
             DELETE FROM inbox_entry AS e
             USING unnest($2::bigint[], $3::smallint[], $4::bigint[]) AS old (recipient, kind, target),
                   inbox_counts AS c
             WHERE e.recipient_id = recipient AND e.kind = old.kind AND e.target_id = target AND e.{OLD}
               AND c.id = e.recipient_id
             RETURNING e.recipient_id, e.kind, CASE WHEN e.id > {read_to} THEN e.unread ELSE 0 END AS unread
         ), unread AS (
             SELECT recipient_id, {sums} FROM gone GROUP BY recipient_id HAVING sum(unread) > 0
         )
         UPDATE inbox_counts AS c SET {kept} FROM unread AS u WHERE c.id = u.recipient_id",
        read_to = read_to("e.kind", "c"),
        sums = of_badges(|badge, name| {
            format!("coalesce(sum(unread) FILTER (WHERE kind IN ({})), 0) AS {name}", kinds_of(badge))
        }),
        kept = of_badges(|_, name| format!("{name}_unlisted = c.{name}_unlisted + u.{name}")),
    );
    let query = sqlx::query(from_catalogue(text))
        .bind(age.as_secs() as i64)
        .bind(raw(&recipients))
        .bind(entries.iter().map(|(_, kind, _)| *kind).collect::<Vec<_>>())
        .bind(entries.iter().map(|(.., target)| target.get()).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Condition: older than `$1` seconds.
const OLD: &str = "created_at < now() - $1 * interval '1 s'";

/// SQL for each badge, by its counter and the name of that.
fn of_badges(sql: impl Fn(Counter, &str) -> String) -> String {
    let badges = EntityKind::Inbox.counters();
    badges.iter().map(|badge| sql(*badge, badge.name())).collect::<Vec<_>>().join(", ")
}
