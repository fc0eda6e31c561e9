//! The texts of a note: those that everybody sees, and the next ones, which wait for their approval.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, Row, postgres::PgRow};

use super::{Tx, submissions::Judged};
use crate::{primitives::NoteId, store::StoreResult};

/// The parts of a note that its author writes.
#[derive(Clone, FromRow, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NoteText {
    pub title: String,
    pub body: String,
}

/// The next text of an approved note.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PendingNoteEdit {
    pub text: NoteText,
    /// Reason of the rejection; `None` while it waits for a decision.
    pub rejected_because: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// The texts of one note.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoteTexts {
    /// What its readers see.
    pub shown: NoteText,
    /// What waits, or was rejected.
    pub edit: Option<NoteText>,
}

impl PendingNoteEdit {
    /// From the columns `edit_…` of an outer join.
    pub(super) fn from_join(row: &PgRow) -> sqlx::Result<Option<Self>> {
        let Some(created_at) = row.try_get("edit_created_at")? else { return Ok(None) };
        let text = NoteText { title: row.try_get("edit_title")?, body: row.try_get("edit_body")? };
        Ok(Some(Self { text, rejected_because: row.try_get("edit_rejected_because")?, created_at }))
    }
}

impl Tx {
    /// The texts of a note. Lock the note first.
    pub async fn note_texts(&mut self, note: NoteId) -> StoreResult<NoteTexts> {
        let query = sqlx::query_as("SELECT title, body FROM note WHERE id = $1");
        let shown = self.db.run(query.bind(note.get()).fetch_one(&mut *self.inner)).await?;
        let query = sqlx::query_as("SELECT title, body FROM note_edit WHERE note_id = $1");
        let edit = self.db.run(query.bind(note.get()).fetch_optional(&mut *self.inner)).await?;
        Ok(NoteTexts { shown, edit })
    }

    /// Replaces the text of an approved note, and drops an edit that waits. Lock the note first.
    pub async fn replace_note_text(&mut self, note: NoteId, text: &NoteText) -> StoreResult<()> {
        let query = sqlx::query("UPDATE note SET title = $2, body = $3, edited_at = now() WHERE id = $1")
            .bind(note.get())
            .bind(&text.title)
            .bind(&text.body);
        self.db.run(query.execute(&mut *self.inner)).await?;
        self.withdraw_edit(Judged::Note, note.0).await
    }

    /// Replaces the text of a note that was not approved, which then waits for a decision again. Lock the note first.
    pub async fn replace_unapproved_note(&mut self, note: NoteId, text: &NoteText) -> StoreResult<()> {
        let query = sqlx::query("UPDATE note SET title = $2, body = $3, state = 'pending' WHERE id = $1")
            .bind(note.get())
            .bind(&text.title)
            .bind(&text.body);
        self.db.run(query.execute(&mut *self.inner)).await?;
        self.queue_text(Judged::Note, note.0).await
    }

    /// Keeps the next text of an approved note until it is decided, in place of an earlier one. Lock the note first.
    pub async fn keep_note_edit(&mut self, note: NoteId, text: &NoteText) -> StoreResult<()> {
        let query = sqlx::query(
            "INSERT INTO note_edit (note_id, title, body) VALUES ($1, $2, $3)
             ON CONFLICT (note_id) DO UPDATE
             SET title = $2, body = $3, rejected_because = NULL, created_at = now()",
        )
        .bind(note.get())
        .bind(&text.title)
        .bind(&text.body);
        self.db.run(query.execute(&mut *self.inner)).await?;
        self.queue_text(Judged::Note, note.0).await
    }
}
