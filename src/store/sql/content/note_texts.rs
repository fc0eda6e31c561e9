//! The texts of a note: those that everybody sees, and the next ones, which wait for their approval.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, Row, postgres::PgRow};

use super::submissions::{self, Judged, ModerationState};
use crate::{StoreResult, sql::Tx};
use plaudit_catalogue::primitives::{Id, NoteId};

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
    pub(crate) fn from_join(row: &PgRow) -> sqlx::Result<Option<Self>> {
        let Some(created_at) = row.try_get("edit_created_at")? else { return Ok(None) };
        let text = NoteText { title: row.try_get("edit_title")?, body: row.try_get("edit_body")? };
        Ok(Some(Self { text, rejected_because: row.try_get("edit_rejected_because")?, created_at }))
    }
}

/// Where the new texts of a note belong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TextPlace {
    /// They are what everybody sees: what waits is dropped.
    Shown,
    /// In place of what everybody sees.
    Instead,
    /// They wait for a decision; until then everybody sees the old ones.
    Next,
    /// The note was not approved: it waits for a decision again.
    Unapproved,
}

impl TextPlace {
    const ALL: [Self; 4] = [Self::Shown, Self::Instead, Self::Next, Self::Unapproved];

    /// `is_judged`: whether notes are moderated.
    pub fn of(state: ModerationState, shown: &NoteText, text: &NoteText, is_judged: bool) -> Self {
        match state {
            ModerationState::Approved if text == shown => Self::Shown,
            ModerationState::Approved if is_judged => Self::Next,
            ModerationState::Approved => Self::Instead,
            ModerationState::Pending | ModerationState::Rejected => Self::Unapproved,
        }
    }
}

/// New texts of a note.
#[derive(Clone, Copy, Debug)]
pub struct TextChange<'a> {
    pub note: NoteId,
    pub text: &'a NoteText,
    pub place: TextPlace,
}

/// The texts of a note. Lock the note first.
pub async fn note_texts(tx: &mut Tx, note: NoteId) -> StoreResult<NoteTexts> {
    let query = sqlx::query_as("SELECT title, body FROM note WHERE id = $1");
    let shown = tx.db.run(query.bind(note.get()).fetch_one(&mut *tx.inner)).await?;
    let query = sqlx::query_as("SELECT title, body FROM note_edit WHERE note_id = $1");
    let edit = tx.db.run(query.bind(note.get()).fetch_optional(&mut *tx.inner)).await?;
    Ok(NoteTexts { shown, edit })
}

/// Writes new texts of notes where they belong, by at most two statements per place. Lock the notes first.
pub async fn change_note_texts(tx: &mut Tx, changes: &[TextChange<'_>]) -> StoreResult<()> {
    for place in TextPlace::ALL {
        let of_place: Vec<_> = changes.iter().filter(|change| change.place == place).collect();
        if of_place.is_empty() {
            continue;
        }
        if let Some(statement) = place.statement() {
            let texts = || of_place.iter().map(|change| change.text);
            let query = sqlx::query(statement)
                .bind(of_place.iter().map(|change| change.note.get()).collect::<Vec<_>>())
                .bind(texts().map(|text| text.title.as_str()).collect::<Vec<_>>())
                .bind(texts().map(|text| text.body.as_str()).collect::<Vec<_>>());
            tx.db.run(query.execute(&mut *tx.inner)).await?;
        }
        let notes: Vec<Id> = of_place.iter().map(|change| change.note.0).collect();
        match place {
            TextPlace::Shown | TextPlace::Instead => {
                submissions::withdraw_edits(tx, Judged::Note, &notes).await?
            }
            TextPlace::Next | TextPlace::Unapproved => {
                submissions::queue_texts(tx, Judged::Note, &notes).await?
            }
        }
    }
    Ok(())
}

impl TextPlace {
    /// Writes the texts `$2` and `$3` of the notes `$1`.
    const fn statement(self) -> Option<&'static str> {
        match self {
            Self::Shown => None,
            Self::Instead => Some(
                "UPDATE note AS n SET title = new.title, body = new.body, edited_at = now()
                 FROM unnest($1::bigint[], $2::text[], $3::text[]) AS new (id, title, body) WHERE n.id = new.id",
            ),
            Self::Next => Some(
                "INSERT INTO note_edit (note_id, title, body)
                 SELECT id, title, body FROM unnest($1::bigint[], $2::text[], $3::text[]) AS new (id, title, body)
                 ON CONFLICT (note_id) DO UPDATE
                 SET title = excluded.title, body = excluded.body, rejected_because = NULL, created_at = now()",
            ),
            Self::Unapproved => Some(
                "UPDATE note AS n SET title = new.title, body = new.body, state = 'pending'
                 FROM unnest($1::bigint[], $2::text[], $3::text[]) AS new (id, title, body) WHERE n.id = new.id",
            ),
        }
    }
}
