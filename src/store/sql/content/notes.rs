//! Table `note`: reads, additions, locks and removal.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, Row, postgres::PgRow};

use super::{
    submissions::{Arrival, ModerationState},
    texts::{PendingEdit, WrittenText},
};
use crate::{
    StoreResult,
    sql::{Db, Tx, counting::lists::moment, from_catalogue},
};
use plaudit_catalogue::primitives::{GroupId, Moment, NoteId, UserId};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
    pub id: NoteId,
    pub author: UserId,
    // Defaults: notes that an older release has cached lack these fields.
    #[serde(default)]
    pub key: Option<String>,
    /// The app's page about it.
    #[serde(default)]
    pub url: Option<String>,
    #[serde(default)]
    pub group: Option<GroupId>,
    #[serde(default)]
    pub is_featured: bool,
    #[serde(default)]
    pub state: ModerationState,
    /// Its author is hidden.
    #[serde(default)]
    pub is_hidden: bool,
    /// Title and body are empty if there is none.
    pub title: String,
    pub body: String,
    /// Reason of the rejection.
    #[serde(default)]
    pub rejected_because: Option<String>,
    pub created_at: DateTime<Utc>,
    /// When title or body were changed last after everybody could see them.
    #[serde(default)]
    pub edited_at: Option<DateTime<Utc>>,
    /// Its next text: only its author and moderators see it.
    #[serde(default)]
    pub edit: Option<PendingEdit>,
}

impl Note {
    /// Whether everybody may see it. If not, only its author and moderators do.
    pub fn is_public(&self) -> bool {
        self.state == ModerationState::Approved && !self.is_hidden
    }

    /// Its place in every list that is newest first. It never changes.
    pub fn place(&self) -> Moment {
        moment((self.id.0, self.created_at))
    }
}

/// What removing, editing or featuring a note needs to know about it.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct NoteState {
    pub id: NoteId,
    #[sqlx(rename = "author_id")]
    pub author: UserId,
    #[sqlx(rename = "group_id")]
    pub group: Option<GroupId>,
    /// `None` without a group, and if the group was removed.
    pub group_owner: Option<UserId>,
    pub is_featured: bool,
    pub state: ModerationState,
    /// Everybody may see it: it is approved, not removed, and its author is not hidden.
    pub is_shown: bool,
    pub is_removed: bool,
}

/// A note to add.
#[derive(Clone, Copy, Debug)]
pub struct NoteRow<'a> {
    pub author: UserId,
    pub group: Option<GroupId>,
    /// The app's own id of it.
    pub key: Option<&'a str>,
    /// The app's page about it.
    pub url: Option<&'a str>,
    pub title: &'a str,
    pub body: &'a str,
    /// `None`: now.
    pub created_at: Option<DateTime<Utc>>,
    /// Of one in a group.
    pub featured_at: Option<DateTime<Utc>>,
}

/// A note that was added.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct AddedNote {
    pub id: NoteId,
    pub key: Option<String>,
}

/// A note with a key, and what is written in it.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct KeyedNote {
    pub id: NoteId,
    pub key: String,
    #[sqlx(rename = "author_id")]
    pub author: UserId,
    #[sqlx(rename = "group_id")]
    pub group: Option<GroupId>,
    pub state: ModerationState,
    pub is_removed: bool,
    pub url: Option<String>,
    /// What its readers see.
    #[sqlx(flatten)]
    pub shown: WrittenText,
    next_title: Option<String>,
    next_body: Option<String>,
}

impl KeyedNote {
    /// What was written last: the texts that wait or were rejected, else what its readers see.
    pub fn written(&self) -> WrittenText {
        match (&self.next_title, &self.next_body) {
            (Some(title), Some(body)) => WrittenText::of_note(title, body),
            _ => self.shown.clone(),
        }
    }
}

const COLUMNS: &str =
    "n.id, n.key, n.url, n.author_id, n.group_id, n.featured_at IS NOT NULL AS is_featured, n.state, n.is_hidden, n.title,
    n.body, n.created_at, n.edited_at,
    CASE WHEN n.state = 'rejected' THEN (SELECT d.reason FROM decision AS d WHERE d.kind = 'note' AND d.target_id = n.id
                                         ORDER BY d.id DESC LIMIT 1) END AS rejected_because,
    e.title AS edit_title, e.body AS edit_body, e.images AS edit_images, e.mentions AS edit_mentions,
    e.rejected_because AS edit_rejected_because,
    e.created_at AS edit_created_at";

const STATE: &str = "SELECT id, author_id, group_id, featured_at IS NOT NULL AS is_featured, state, is_shown,
                            (SELECT owner_id FROM app_group AS g
                             WHERE g.id = note.group_id AND g.removed_at IS NULL) AS group_owner,
                            removed_at IS NOT NULL AS is_removed
                     FROM note WHERE id = ANY($1) ORDER BY id";

/// SQL: the row of a note `row` is behind note `$2` when an author's notes are gone through from the oldest to
/// the newest, along the same indexes as their lists. 0 is before all.
pub(crate) fn after_note(row: &str) -> String {
    format!(
        "({row}.created_at, {row}.id) > (coalesce((SELECT created_at FROM note WHERE id = $2), '-infinity'), $2)"
    )
}

/// Notes that do not exist, or are removed, are missing. Includes those that are not public, which the caller must
/// not show to everybody.
pub async fn notes(db: &Db, ids: &[NoteId]) -> StoreResult<Vec<Note>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let text = format!(
        "SELECT {COLUMNS} FROM note AS n LEFT JOIN edit AS e ON e.kind = 'note' AND e.target_id = n.id
         WHERE n.id = ANY($1) AND n.removed_at IS NULL"
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(ids);
    db.run(query.fetch_all(&db.pool())).await
}

/// The author of a note, also of a removed one.
pub async fn author_of(db: &Db, note: NoteId) -> StoreResult<Option<UserId>> {
    let query = sqlx::query_scalar("SELECT author_id FROM note WHERE id = $1").bind(note.get());
    db.run(query.fetch_optional(&db.pool())).await
}

/// Adds notes. Those that are not judged, and those without text, are approved, and hidden if their authors are. Left
/// out are those whose group does not exist or was removed, whose author was erased, or whose key is taken. Call
/// `shards::lock_removals_shared` first.
pub async fn add_notes(tx: &mut Tx, notes: &[NoteRow<'_>], arrival: Arrival) -> StoreResult<Vec<AddedNote>> {
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    let query = sqlx::query_as(
        "WITH written AS (
             INSERT INTO note (author_id, group_id, title, body, key, url, state, is_hidden, created_at, featured_at,
                               shown_xact)
             SELECT u.id, new.group_id, new.title, new.body, new.key, new.url,
                    CASE WHEN judged.it THEN 'pending' ELSE 'approved' END, u.hidden_at IS NOT NULL AND NOT judged.it,
                    coalesce(new.created_at, now()), new.featured_at,
                    CASE WHEN NOT $10 THEN pg_current_xact_id()::text::bigint END
             FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[],
                         $6::text[], $7::timestamptz[], $8::timestamptz[])
                 WITH ORDINALITY AS new (author_id, group_id, title, body, key, url, created_at, featured_at, place)
             JOIN app_user AS u ON u.id = new.author_id AND u.removed_at IS NULL
             CROSS JOIN LATERAL (SELECT $9 AND new.title || new.body <> '' AS it) AS judged
             WHERE new.group_id IS NULL
                OR EXISTS (SELECT FROM app_group AS g WHERE g.id = new.group_id AND g.removed_at IS NULL)
             ORDER BY new.place
             ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING
             RETURNING id, key, state
         ), queued AS (
             INSERT INTO submission (kind, target_id) SELECT 'note', id FROM written WHERE state = 'pending'
         )
         SELECT id, key FROM written",
    )
    .bind(notes.iter().map(|note| note.author.get()).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.group.map(GroupId::get)).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.title).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.body).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.key).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.url).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.created_at).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.featured_at).collect::<Vec<_>>())
    .bind(arrival == Arrival::Judged)
    .bind(arrival == Arrival::Past);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// The state of a note, without a lock, so it may change; `None` if it never existed.
pub async fn note_state(tx: &mut Tx, note: NoteId) -> StoreResult<Option<NoteState>> {
    let query = sqlx::query_as(STATE).bind(vec![note.get()]);
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// The same with a lock.
pub async fn lock_note(tx: &mut Tx, note: NoteId) -> StoreResult<Option<NoteState>> {
    Ok(lock_notes(tx, &[note]).await?.pop())
}

/// Locks notes; those that never existed are missing.
pub async fn lock_notes(tx: &mut Tx, notes: &[NoteId]) -> StoreResult<Vec<NoteState>> {
    let query = sqlx::query_as(from_catalogue(format!("{STATE} FOR NO KEY UPDATE")))
        .bind(notes.iter().map(|note| note.get()).collect::<Vec<_>>());
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Locks the notes with these keys, also removed ones, and reads what is written in them.
pub async fn lock_notes_by_keys(tx: &mut Tx, keys: &[&str]) -> StoreResult<Vec<KeyedNote>> {
    let query = sqlx::query_as(
        "SELECT n.id, n.key, n.author_id, n.group_id, n.state, n.removed_at IS NOT NULL AS is_removed,
                n.url, n.title, n.body, '{}'::text[] AS images, '{}'::bigint[] AS mentions,
                e.title AS next_title, e.body AS next_body
         FROM note AS n LEFT JOIN edit AS e ON e.kind = 'note' AND e.target_id = n.id
         WHERE n.key = ANY($1) ORDER BY n.id FOR NO KEY UPDATE OF n",
    )
    .bind(keys);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Changes the app's pages about notes.
pub async fn set_note_urls(tx: &mut Tx, urls: &[(NoteId, &str)]) -> StoreResult<()> {
    if urls.is_empty() {
        return Ok(());
    }
    let query = sqlx::query(
        "UPDATE note AS n SET url = new.url FROM unnest($1::bigint[], $2::text[]) AS new (id, url) WHERE n.id = new.id",
    )
    .bind(urls.iter().map(|(note, _)| note.get()).collect::<Vec<_>>())
    .bind(urls.iter().map(|(_, url)| *url).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// The notes that exist and are not removed.
pub async fn present_notes(tx: &mut Tx, ids: &[NoteId]) -> StoreResult<Vec<NoteId>> {
    let query = sqlx::query_scalar("SELECT id FROM note WHERE id = ANY($1) AND removed_at IS NULL")
        .bind(ids.iter().map(|id| id.get()).collect::<Vec<_>>());
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// The columns of [`COLUMNS`].
impl FromRow<'_, PgRow> for Note {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            author: row.try_get("author_id")?,
            key: row.try_get("key")?,
            url: row.try_get("url")?,
            group: row.try_get("group_id")?,
            is_featured: row.try_get("is_featured")?,
            state: row.try_get("state")?,
            is_hidden: row.try_get("is_hidden")?,
            title: row.try_get("title")?,
            body: row.try_get("body")?,
            rejected_because: row.try_get("rejected_because")?,
            created_at: row.try_get("created_at")?,
            edited_at: row.try_get("edited_at")?,
            edit: PendingEdit::from_join(row)?,
        })
    }
}
