//! Table `carried_total`: what totals include that has no rows.

use super::edges::{entity_table, is_shown, owner_column};
use crate::{
    StoreResult,
    sql::{Tx, from_catalogue},
};
use plaudit_catalogue::{
    CARRIED, Counter, EntityKind, counter_of_owner, may_carry,
    primitives::{Id, UserId},
};

/// A number of an entity, of one counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CarriedNumber {
    pub id: Id,
    pub counter: Counter,
    pub value: i64,
}

/// A number that was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetNumber {
    pub id: Id,
    pub counter: Counter,
    /// By how much the total changes.
    pub by: i64,
    pub owner: UserId,
    /// Everybody sees the entity, so the number also counts for its owner.
    pub is_shown: bool,
}

/// What a total includes without rows, as SQL. In it `t` is the entity's row.
pub(crate) fn carried_sql(counter: Counter) -> String {
    if may_carry(counter) {
        return format!(
            "coalesce((SELECT k.value FROM carried_total AS k
                       WHERE k.kind = '{}' AND k.id = t.id AND k.counter = '{}'), 0)",
            counter.kind().name(),
            counter.name(),
        );
    }
    match CARRIED.iter().find(|carried| counter_of_owner(**carried) == Some(counter)) {
        // The removal or hiding of the entity has subtracted its number.
        Some(carried) => format!(
            "(SELECT coalesce(sum(k.value), 0)::bigint FROM {entities} AS own
              JOIN carried_total AS k ON k.kind = '{kind}' AND k.id = own.id AND k.counter = '{name}'
              WHERE own.{owner} = t.id AND own.{shown})",
            entities = entity_table(carried.kind()),
            kind = carried.kind().name(),
            name = carried.name(),
            owner = owner_column(carried.kind()),
            shown = is_shown(carried.kind()),
        ),
        None => "0::bigint".to_owned(),
    }
}

/// Sets numbers of entities of one kind, each at most once. Entities that are removed are missing in the result.
///
/// Lock the totals of the entities and of their owners first, so that nobody else sets a number meanwhile. The
/// transaction holds the removal lock. The caller moves the totals.
pub async fn set_carried(
    tx: &mut Tx,
    kind: EntityKind,
    numbers: &[CarriedNumber],
) -> StoreResult<Vec<SetNumber>> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let text = format!(
        "WITH line AS MATERIALIZED (
             SELECT place, t.id, line.counter, coalesce(k.value, 0) AS before,
                    greatest(line.value - coalesce(k.value, 0), {most_down}) AS by,
                    t.{owner} AS owner_id, t.{shown} AS is_shown
             FROM unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY AS line (id, counter, value, place)
             JOIN {entities} AS t ON t.id = line.id AND t.removed_at IS NULL
             LEFT JOIN carried_total AS k ON k.kind = '{kind}' AND k.id = t.id AND k.counter = line.counter
         ), written AS (
             INSERT INTO carried_total (kind, id, counter, value)
             SELECT '{kind}', id, counter, before + by FROM line WHERE by <> 0
             ON CONFLICT (kind, id, counter) DO UPDATE SET value = excluded.value
         )
         SELECT place, by, owner_id, is_shown FROM line",
        kind = kind.name(),
        entities = entity_table(kind),
        owner = owner_column(kind),
        shown = is_shown(kind),
        // Coins that were spent here are not taken twice: a balance is never negative.
        most_down = match kind {
            EntityKind::User => {
                "CASE line.counter WHEN 'coins' THEN (SELECT -c.coins FROM user_counts AS c WHERE c.id = t.id) END"
            }
            _ => "NULL",
        },
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(numbers.iter().map(|number| number.id.get()).collect::<Vec<_>>())
        .bind(numbers.iter().map(|number| number.counter.name()).collect::<Vec<_>>())
        .bind(numbers.iter().map(|number| number.value).collect::<Vec<_>>());
    let rows: Vec<(i64, i64, UserId, bool)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let number = |(place, by, owner, is_shown): (i64, i64, UserId, bool)| {
        let CarriedNumber { id, counter, .. } = numbers[place as usize - 1];
        SetNumber { id, counter, by, owner, is_shown }
    };
    Ok(rows.into_iter().map(number).collect())
}

/// Deletes the numbers of a user. Totals of erased users are not shown any more.
pub(crate) async fn erase_carried(tx: &mut Tx, user: UserId) -> StoreResult<()> {
    let query = sqlx::query("DELETE FROM carried_total WHERE kind = $1 AND id = $2")
        .bind(EntityKind::User.name())
        .bind(user.get());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
