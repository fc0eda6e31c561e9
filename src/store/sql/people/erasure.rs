//! Erasing a user: the row keeps the id alone, and everything of the user is deleted, a page at a time. Before that it
//! was hidden ([`super::hiding`]), so it counts nowhere and no total moves; only followers follow one user less.
//!
//! Call `shards::lock_removals` first. The persister writes no row of an erased user, so nothing comes back.

use chrono::NaiveDate;
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{
        Db, Tx,
        content::comments::raw,
        counting::{
            activity::partition,
            backfills::{self, BackfillKind},
            carried,
            edges::{entity_table, owner_column},
        },
        from_catalogue,
        ownership::shards,
        people::hiding,
        stream::{
            events::{self, NewEvent},
            retention,
        },
    },
};
use plaudit_catalogue::{
    EdgeKind, EventKind,
    primitives::{CommentId, Id, NoteId, ShardCount, ShardId, UserId},
};

/// Pages of a table (8 KiB each) that one statement reads, in about 20 ms.
pub(crate) const BLOCKS: i64 = 2_000;

/// A note that was erased.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct ErasedNote {
    pub id: NoteId,
    /// Comments are to be removed with it.
    pub has_comments: bool,
}

/// A user who followed the erased user.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct FormerFollower {
    #[sqlx(rename = "actor_id")]
    pub user: UserId,
    /// The follow counted.
    pub included: bool,
}

/// An edge that was erased, of which the target's owner had been told.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct ErasedNotice {
    #[sqlx(rename = "owner_id")]
    pub owner: UserId,
    #[sqlx(rename = "target_id")]
    pub target: Id,
    pub told: i64,
}

/// The erased ones of the next `most` users by id, and the last one looked at; `None` after the last one.
pub async fn erased_users_after(db: &Db, after: i64, most: i64) -> StoreResult<Option<(i64, Vec<UserId>)>> {
    let query = sqlx::query_as(
        "WITH page AS (SELECT id, removed_at FROM app_user WHERE id > $1 ORDER BY id LIMIT $2)
         SELECT max(id), coalesce(array_agg(id ORDER BY id) FILTER (WHERE removed_at IS NOT NULL), '{}') FROM page",
    );
    let query = query.bind(after).bind(most);
    let (last, erased): (Option<i64>, Vec<i64>) = db.run(query.fetch_one(&db.pool())).await?;
    let erased = erased.into_iter().filter_map(|id| Id::try_from(id).ok()).map(UserId).collect();
    Ok(last.map(|last| (last, erased)))
}

/// Empties the row of a user, who is hidden with it, and orders the rest for the background. Returns
/// whether anything changed; `None` if there never was such a user.
pub async fn erase_user(
    tx: &mut Tx,
    shards: ShardCount,
    user: UserId,
    ordered_by: UserId,
) -> StoreResult<Option<bool>> {
    let query =
        sqlx::query_scalar("SELECT subject FROM app_user WHERE id = $1 FOR NO KEY UPDATE").bind(user.get());
    let found: Option<Option<String>> = tx.db.run(query.fetch_optional(&mut *tx.inner)).await?;
    let Some(subject) = found else { return Ok(None) };
    // Erased users have none.
    let Some(subject) = subject else { return Ok(Some(false)) };
    // Counted before the lock, which blocks batches. Only the progress depends on it.
    let rows = hiding::count_rows_of(tx, user).await?;
    shards::lock_removals(tx).await?;
    let query = sqlx::query(
        "UPDATE app_user SET removed_at = now(), hidden_at = coalesce(hidden_at, now()), subject = NULL, name = '',
             avatar_url = NULL, profile_as_of = 'infinity', suspended_until = NULL, suspension_reason = NULL
         WHERE id = $1",
    )
    .bind(user.get());
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    carried::erase_carried(tx, user).await?;
    retention::keep_digest(tx, &subject).await?;
    let erasure = NewEvent::now(EventKind::Erasure, Some(ordered_by), user.0);
    events::record(tx, NewEvent { subject: Some(subject), ..erasure });
    // Each row is hidden, and then deleted.
    backfills::add_backfill(tx, shards, user.into(), BackfillKind::Erase, 2 * rows, ordered_by).await?;
    Ok(Some(true))
}

/// Removes the next notes of an author with their texts; also texts of notes that were removed before. None is
/// shown any more.
pub async fn erase_notes(tx: &mut Tx, author: UserId, most: usize) -> StoreResult<Vec<ErasedNote>> {
    let query = sqlx::query_as(
        "WITH page AS (
             (SELECT id FROM note WHERE author_id = $1 AND NOT is_shown AND removed_at IS NULL LIMIT $2)
             UNION ALL
             (SELECT id FROM note WHERE author_id = $1 AND removed_at IS NOT NULL AND (title <> '' OR body <> '')
              LIMIT $2)
             LIMIT $2
         ), decided AS (DELETE FROM decision AS d USING page WHERE d.kind = 'note' AND d.target_id = page.id)
         UPDATE note AS n SET removed_at = coalesce(removed_at, now()), title = '', body = '', url = NULL
         WHERE id = ANY(ARRAY(SELECT id FROM page))
         RETURNING id, EXISTS (SELECT FROM comment_index AS c
                               WHERE c.note_id = n.id AND (c.removed_at IS NULL OR c.is_placeholder)) AS has_comments",
    )
    .bind(author.get())
    .bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// The next comments of an author, by rising id.
pub async fn comments_after(
    tx: &mut Tx,
    author: UserId,
    after: i64,
    most: usize,
) -> StoreResult<Vec<CommentId>> {
    let next = "SELECT id FROM comment_index WHERE author_id = $1 AND id > $2 ORDER BY id LIMIT $3";
    let query = sqlx::query_scalar(next).bind(author.get()).bind(after).bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Removes comments with texts and decisions. Placeholders above replies stay.
pub async fn erase_comments(tx: &mut Tx, comments: &[CommentId]) -> StoreResult<()> {
    let query = sqlx::query(
        "WITH text AS (UPDATE comment_body SET body = '', images = '{}', mentions = '{}' WHERE id = ANY($1)),
         edits AS (DELETE FROM edit WHERE kind = 'comment' AND target_id = ANY($1)),
         queued AS (DELETE FROM submission WHERE kind = 'comment' AND target_id = ANY($1)),
         decided AS (DELETE FROM decision WHERE kind = 'comment' AND target_id = ANY($1))
         UPDATE comment_index SET removed_at = coalesce(removed_at, now()), rating_at_writing = NULL
         WHERE id = ANY($1)",
    )
    .bind(raw(comments));
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Empties the texts of groups that the user created and that were removed. Returns their number.
pub async fn erase_removed_groups(tx: &mut Tx, owner: UserId, most: usize) -> StoreResult<usize> {
    let text = "UPDATE app_group SET name = '', description = '' WHERE id = ANY(ARRAY(
                    SELECT id FROM app_group
                    WHERE owner_id = $1 AND removed_at IS NOT NULL AND (name <> '' OR description <> '') LIMIT $2))";
    delete(tx, text.into(), owner.0, most).await
}

/// Deletes rows of an actor's edges. Returns their number, and those that others were told of.
pub async fn erase_edges(
    tx: &mut Tx,
    kind: EdgeKind,
    actor: UserId,
    most: usize,
) -> StoreResult<(usize, Vec<ErasedNotice>)> {
    let text = format!(
        "WITH gone AS (
             DELETE FROM {edges} WHERE actor_id = $1 AND target_id = ANY(ARRAY(
                 SELECT target_id FROM {edges} WHERE actor_id = $1 ORDER BY target_id LIMIT $2))
             RETURNING target_id, told
         )
         SELECT coalesce(t.{owner}, target_id) AS owner_id, target_id, told
         FROM gone LEFT JOIN {targets} AS t ON t.id = target_id",
        edges = kind.name(),
        targets = entity_table(kind.target()),
        owner = owner_column(kind.target()),
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(actor.get()).bind(most as i64);
    let mut edges: Vec<ErasedNotice> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let erased = edges.len();
    edges.retain(|edge| edge.told > 0);
    Ok((erased, edges))
}

/// Deletes follows of a user.
pub async fn erase_followers(tx: &mut Tx, user: UserId, most: usize) -> StoreResult<Vec<FormerFollower>> {
    let query = sqlx::query_as(
        "DELETE FROM follow WHERE target_id = $1 AND actor_id = ANY(ARRAY(
             (SELECT actor_id FROM follow WHERE target_id = $1 AND included LIMIT $2)
             UNION ALL
             (SELECT actor_id FROM follow WHERE target_id = $1 AND NOT included LIMIT $2)
             LIMIT $2))
         RETURNING actor_id, included",
    )
    .bind(user.get())
    .bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Deletes ratings of a user. Returns their number.
pub async fn erase_ratings(tx: &mut Tx, user: UserId, most: usize) -> StoreResult<usize> {
    let text = "DELETE FROM note_rating WHERE user_id = $1 AND note_id = ANY(ARRAY(
                    SELECT note_id FROM note_rating WHERE user_id = $1 LIMIT $2))";
    delete(tx, text.into(), user.0, most).await
}

/// Deletes the coin ledger of a user. Returns the number of its rows.
pub async fn erase_coins(tx: &mut Tx, user: UserId, most: usize) -> StoreResult<usize> {
    let allow = sqlx::query("SET LOCAL plaudit.erasing = 'on'");
    tx.db.run(allow.execute(&mut *tx.inner)).await?;
    let text = "DELETE FROM coin_ledger WHERE id = ANY(ARRAY(
                    SELECT id FROM coin_ledger WHERE user_id = $1 LIMIT $2))";
    delete(tx, text.into(), user.0, most).await
}

/// Deletes idempotency keys of a user. Returns their number.
pub async fn erase_keys(tx: &mut Tx, user: UserId, most: usize) -> StoreResult<usize> {
    let text = "DELETE FROM idempotency_key WHERE actor_id = $1 AND key = ANY(ARRAY(
                    SELECT key FROM idempotency_key WHERE actor_id = $1 LIMIT $2))";
    delete(tx, text.into(), user.0, most).await
}

/// Drops the dead events of a user's edges.
pub async fn erase_dead_events(tx: &mut Tx, shard: ShardId, user: UserId) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE dead_event SET state = 'dropped', decided_at = now(), payload = '', actor_id = NULL
         WHERE shard = $1 AND actor_id = $2 AND state = 'dead'",
    )
    .bind(shard.0 as i16)
    .bind(user.get());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Whether a table has blocks from this one on.
pub(crate) async fn has_block(tx: &mut Tx, table: &str, block: i64) -> StoreResult<bool> {
    let text =
        format!("SELECT pg_relation_size('{table}') / current_setting('block_size')::bigint > {block}");
    tx.db.run(sqlx::query_scalar(from_catalogue(text)).fetch_one(&mut *tx.inner)).await
}

/// Takes the actor out of the steps of a day, in the blocks from `block` on. Returns where the next page begins;
/// `None` after the last one.
pub async fn erase_history(
    tx: &mut Tx,
    day: NaiveDate,
    block: i64,
    actor: UserId,
) -> StoreResult<Option<i64>> {
    let (day, end) = (partition(day), block + BLOCKS);
    let text = format!(
        "UPDATE {day} SET actor_id = 0
         WHERE actor_id = $1 AND ctid >= '({block},0)'::tid AND ctid < '({end},0)'::tid"
    );
    let query = sqlx::query(from_catalogue(text)).bind(actor.get());
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    Ok(has_block(tx, &day, end).await?.then_some(end))
}

/// The erased ones of these users.
pub async fn erased_among(tx: &mut Tx, users: &[Id]) -> StoreResult<Vec<Id>> {
    let query = sqlx::query_scalar("SELECT id FROM app_user WHERE id = ANY($1) AND removed_at IS NOT NULL")
        .bind(users.iter().map(|user| user.get()).collect::<Vec<_>>());
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Runs a statement that deletes at most `$2` rows of `$1`.
pub(crate) async fn delete(tx: &mut Tx, text: String, of: Id, most: usize) -> StoreResult<usize> {
    let query = sqlx::query(from_catalogue(text)).bind(of.get()).bind(most as i64);
    Ok(tx.db.run(query.execute(&mut *tx.inner)).await?.rows_affected() as usize)
}
