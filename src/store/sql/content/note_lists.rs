//! Lists of notes, newest first: all, of a user, of a group, of followed authors.

use chrono::{DateTime, Utc};

use crate::{
    StoreResult,
    sql::{
        Db,
        counting::lists::{moment, time},
        from_catalogue,
    },
};
use plaudit_catalogue::primitives::{GroupId, Id, Moment, PageRequest, Slice, UserId};

/// SQL: the newest notes before the place (`$1`, `$2`), at most `$3`. One range of an index that ends with
/// these columns.
const BEFORE: &str = "(created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3";

/// Newest notes.
pub async fn newest_notes(db: &Db, page: PageRequest<Moment>) -> StoreResult<Slice<Moment>> {
    notes_where(db, "true", None, page).await
}

/// A user's newest notes.
pub async fn notes_of_user(db: &Db, author: UserId, page: PageRequest<Moment>) -> StoreResult<Slice<Moment>> {
    notes_where(db, "author_id = $4", Some(author.0), page).await
}

/// A group's newest notes.
pub async fn notes_of_group(
    db: &Db,
    group: GroupId,
    page: PageRequest<Moment>,
) -> StoreResult<Slice<Moment>> {
    notes_where(db, "group_id = $4", Some(group.0), page).await
}

/// The same with hidden notes, for their author and moderators.
pub async fn all_notes_of_user(
    db: &Db,
    author: UserId,
    page: PageRequest<Moment>,
) -> StoreResult<Slice<Moment>> {
    let text = format!(
        "(SELECT id, created_at FROM note WHERE author_id = $4 AND is_shown AND {BEFORE})
         UNION ALL
         (SELECT id, created_at FROM note
          WHERE author_id = $4 AND NOT is_shown AND removed_at IS NULL AND is_hidden AND {BEFORE})
         ORDER BY created_at DESC, id DESC LIMIT $3"
    );
    newest_of(db, text, Some(author.0), page).await
}

/// An author's notes that only the author and moderators see, newest first: not approved, or hidden.
pub async fn unpublished_notes_of(
    db: &Db,
    author: UserId,
    page: PageRequest<Moment>,
) -> StoreResult<Slice<Moment>> {
    let text = format!(
        "SELECT id, created_at FROM note
         WHERE author_id = $4 AND NOT is_shown AND removed_at IS NULL AND {BEFORE}"
    );
    newest_of(db, text, Some(author.0), page).await
}

/// Newest first. `of` is bound to `$4`.
async fn notes_where(
    db: &Db,
    condition: &'static str,
    of: Option<Id>,
    page: PageRequest<Moment>,
) -> StoreResult<Slice<Moment>> {
    let text = format!("SELECT id, created_at FROM note WHERE {condition} AND is_shown AND {BEFORE}");
    newest_of(db, text, of, page).await
}

/// The page that a statement with [`BEFORE`] returns. `of` is bound to `$4`.
async fn newest_of(
    db: &Db,
    text: String,
    of: Option<Id>,
    page: PageRequest<Moment>,
) -> StoreResult<Slice<Moment>> {
    let before = page.before();
    let mut query = sqlx::query_as(from_catalogue(text))
        .bind(time(before.micros))
        .bind(before.id.get())
        .bind(page.rows());
    if let Some(of) = of {
        query = query.bind(of.get());
    }
    let rows: Vec<(Id, DateTime<Utc>)> = db.run(query.fetch_all(&db.pool())).await?;
    Ok(page.slice(rows.into_iter().map(moment).collect()))
}

/// The newest note of each author behind `page.after`, in no order: one look-up in the index per author.
pub async fn newest_note_of_each(
    db: &Db,
    authors: &[UserId],
    page: PageRequest<Moment>,
) -> StoreResult<Vec<(UserId, Moment)>> {
    newest_of_each(db, authors, page, 1).await
}

/// The newest notes of each author behind `page.after`, at most `page.rows()` of each, in no order.
pub async fn newest_notes_of_each(
    db: &Db,
    authors: &[UserId],
    page: PageRequest<Moment>,
) -> StoreResult<Vec<Moment>> {
    let notes = newest_of_each(db, authors, page, page.rows()).await?;
    Ok(notes.into_iter().map(|(_, place)| place).collect())
}

async fn newest_of_each(
    db: &Db,
    authors: &[UserId],
    page: PageRequest<Moment>,
    most: i64,
) -> StoreResult<Vec<(UserId, Moment)>> {
    let before = page.before();
    let text = format!(
        "SELECT author.id, newest.id, newest.created_at FROM unnest($4::bigint[]) AS author (id)
         CROSS JOIN LATERAL (SELECT id, created_at FROM note
                             WHERE author_id = author.id AND is_shown AND {BEFORE}) AS newest"
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(time(before.micros))
        .bind(before.id.get())
        .bind(most)
        .bind(raw(authors));
    let rows: Vec<(UserId, Id, DateTime<Utc>)> = db.run(query.fetch_all(&db.pool())).await?;
    Ok(rows.into_iter().map(|(author, id, at)| (author, moment((id, at)))).collect())
}

fn raw(authors: &[UserId]) -> Vec<i64> {
    authors.iter().map(|author| author.get()).collect()
}
