//! Moderation of groups: removing a group, taking notes out of one, and featuring notes in one.

use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Tx, from_catalogue},
};
use plaudit_catalogue::{
    EdgeKind,
    primitives::{GroupId, Id, NoteId, UserId},
};

/// What removing a group needs to know about it.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct GroupState {
    #[sqlx(rename = "owner_id")]
    pub owner: UserId,
    pub is_removed: bool,
}

/// A note that has left its group.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct LeavingNote {
    pub id: NoteId,
    /// It counted for the group.
    pub is_shown: bool,
    pub was_featured: bool,
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

/// Takes the next notes out of a group, also those that are not public. None are left when none are returned.
pub async fn take_notes_out(tx: &mut Tx, group: GroupId, most: usize) -> StoreResult<Vec<LeavingNote>> {
    let query = sqlx::query_as(
        "WITH page AS (
             SELECT id, is_shown, featured_at IS NOT NULL AS was_featured FROM note
             WHERE group_id = $1 AND id = ANY(ARRAY(
                 (SELECT id FROM note WHERE group_id = $1 AND is_shown LIMIT $2)
                 UNION ALL
                 (SELECT id FROM note WHERE group_id = $1 AND NOT is_shown AND removed_at IS NULL LIMIT $2)
                 LIMIT $2))
             ORDER BY id FOR NO KEY UPDATE
         )
         UPDATE note AS n SET group_id = NULL, featured_at = NULL FROM page
         WHERE n.id = page.id RETURNING n.id, page.is_shown, page.was_featured",
    )
    .bind(group.get())
    .bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Takes a note out of its group. Lock it first.
pub async fn take_note_out(tx: &mut Tx, note: NoteId) -> StoreResult<()> {
    let query =
        sqlx::query("UPDATE note SET group_id = NULL, featured_at = NULL WHERE id = $1").bind(note.get());
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    forget_group_of(tx, &[note.0]).await
}

/// Takes notes out of the list of their group by heat. Lock their totals first, if there are several.
pub async fn forget_group_of(tx: &mut Tx, notes: &[Id]) -> StoreResult<()> {
    let query = sqlx::query("UPDATE note_counts SET group_id = NULL WHERE id = ANY($1)")
        .bind(crate::sql::counting::counts::raw(notes));
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Excludes the next edges to a removed target from totals. Returns their actors. Batches must be locked out.
pub async fn exclude_edges_to(
    tx: &mut Tx,
    kind: EdgeKind,
    target: Id,
    most: usize,
) -> StoreResult<Vec<UserId>> {
    let text = format!(
        "UPDATE {edges} SET included = false WHERE target_id = $1 AND actor_id = ANY(ARRAY(
             SELECT actor_id FROM {edges} WHERE target_id = $1 AND included LIMIT $2))
         RETURNING actor_id",
        edges = kind.name(),
    );
    let query = sqlx::query_scalar(from_catalogue(text)).bind(target.get()).bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Features a note in its group, or stops featuring it.
pub async fn set_featured(tx: &mut Tx, note: NoteId, on: bool) -> StoreResult<()> {
    let query = sqlx::query("UPDATE note SET featured_at = CASE WHEN $2 THEN now() END WHERE id = $1")
        .bind(note.get())
        .bind(on);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
