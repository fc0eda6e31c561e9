//! Ratings of an import.

use crate::{
    StoreResult,
    sql::{
        Tx,
        counting::rows::{self, RowKeys},
        times::timestamp,
    },
};
use plaudit_catalogue::{
    Deltas, RATINGS, UnixMillis,
    primitives::{Id, NoteId, UserId},
};

/// A rating to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImportedRating {
    pub user: UserId,
    pub note: NoteId,
    pub score: i16,
    pub at: UnixMillis,
}

/// Writes ratings, one per user and note; a later one stays. Returns how many it wrote, and how totals move. Lock the
/// notes' totals first. The transaction holds the removal lock.
pub async fn import_ratings(tx: &mut Tx, ratings: &[ImportedRating]) -> StoreResult<(u64, Deltas)> {
    let (users, notes): (Vec<i64>, Vec<i64>) =
        ratings.iter().map(|rating| (rating.user.get(), rating.note.get())).unzip();
    let times: Vec<i64> = ratings.iter().map(|rating| rating.at).collect();
    let query = sqlx::query_as(concat!(
        "SELECT rater, note FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS line (rater, note, at)
         WHERE NOT EXISTS (SELECT FROM note_rating WHERE user_id = rater AND note_id = note AND changed_at >= ",
        timestamp!("line.at"),
        ")"
    ));
    let query = query.bind(&users).bind(&notes).bind(&times);
    let later: Vec<(UserId, Id)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let (users_of_later, keys) = later.into_iter().unzip();
    let later = RowKeys { rows: RATINGS, users: users_of_later, keys };
    let mut moved = rows::change(tx, &later, rows::EXCLUDE).await?;
    let query = sqlx::query(concat!(
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
             WHERE r.changed_at < excluded.changed_at"
    ))
    .bind(&users)
    .bind(&notes)
    .bind(ratings.iter().map(|rating| rating.score).collect::<Vec<_>>())
    .bind(&times);
    let written = tx.db.run(query.execute(&mut *tx.inner)).await?.rows_affected();
    for (entity, by) in rows::counted(tx, &later).await? {
        moved.entry(entity).or_default().add_all(&by);
    }
    Ok((written, moved))
}
