//! Changes of live lists since a position: comments of a note, and notes of the feed. Each is one statement and so one
//! moment: what it does not return was committed after its position.

use std::cmp::Reverse;

use sqlx::{FromRow, Row, postgres::PgRow};

use super::threads;
use crate::{
    StoreResult,
    sql::{Db, connection::timeline::TIMELINE, from_catalogue},
};
use plaudit_catalogue::primitives::{ChangePosition, CommentId, NoteId};

use threads::Comment;

/// What changed after a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changes<T> {
    /// The position of the newest change that is included.
    pub position: ChangePosition,
    /// The newest changes, the newest first.
    pub items: Vec<T>,
    /// There are others after the position that was asked for; or that position means nothing.
    pub has_more: bool,
    /// There are changes that cannot be read yet, because older transactions are open.
    pub has_pending: bool,
}

/// The last change of what everybody sees of a comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommentChange {
    /// It appeared, or its text changed, or it is a placeholder now.
    Shown(Box<Comment>),
    Gone(CommentId),
}

impl CommentChange {
    /// Of everything that it has of the text.
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::Shown(comment) => {
                comment.body.len() + comment.images.iter().map(String::len).sum::<usize>()
            }
            Self::Gone(_) => 0,
        }
    }
}

/// The timeline as a number.
fn database() -> String {
    format!("('x' || {TIMELINE})::bit(64)::bigint")
}

/// Identifies the database and its timeline.
pub async fn database_identity(db: &Db) -> StoreResult<i64> {
    let text = format!("SELECT {}", database());
    db.run(sqlx::query_scalar(from_catalogue(text)).fetch_one(&db.pool())).await
}

/// The newest changes of a note's comments, at most `most`; none without a position. `None` if the note is
/// not shown.
pub async fn comment_changes(
    db: &Db,
    note: NoteId,
    since: Option<ChangePosition>,
    most: usize,
) -> StoreResult<Option<Changes<CommentChange>>> {
    let text = format!(
        "WITH here AS (
             SELECT {database} AS database, counts.comment_position AS newest,
                    $3::bigint = {database} AND $2::bigint <= counts.comment_position AS is_known
             FROM note AS n JOIN note_counts AS counts ON counts.id = n.id WHERE n.id = $1 AND n.is_shown
         )
         SELECT here.database, here.newest, here.is_known, change.comment_id, change.position,
                i.is_listed, {columns}
         FROM here
         LEFT JOIN LATERAL (
             SELECT comment_id, position FROM comment_change
             WHERE note_id = $1 AND position > CASE WHEN $2 IS NULL OR here.is_known THEN $2 ELSE 0 END
             ORDER BY position DESC LIMIT {limit}
         ) AS change ON true
         LEFT JOIN comment_index AS i ON i.id = change.comment_id
         LEFT JOIN comment_body AS b ON b.id = change.comment_id
         LEFT JOIN edit AS e ON e.kind = 'comment' AND e.target_id = change.comment_id",
        database = database(),
        columns = threads::COLUMNS,
        limit = most + 1, // a constant: PostgreSQL estimates a tenth of all rows for a parameter
    );
    let query = sqlx::query(from_catalogue(text))
        .bind(note.get())
        .bind(since.map(|since| since.major))
        .bind(since.map(|since| since.database));
    let rows = db.run(query.fetch_all(&db.pool())).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let position =
        ChangePosition { database: first.try_get("database")?, major: first.try_get("newest")?, minor: 0 };
    let changed = rows.iter().map(comment_change).collect::<sqlx::Result<Vec<_>>>()?;
    let mut changed: Vec<_> = changed.into_iter().flatten().collect();
    changed.sort_unstable_by_key(|(position, _)| Reverse(*position));
    let items = changed.into_iter().map(|(_, change)| change).collect();
    Ok(Some(changes(position, is_known(first)?, items, most, false)))
}

/// The newest notes of the feed, at most `most`; none without a position. A note is included once every transaction
/// that may have a lower position has ended.
pub async fn feed_changes(
    db: &Db,
    since: Option<ChangePosition>,
    most: usize,
) -> StoreResult<Changes<NoteId>> {
    let text = format!(
        "WITH here AS (
             SELECT {database} AS database, pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon
         ), asked AS (
             SELECT here.*, $1::bigint = database AND $2::bigint < horizon AS is_known FROM here
         )
         SELECT asked.database, asked.is_known, n.shown_xact, n.id, pending.id IS NOT NULL AS has_pending
         FROM asked
         LEFT JOIN LATERAL (
             SELECT id FROM note WHERE is_shown AND shown_xact >= asked.horizon
             ORDER BY shown_xact DESC, id DESC LIMIT 1
         ) AS pending ON true
         LEFT JOIN LATERAL (
             SELECT id, shown_xact FROM note
             WHERE is_shown AND shown_xact < asked.horizon
               AND (shown_xact, id) > (CASE WHEN asked.is_known THEN $2 ELSE 0 END,
                                       CASE WHEN asked.is_known THEN $3::bigint ELSE 0 END)
             ORDER BY shown_xact DESC, id DESC LIMIT {limit}
         ) AS n ON true",
        database = database(),
        // Without a position, the newest note says what the present one is.
        limit = since.map_or(1, |_| most + 1),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(since.map(|since| since.database))
        .bind(since.map(|since| since.major))
        .bind(since.map(|since| since.minor));
    let mut rows: Vec<NewNoteRow> = db.run(query.fetch_all(&db.pool())).await?;
    rows.sort_unstable_by_key(|row| Reverse(row.place()));
    let Some(first) = rows.first() else { return Ok(Changes::default()) };
    let known = since.filter(|_| first.is_known == Some(true));
    let place = first.place().or_else(|| known.map(|since| (since.major, since.minor))).unwrap_or_default();
    let position = ChangePosition { database: first.database, major: place.0, minor: place.1 };
    let is_known = since.is_none() || known.is_some();
    let notes = rows.iter().filter(|_| since.is_some()).filter_map(|row| row.id);
    Ok(changes(position, is_known, notes.collect(), most, first.has_pending))
}

impl<T> Default for Changes<T> {
    fn default() -> Self {
        changes(ChangePosition::default(), true, Vec::new(), 0, false)
    }
}

/// `items` has one more than `most` if there are others.
fn changes<T>(
    position: ChangePosition,
    is_known: bool,
    mut items: Vec<T>,
    most: usize,
    has_pending: bool,
) -> Changes<T> {
    let has_more = items.len() > most || !is_known;
    items.truncate(most);
    Changes { position, items, has_more, has_pending }
}

/// A position that was not given is known.
fn is_known(row: &PgRow) -> sqlx::Result<bool> {
    Ok(row.try_get::<Option<bool>, _>("is_known")?.unwrap_or(true))
}

/// The change with its position. `None` for the row of a list without changes.
fn comment_change(row: &PgRow) -> sqlx::Result<Option<(i64, CommentChange)>> {
    let Some(comment) = row.try_get::<Option<CommentId>, _>("comment_id")? else { return Ok(None) };
    let change = if row.try_get("is_listed")? {
        CommentChange::Shown(Box::new(Comment::from_row(row)?))
    } else {
        CommentChange::Gone(comment)
    };
    Ok(Some((row.try_get("position")?, change)))
}

/// A row of `changes::feed_changes`.
#[derive(FromRow)]
struct NewNoteRow {
    database: i64,
    /// `None` without a position.
    is_known: Option<bool>,
    shown_xact: Option<i64>,
    id: Option<NoteId>,
    has_pending: bool,
}

impl NewNoteRow {
    fn place(&self) -> Option<(i64, i64)> {
        Some((self.shown_xact?, self.id?.get()))
    }
}
