//! Ratings of notes.

use std::collections::HashMap;

use super::{Db, Tx};
use crate::{
    primitives::{NoteId, UserId},
    store::StoreResult,
};

impl Db {
    /// A user's ratings of these notes. Notes without a rating are missing.
    pub async fn ratings_of(&self, user: UserId, notes: &[NoteId]) -> StoreResult<HashMap<NoteId, i16>> {
        let notes: Vec<i64> = notes.iter().map(|note| note.get()).collect();
        let query =
            sqlx::query_as("SELECT note_id, score FROM note_rating WHERE user_id = $1 AND note_id = ANY($2)")
                .bind(user.get())
                .bind(notes);
        let ratings: Vec<(NoteId, i16)> = self.run(query.fetch_all(&self.pool())).await?;
        Ok(ratings.into_iter().collect())
    }
}

impl Tx {
    /// A user's rating of a note. Lock the note's totals first: this serializes two ratings by the same user.
    pub async fn rating(&mut self, user: UserId, note: NoteId) -> StoreResult<Option<i16>> {
        let query = sqlx::query_scalar("SELECT score FROM note_rating WHERE user_id = $1 AND note_id = $2")
            .bind(user.get())
            .bind(note.get());
        self.db.run(query.fetch_optional(&mut *self.inner)).await
    }

    pub async fn set_rating(&mut self, user: UserId, note: NoteId, score: i16) -> StoreResult<()> {
        let query = sqlx::query(
            "INSERT INTO note_rating (user_id, note_id, score) VALUES ($1, $2, $3)
             ON CONFLICT (user_id, note_id) DO UPDATE SET score = excluded.score, changed_at = now()",
        )
        .bind(user.get())
        .bind(note.get())
        .bind(score);
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }

    pub async fn delete_rating(&mut self, user: UserId, note: NoteId) -> StoreResult<()> {
        let query = sqlx::query("DELETE FROM note_rating WHERE user_id = $1 AND note_id = $2")
            .bind(user.get())
            .bind(note.get());
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }
}
