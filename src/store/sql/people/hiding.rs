//! What the hiding and restoring of a user changes, a page at a time: notes, comments on them, the user's own comments,
//! ratings, and edges. Every row says whether it counts, so totals move only for the rows that a page changes.
//!
//! Call `shards::lock_removals` first: nothing that counts these rows runs beside it.

use std::collections::BTreeMap;

use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{
        Tx,
        content::{
            comments::{self, CommentHeader},
            notes::{NotePlace, after_note, count_note},
        },
        counting::{
            counts::{self, raw},
            edges::{entity_table, is_shown, owner_column},
        },
        from_catalogue,
    },
};
use plaudit_catalogue::{
    Counter, Counts, Deltas, EdgeKind, Entity, EntityKind,
    primitives::{CommentId, Id, NoteId, UserId},
};

/// An edge that is on, before a page changes it.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct HiddenEdge {
    pub target: Id,
    pub owner: UserId,
    pub target_is_present: bool,
    /// Everybody sees the target, so the edge also counts for its owner.
    pub target_is_shown: bool,
    pub included: bool,
}

/// A note that is shown or not any more: its author was hidden or restored, or it was approved.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct HiddenNote {
    pub id: NoteId,
    #[sqlx(flatten)]
    pub place: NotePlace,
}

/// A comment on such a note.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct CommentOnHidden {
    pub id: CommentId,
    #[sqlx(rename = "note_id")]
    pub note: NoteId,
    #[sqlx(rename = "author_id")]
    pub author: UserId,
    pub is_counted: bool,
}

/// A rating whose user was hidden or restored.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct HiddenRating {
    #[sqlx(rename = "note_id")]
    pub note: NoteId,
    pub score: i16,
    /// If not, the removal has frozen the totals of its note.
    pub note_is_present: bool,
}

/// Number of rows that hiding or restoring a user goes through.
pub async fn count_rows_of(tx: &mut Tx, user: UserId) -> StoreResult<i64> {
    let of_kind =
        |kind: &EdgeKind| format!("(SELECT count(*) FROM {} WHERE actor_id = $1 AND is_on)", kind.name());
    let text = format!(
        "SELECT {} + (SELECT count(*) FROM note WHERE author_id = $1 AND is_shown)
            + (SELECT count(*) FROM note WHERE author_id = $1 AND NOT is_shown AND removed_at IS NULL)
            + (SELECT count(*) FROM comment_index WHERE author_id = $1 AND removed_at IS NULL)
            + (SELECT count(*) FROM note_rating WHERE user_id = $1)",
        EdgeKind::ALL.iter().map(of_kind).collect::<Vec<_>>().join(" + ")
    );
    let query = sqlx::query_scalar(from_catalogue(text)).bind(user.get());
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// Hides or shows the next notes of an author after one, by rising age. Returns those that changed, in this order.
/// Their lists are ordered by age, so their indexes serve, and none by id is needed.
pub async fn hide_notes_after(
    tx: &mut Tx,
    author: UserId,
    after: i64,
    hide: bool,
    most: usize,
) -> StoreResult<Vec<HiddenNote>> {
    let was = if hide { "is_shown" } else { "NOT is_shown AND removed_at IS NULL AND is_hidden" };
    let text = format!(
        "WITH changed AS (
             UPDATE note SET is_hidden = $3 WHERE id = ANY(ARRAY(
                 SELECT n.id FROM note AS n WHERE author_id = $1 AND {was} AND {after}
                 ORDER BY created_at, id LIMIT $4))
             RETURNING id, author_id, group_id, featured_at IS NOT NULL AS is_featured, created_at
         )
         SELECT id, author_id, group_id, is_featured FROM changed ORDER BY created_at, id",
        after = after_note("n"),
    );
    let query =
        sqlx::query_as(from_catalogue(text)).bind(author.get()).bind(after).bind(hide).bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// How totals move when these notes are shown (`by` 1) or hidden (-1). Locks the totals.
pub async fn count_notes(tx: &mut Tx, notes: &[HiddenNote], by: i64) -> StoreResult<Deltas> {
    let mut moved = Deltas::new();
    for note in notes {
        count_note(&note.place, &Counts::default(), by, &mut moved);
    }
    let ids: Vec<Id> = notes.iter().map(|note| note.id.0).collect();
    let entities = notes.iter().map(|note| note.id.into());
    let affected: Vec<Entity> = moved.keys().copied().chain(entities).collect();
    counts::lock_all_totals(tx, &affected).await?;
    let totals: BTreeMap<Id, Counts> =
        counts::lock_totals(tx, EntityKind::Note, &ids).await?.into_iter().collect();
    let mut moved = Deltas::new();
    for note in notes {
        count_note(&note.place, &totals.get(&note.id.0).copied().unwrap_or_default(), by, &mut moved);
    }
    Ok(moved)
}

/// Marks the next comments on an author's notes as comments on a hidden note, or not any more: after a
/// note's comment, by rising age of the note, then by id. Returns those that changed, in this order.
pub async fn hide_comments_on_notes(
    tx: &mut Tx,
    author: UserId,
    (note, comment): (i64, i64),
    hide: bool,
    most: usize,
) -> StoreResult<Vec<CommentOnHidden>> {
    let was = "removed_at IS NULL AND note_is_hidden <> $4";
    let notes = if hide { "NOT n.is_shown AND n.removed_at IS NULL AND n.is_hidden" } else { "n.is_shown" };
    let text = format!(
        "WITH page AS (
             (SELECT id, '-infinity'::timestamptz AS note_created_at FROM comment_index
              WHERE note_id = $2 AND id > $3 AND {was} ORDER BY id LIMIT $5)
             UNION ALL
             (SELECT c.id, n.created_at FROM note AS n CROSS JOIN LATERAL (
                  SELECT id FROM comment_index WHERE note_id = n.id AND {was} ORDER BY id LIMIT $5) AS c
              WHERE n.author_id = $1 AND {notes} AND {after}
              ORDER BY n.created_at, n.id, c.id LIMIT $5)
             LIMIT $5
         ), changed AS (
             UPDATE comment_index AS c SET note_is_hidden = $4 FROM page WHERE c.id = page.id
             RETURNING c.id, c.note_id, c.author_id, c.is_counted, page.note_created_at
         )
         SELECT id, note_id, author_id, is_counted FROM changed ORDER BY note_created_at, note_id, id",
        after = after_note("n"),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(author.get())
        .bind(note)
        .bind(comment)
        .bind(hide)
        .bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// The next comments of an author to hide or to show, by rising id.
pub async fn comments_to_hide_after(
    tx: &mut Tx,
    author: UserId,
    after: i64,
    hide: bool,
    most: usize,
) -> StoreResult<Vec<CommentHeader>> {
    let query = sqlx::query_scalar(
        "SELECT id FROM comment_index
         WHERE author_id = $1 AND id > $2 AND removed_at IS NULL AND is_hidden <> $3 ORDER BY id LIMIT $4",
    )
    .bind(author.get())
    .bind(after)
    .bind(hide)
    .bind(most as i64);
    let comments: Vec<CommentId> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    comments::comment_headers(tx, &comments).await
}

/// Hides or shows these comments. Lock the totals that move first.
pub async fn hide_comments(tx: &mut Tx, comments: &[CommentHeader], hide: bool) -> StoreResult<()> {
    let query = sqlx::query("UPDATE comment_index SET is_hidden = $2 WHERE id = ANY($1)")
        .bind(comments.iter().map(|comment| comment.id.get()).collect::<Vec<_>>())
        .bind(hide);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Makes comments placeholders that are removed or hidden and have replies, and no others. Call it after the totals
/// have moved.
pub async fn settle_placeholders(tx: &mut Tx, comments: &[CommentId]) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE comment_index AS c
         SET is_placeholder = (c.removed_at IS NOT NULL OR c.is_hidden) AND counts.replies > 0
         FROM comment_counts AS counts, note AS n
         WHERE c.id = ANY($1) AND counts.id = c.id AND n.id = c.note_id AND n.removed_at IS NULL",
    )
    .bind(comments.iter().map(|comment| comment.get()).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Includes the next ratings of a user in totals, or excludes them, by rising note. Returns those that changed.
pub async fn include_ratings_after(
    tx: &mut Tx,
    user: UserId,
    after: i64,
    include: bool,
    most: usize,
) -> StoreResult<Vec<HiddenRating>> {
    let query = sqlx::query_as(
        "UPDATE note_rating AS r SET included = $3 FROM note AS n
         WHERE r.user_id = $1 AND r.note_id = ANY(ARRAY(
             SELECT note_id FROM note_rating
             WHERE user_id = $1 AND note_id > $2 AND included <> $3 ORDER BY note_id LIMIT $4))
           AND n.id = r.note_id
         RETURNING r.note_id, r.score, n.removed_at IS NULL AS note_is_present",
    )
    .bind(user.get())
    .bind(after)
    .bind(include)
    .bind(most as i64);
    let mut ratings: Vec<HiddenRating> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    ratings.sort_unstable_by_key(|rating| rating.note);
    Ok(ratings)
}

/// The next edges of an actor that are on, by rising target.
pub async fn edges_after(
    tx: &mut Tx,
    kind: EdgeKind,
    actor: UserId,
    after: i64,
    most: usize,
) -> StoreResult<Vec<HiddenEdge>> {
    let text = format!(
        "SELECT e.target_id AS target, t.{owner} AS owner, t.removed_at IS NULL AS target_is_present,
                t.{shown} AS target_is_shown, e.included
         FROM {edges} AS e
         JOIN {targets} AS t ON t.id = e.target_id
         WHERE e.actor_id = $1 AND e.target_id > $2 AND e.is_on ORDER BY e.target_id LIMIT $3",
        owner = owner_column(kind.target()),
        shown = is_shown(kind.target()),
        edges = kind.name(),
        targets = entity_table(kind.target()),
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(actor.get()).bind(after).bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Sets whether the totals include these edges.
pub async fn set_included(
    tx: &mut Tx,
    kind: EdgeKind,
    actor: UserId,
    targets: &[Id],
    included: bool,
) -> StoreResult<()> {
    let text =
        format!("UPDATE {} SET included = $3 WHERE actor_id = $1 AND target_id = ANY($2)", kind.name());
    let query = sqlx::query(from_catalogue(text)).bind(actor.get()).bind(raw(targets)).bind(included);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

impl HiddenRating {
    /// Adds the change of totals when it is included (`by` 1) or excluded (-1).
    pub fn count(&self, by: i64, moved: &mut Deltas) {
        if self.note_is_present {
            let note = moved.entry(self.note.into()).or_default();
            note.add(Counter::NoteRatings, by);
            note.add(Counter::NoteRatingSum, by * i64::from(self.score));
        }
    }
}
