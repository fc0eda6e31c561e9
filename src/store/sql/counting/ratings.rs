//! Ratings of notes.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::{
    lists::{moment, time},
    rows::{self, RowKeys},
};
use crate::{
    StoreResult,
    sql::{Db, Tx},
};
use plaudit_catalogue::{
    Deltas, RATINGS,
    primitives::{Id, Moment, NoteId, PageRequest, Slice, UserId},
};

/// A user's ratings of these notes. Notes without a rating are missing.
pub async fn ratings_of(db: &Db, user: UserId, notes: &[NoteId]) -> StoreResult<HashMap<NoteId, i16>> {
    let notes: Vec<i64> = notes.iter().map(|note| note.get()).collect();
    let query =
        sqlx::query_as("SELECT note_id, score FROM note_rating WHERE user_id = $1 AND note_id = ANY($2)")
            .bind(user.get())
            .bind(notes);
    let ratings: Vec<(NoteId, i16)> = db.run(query.fetch_all(&db.pool())).await?;
    Ok(ratings.into_iter().collect())
}

/// A rating of a note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoteRating {
    /// When it was given or changed, and by whom.
    pub place: Moment,
    pub score: i16,
}

/// A page of a note's ratings, the latest first.
pub async fn ratings_of_note(
    db: &Db,
    note: NoteId,
    page: &PageRequest<Moment>,
) -> StoreResult<Slice<NoteRating>> {
    let before = page.before();
    let query = sqlx::query_as(
        "SELECT user_id, changed_at, score FROM note_rating
         WHERE note_id = $1 AND included AND (changed_at, user_id) < ($2, $3)
         ORDER BY changed_at DESC, user_id DESC LIMIT $4",
    );
    let query = query.bind(note.get()).bind(time(before.micros)).bind(before.id.get()).bind(page.rows());
    let rows: Vec<(Id, DateTime<Utc>, i16)> = db.run(query.fetch_all(&db.pool())).await?;
    let rating = |(user, at, score)| NoteRating { place: moment((user, at)), score };
    Ok(page.slice(rows.into_iter().map(rating).collect()))
}

/// A user's rating of a note. Lock the note's totals first: this serializes two ratings by the same user.
pub async fn rating(tx: &mut Tx, user: UserId, note: NoteId) -> StoreResult<Option<i16>> {
    let query = sqlx::query_scalar("SELECT score FROM note_rating WHERE user_id = $1 AND note_id = $2")
        .bind(user.get())
        .bind(note.get());
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// Sets a rating, or deletes it (`None`). Returns how totals move: they do not include it while the user is hidden;
/// `None` if the user was erased. Call `shards::lock_removals_shared` first.
pub async fn set_rating(
    tx: &mut Tx,
    user: UserId,
    note: NoteId,
    score: Option<i16>,
) -> StoreResult<Option<Deltas>> {
    let rating = RowKeys { rows: RATINGS, users: vec![user], keys: vec![note.0] };
    let mut moved = rows::change(tx, &rating, rows::EXCLUDE).await?;
    let text = match score {
        Some(_) => {
            "INSERT INTO note_rating (user_id, note_id, score, included)
             SELECT id, $2, $3, hidden_at IS NULL FROM app_user WHERE id = $1 AND removed_at IS NULL
             ON CONFLICT (user_id, note_id) DO UPDATE
                 SET score = excluded.score, included = excluded.included, changed_at = now()"
        }
        None => "DELETE FROM note_rating WHERE user_id = $1 AND note_id = $2 AND $3::smallint IS NULL",
    };
    let query = sqlx::query(text).bind(user.get()).bind(note.get()).bind(score);
    let written = tx.db.run(query.execute(&mut *tx.inner)).await?.rows_affected();
    for (entity, by) in rows::counted(tx, &rating).await? {
        moved.entry(entity).or_default().add_all(&by);
    }
    Ok((written > 0).then_some(moved))
}
