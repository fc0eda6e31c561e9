//! What authors write in notes and comments: the text that everybody sees, the next one, which waits for its approval,
//! and the exchange of the two.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, Row, postgres::PgRow};

use super::submissions::{self, Judged, ModerationState};
use crate::{
    StoreResult,
    sql::{Tx, columns::users_of, from_catalogue},
};
use plaudit_catalogue::primitives::{Id, UserId};

/// The parts of a note or comment that its author writes.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct WrittenText {
    /// `None` for a comment; empty for a note without one.
    #[serde(default)]
    pub title: Option<String>,
    pub body: String,
    /// Notes have no images and mention nobody.
    pub images: Vec<String>,
    pub mentions: Vec<UserId>,
}

/// The next text of an approved note or comment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PendingEdit {
    pub text: WrittenText,
    /// Reason of the rejection; `None` while it waits for a decision.
    pub rejected_because: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// The texts of one note or comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Texts {
    /// What its readers see.
    pub shown: WrittenText,
    /// What waits, or was rejected.
    pub edit: Option<WrittenText>,
}

/// Where a new text belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TextRole {
    /// It is what everybody sees: what waits is dropped.
    Shown,
    /// In place of what everybody sees.
    Instead,
    /// It waits for a decision; until then everybody sees the old one.
    Next,
    /// The note or comment was not approved: it waits for a decision again.
    Unapproved,
}

/// A new text of a note or comment.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TextChange<'a> {
    pub id: Id,
    #[serde(flatten)]
    pub text: &'a WrittenText,
    #[serde(skip)]
    pub place: TextRole,
}

impl WrittenText {
    pub fn of_note(title: &str, body: &str) -> Self {
        Self { title: Some(title.to_owned()), body: body.to_owned(), ..Self::default() }
    }

    pub fn bytes(&self) -> usize {
        self.title.as_ref().map_or(0, String::len)
            + self.body.len()
            + self.images.iter().map(String::len).sum::<usize>()
    }

    /// Without title, body and images. A note may be so; there is nothing to judge in it.
    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }
}

impl TextRole {
    const ALL: [Self; 4] = [Self::Shown, Self::Instead, Self::Next, Self::Unapproved];

    /// `is_judged`: whether new texts are judged.
    pub fn of(state: ModerationState, shown: &WrittenText, text: &WrittenText, is_judged: bool) -> Self {
        match state {
            ModerationState::Approved if text == shown => Self::Shown,
            ModerationState::Approved if is_judged && !text.is_empty() => Self::Next,
            ModerationState::Approved => Self::Instead,
            ModerationState::Pending | ModerationState::Rejected => Self::Unapproved,
        }
    }
}

impl Judged {
    /// The columns of the text that everybody sees, and the table that has them.
    const fn shown(self) -> &'static str {
        match self {
            Self::Note => "title, body, '{}'::text[] AS images, '{}'::bigint[] AS mentions FROM note",
            Self::Comment => "NULL AS title, body, images, mentions FROM comment_body",
        }
    }

    /// The end of a statement whose part `new` has ids and texts: everybody sees these, and the row `i` gets `set`.
    fn replace_shown(self, set: &str) -> String {
        match self {
            Self::Note => {
                format!("UPDATE note AS i SET title = new.title, body = new.body, {set} FROM new WHERE i.id = new.id")
            }
            Self::Comment => format!(
                ", text AS (UPDATE comment_body AS b SET body = new.body, images = new.images, mentions = new.mentions
                           FROM new WHERE b.id = new.id)
                 UPDATE comment_index AS i SET {set} FROM new WHERE i.id = new.id"
            ),
        }
    }
}

/// The texts of a note or comment. Lock it first.
pub async fn texts(tx: &mut Tx, kind: Judged, id: Id) -> StoreResult<Texts> {
    let text = format!("SELECT {} WHERE id = $1", kind.shown());
    let query = sqlx::query_as(from_catalogue(text)).bind(id.get());
    let shown = tx.db.run(query.fetch_one(&mut *tx.inner)).await?;
    let query = "SELECT title, body, images, mentions FROM edit WHERE kind = $1 AND target_id = $2";
    let query = sqlx::query_as(query).bind(kind.name()).bind(id.get());
    let edit = tx.db.run(query.fetch_optional(&mut *tx.inner)).await?;
    Ok(Texts { shown, edit })
}

/// Writes new texts where they belong, by at most two statements per place. Lock the notes or comments first.
pub async fn change_texts(tx: &mut Tx, kind: Judged, changes: &[TextChange<'_>]) -> StoreResult<()> {
    for place in TextRole::ALL {
        let of_place: Vec<_> = changes.iter().filter(|change| change.place == place).collect();
        if of_place.is_empty() {
            continue;
        }
        let statement = match place {
            TextRole::Shown => None,
            TextRole::Instead => Some(kind.replace_shown("edited_at = now()")),
            TextRole::Unapproved => Some(kind.replace_shown("state = 'pending'")),
            TextRole::Next => Some(format!(
                "INSERT INTO edit (kind, target_id, title, body, images, mentions)
                 SELECT '{}', id, title, body, images, mentions FROM new
                 ON CONFLICT (kind, target_id) DO UPDATE
                 SET title = excluded.title, body = excluded.body, images = excluded.images,
                     mentions = excluded.mentions, rejected_because = NULL, created_at = now()",
                kind.name()
            )),
        };
        if let Some(statement) = statement {
            let text = format!(
                "WITH new AS (SELECT * FROM json_to_recordset($1::json)
                              AS new (id bigint, title text, body text, images text[], mentions bigint[])) {statement}"
            );
            // Texts have no characters that JSON or PostgreSQL lacks.
            let rows = serde_json::json!(of_place).to_string();
            let query = sqlx::query(from_catalogue(text)).bind(rows);
            tx.db.run(query.execute(&mut *tx.inner)).await?;
        }
        let ids: Vec<Id> = of_place.iter().map(|change| change.id).collect();
        match place {
            TextRole::Shown | TextRole::Instead => submissions::withdraw_edits(tx, kind, &ids).await?,
            TextRole::Next | TextRole::Unapproved => submissions::queue_texts(tx, kind, &ids).await?,
        }
    }
    Ok(())
}

/// Shows the approved edits in place of the old texts, and notes the reasons of the rejected ones.
pub(crate) async fn settle_edits(
    tx: &mut Tx,
    kind: Judged,
    approved: &[Id],
    rejected: &[(Id, &str)],
) -> StoreResult<()> {
    if approved.is_empty() && rejected.is_empty() {
        return Ok(());
    }
    let text = format!(
        "WITH rejected AS (
             UPDATE edit AS e SET rejected_because = d.reason
             FROM unnest($3::bigint[], $4::text[]) AS d (id, reason) WHERE e.kind = $1 AND e.target_id = d.id
         ), new AS (
             DELETE FROM edit WHERE kind = $1 AND target_id = ANY($2)
             RETURNING target_id AS id, title, body, images, mentions
         ) {}",
        kind.replace_shown("edited_at = now()")
    );
    let query = sqlx::query(from_catalogue(text))
        .bind(kind.name())
        .bind(approved.iter().map(|id| id.get()).collect::<Vec<_>>())
        .bind(rejected.iter().map(|(id, _)| id.get()).collect::<Vec<_>>())
        .bind(rejected.iter().map(|(_, reason)| *reason).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

impl FromRow<'_, PgRow> for WrittenText {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let (title, body) = (row.try_get("title")?, row.try_get("body")?);
        Ok(Self { title, body, images: row.try_get("images")?, mentions: users_of(row.try_get("mentions")?) })
    }
}

impl PendingEdit {
    /// From the columns `edit_…` of an outer join.
    pub(crate) fn from_join(row: &PgRow) -> sqlx::Result<Option<Self>> {
        let Some(created_at) = row.try_get("edit_created_at")? else { return Ok(None) };
        let (title, body) = (row.try_get("edit_title")?, row.try_get("edit_body")?);
        let mentions = users_of(row.try_get("edit_mentions")?);
        let text = WrittenText { title, body, images: row.try_get("edit_images")?, mentions };
        Ok(Some(Self { text, rejected_because: row.try_get("edit_rejected_because")?, created_at }))
    }
}
