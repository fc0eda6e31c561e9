//! Ratings of an import.

use std::collections::HashMap;

use crate::{
    StoreResult,
    sql::{Tx, times::timestamp},
};
use plaudit_catalogue::{
    UnixMillis,
    primitives::{NoteId, UserId},
};

/// A rating to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImportedRating {
    pub user: UserId,
    pub note: NoteId,
    pub score: i16,
    pub at: UnixMillis,
}

/// A rating that was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrittenRating {
    pub note: NoteId,
    pub score: i16,
    pub included: bool,
    /// The note is not removed, so its totals move.
    pub note_is_present: bool,
    /// The rating before that totals included.
    pub before: Option<i16>,
}

/// Writes ratings, one per user and note; a later one stays. Lock the notes' totals first. The transaction
/// holds the removal lock.
pub async fn import_ratings(tx: &mut Tx, ratings: &[ImportedRating]) -> StoreResult<Vec<WrittenRating>> {
    if ratings.is_empty() {
        return Ok(Vec::new());
    }
    let (users, notes): (Vec<i64>, Vec<i64>) =
        ratings.iter().map(|rating| (rating.user.get(), rating.note.get())).unzip();
    let query = sqlx::query_as(
        "SELECT r.user_id, r.note_id, r.score FROM note_rating AS r
         JOIN unnest($1::bigint[], $2::bigint[]) AS line (rater, note) ON r.user_id = rater AND r.note_id = note
         WHERE r.included",
    )
    .bind(&users)
    .bind(&notes);
    let before: Vec<(UserId, NoteId, i16)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let before: HashMap<(UserId, NoteId), i16> =
        before.into_iter().map(|(user, note, score)| ((user, note), score)).collect();
    let query = sqlx::query_as(concat!(
        "INSERT INTO note_rating AS r (user_id, note_id, score, included, created_at, changed_at)
         SELECT u.id, n.id, line.score, u.hidden_at IS NULL, moment, moment
         FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[]) AS line (rater, note, score, at)
         JOIN app_user AS u ON u.id = rater AND u.removed_at IS NULL
         JOIN note AS n ON n.id = line.note
         CROSS JOIN LATERAL ",
        timestamp!("line.at"),
        " AS t (moment)
         ON CONFLICT (user_id, note_id) DO UPDATE
             SET score = excluded.score, included = excluded.included, changed_at = excluded.changed_at
             WHERE r.changed_at < excluded.changed_at
         RETURNING r.user_id, r.note_id, r.score, r.included,
                   (SELECT removed_at IS NULL FROM note WHERE note.id = r.note_id)"
    ))
    .bind(&users)
    .bind(&notes)
    .bind(ratings.iter().map(|rating| rating.score).collect::<Vec<_>>())
    .bind(ratings.iter().map(|rating| rating.at).collect::<Vec<_>>());
    let written: Vec<(UserId, NoteId, i16, bool, bool)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let rating = |(user, note, score, included, note_is_present)| WrittenRating {
        note,
        score,
        included,
        note_is_present,
        before: before.get(&(user, note)).copied(),
    };
    Ok(written.into_iter().map(rating).collect())
}
