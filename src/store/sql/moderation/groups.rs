//! Moderation of groups: removing a group, taking notes out of one, and featuring notes in one.

use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Tx, from_catalogue},
};
use plaudit_catalogue::{
    EdgeKind,
    primitives::{GroupId, Id, UserId},
};

/// What removing a group needs to know about it.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct GroupState {
    #[sqlx(rename = "owner_id")]
    pub owner: UserId,
    pub is_removed: bool,
}

/// The state of a group, without a lock, so it may change; `None` if it never existed.
pub async fn group_state(tx: &mut Tx, group: GroupId) -> StoreResult<Option<GroupState>> {
    let query =
        sqlx::query_as("SELECT owner_id, removed_at IS NOT NULL AS is_removed FROM app_group WHERE id = $1")
            .bind(group.get());
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// Removes a group. Returns the number of its members and notes, which are to leave it; `None` if it was removed
/// before. Call `shards::lock_removals` first.
pub async fn remove_group(tx: &mut Tx, group: GroupId) -> StoreResult<Option<i64>> {
    let query = sqlx::query_scalar(
        "UPDATE app_group AS g SET removed_at = now() FROM group_counts AS c
         WHERE g.id = $1 AND g.removed_at IS NULL AND c.id = g.id RETURNING c.members + c.notes",
    )
    .bind(group.get());
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// The next notes of a group, also those that are not public.
pub async fn notes_in(tx: &mut Tx, group: GroupId, most: usize) -> StoreResult<Vec<Id>> {
    let query = sqlx::query_scalar(
        "(SELECT id FROM note WHERE group_id = $1 AND is_shown LIMIT $2)
         UNION ALL
         (SELECT id FROM note WHERE group_id = $1 AND NOT is_shown AND removed_at IS NULL LIMIT $2)
         LIMIT $2",
    )
    .bind(group.get())
    .bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// The actors of the next edges to a target that totals include.
pub async fn included_actors(
    tx: &mut Tx,
    kind: EdgeKind,
    target: Id,
    most: usize,
) -> StoreResult<Vec<UserId>> {
    let text = format!("SELECT actor_id FROM {} WHERE target_id = $1 AND included LIMIT $2", kind.name());
    let query = sqlx::query_scalar(from_catalogue(text)).bind(target.get()).bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}
