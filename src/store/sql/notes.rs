//! Notes.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{Row, postgres::PgRow};

use super::{Db, Tx, from_catalogue, users::id};
use crate::{
    primitives::{GroupId, Id, NoteId, PageRequest, Slice, UserId},
    store::StoreResult,
};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
    pub id: NoteId,
    pub author: UserId,
    // Defaults: a release before groups has cached notes without.
    #[serde(default)]
    pub group: Option<GroupId>,
    #[serde(default)]
    pub is_featured: bool,
    pub title: String,
    pub body: String,
    pub created_at: DateTime<Utc>,
}

/// What a note is to its removal and its featuring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoteState {
    pub author: UserId,
    pub group: Option<GroupId>,
    pub is_featured: bool,
    pub is_removed: bool,
}

const COLUMNS: &str = "id, author_id, group_id, featured_at IS NOT NULL, title, body, created_at";

impl Db {
    /// Notes that do not exist, or are removed, are missing.
    pub async fn notes(&self, ids: &[NoteId]) -> StoreResult<Vec<Note>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
        let text = format!("SELECT {COLUMNS} FROM note WHERE id = ANY($1) AND removed_at IS NULL");
        let query = sqlx::query(from_catalogue(text)).bind(ids);
        self.run(query.fetch_all(&self.pool())).await?.iter().map(note).collect()
    }

    /// Newest notes.
    pub async fn feed(&self, page: PageRequest) -> StoreResult<Slice<Note>> {
        self.notes_where("true", None, page).await
    }

    /// A user's newest notes.
    pub async fn notes_of_user(&self, author: UserId, page: PageRequest) -> StoreResult<Slice<Note>> {
        self.notes_where("author_id = $3", Some(author.0), page).await
    }

    /// A group's newest notes.
    pub async fn notes_of_group(&self, group: GroupId, page: PageRequest) -> StoreResult<Slice<Note>> {
        self.notes_where("group_id = $3", Some(group.0), page).await
    }

    /// Who wrote a note, also when it was removed since.
    pub async fn author_of(&self, note: NoteId) -> StoreResult<Option<UserId>> {
        let query = sqlx::query("SELECT author_id FROM note WHERE id = $1").bind(note.get());
        let row = self.run(query.fetch_optional(&self.pool())).await?;
        row.map(|row| Ok(UserId(id(&row, 0)?))).transpose()
    }

    /// `of` is bound to `$3`.
    async fn notes_where(
        &self,
        condition: &'static str,
        of: Option<Id>,
        page: PageRequest,
    ) -> StoreResult<Slice<Note>> {
        let text = format!(
            "SELECT {COLUMNS} FROM note WHERE {condition} AND removed_at IS NULL AND id < $1
             ORDER BY id DESC LIMIT $2"
        );
        let mut query = sqlx::query(from_catalogue(text)).bind(page.below()).bind(page.rows());
        if let Some(of) = of {
            query = query.bind(of.get());
        }
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        Ok(page.slice(rows.iter().map(note).collect::<StoreResult<_>>()?))
    }

    /// The newest note of each author below `page.after`, in no order: one step into the index per author.
    pub async fn newest_note_of_each(
        &self,
        authors: &[UserId],
        page: PageRequest,
    ) -> StoreResult<Vec<(UserId, NoteId)>> {
        let query = sqlx::query(
            "SELECT author.id, newest.id FROM unnest($1::bigint[]) AS author (id)
             CROSS JOIN LATERAL (SELECT n.id FROM note AS n
                                 WHERE n.author_id = author.id AND n.removed_at IS NULL AND n.id < $2
                                 ORDER BY n.id DESC LIMIT 1) AS newest",
        )
        .bind(raw(authors))
        .bind(page.below());
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        rows.iter().map(|row| Ok((UserId(id(row, 0)?), NoteId(id(row, 1)?)))).collect()
    }

    /// The newest notes of each author below `page.after`, at most `page.rows()` of each, in no order.
    pub async fn newest_notes_of_each(
        &self,
        authors: &[UserId],
        page: PageRequest,
    ) -> StoreResult<Vec<NoteId>> {
        let query = sqlx::query(
            "SELECT newest.id FROM unnest($1::bigint[]) AS author (id)
             CROSS JOIN LATERAL (SELECT n.id FROM note AS n
                                 WHERE n.author_id = author.id AND n.removed_at IS NULL AND n.id < $2
                                 ORDER BY n.id DESC LIMIT $3) AS newest",
        )
        .bind(raw(authors))
        .bind(page.below())
        .bind(page.rows());
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        rows.iter().map(|row| Ok(NoteId(id(row, 0)?))).collect()
    }
}

impl Tx {
    pub async fn add_note(
        &mut self,
        author: UserId,
        group: Option<GroupId>,
        title: &str,
        body: &str,
    ) -> StoreResult<NoteId> {
        let query = sqlx::query(
            "INSERT INTO note (author_id, group_id, title, body) VALUES ($1, $2, $3, $4) RETURNING id",
        )
        .bind(author.get())
        .bind(group.map(GroupId::get))
        .bind(title)
        .bind(body);
        let row = self.db.run(query.fetch_one(&mut *self.inner)).await?;
        Ok(NoteId(id(&row, 0)?))
    }

    /// Locks a note and tells what it is; `None` when there never was one.
    pub async fn lock_note(&mut self, note: NoteId) -> StoreResult<Option<NoteState>> {
        let query = sqlx::query(
            "SELECT author_id, group_id, featured_at IS NOT NULL, removed_at IS NOT NULL
             FROM note WHERE id = $1 FOR NO KEY UPDATE",
        )
        .bind(note.get());
        let row = self.db.run(query.fetch_optional(&mut *self.inner)).await?;
        row.map(|row| {
            Ok(NoteState {
                author: UserId(id(&row, 0)?),
                group: group(&row, 1)?,
                is_featured: row.try_get(2)?,
                is_removed: row.try_get(3)?,
            })
        })
        .transpose()
    }

    pub async fn remove_note(&mut self, note: NoteId) -> StoreResult<()> {
        let query = sqlx::query("UPDATE note SET removed_at = now() WHERE id = $1").bind(note.get());
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }

    pub async fn set_featured(&mut self, note: NoteId, on: bool) -> StoreResult<()> {
        let query = sqlx::query("UPDATE note SET featured_at = CASE WHEN $2 THEN now() END WHERE id = $1")
            .bind(note.get())
            .bind(on);
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }

    /// Those of the notes that exist and are not removed.
    pub async fn present_notes(&mut self, ids: &[NoteId]) -> StoreResult<Vec<NoteId>> {
        let query = sqlx::query("SELECT id FROM note WHERE id = ANY($1) AND removed_at IS NULL")
            .bind(ids.iter().map(|id| id.get()).collect::<Vec<_>>());
        let rows = self.db.run(query.fetch_all(&mut *self.inner)).await?;
        rows.iter().map(|row| Ok(NoteId(id(row, 0)?))).collect()
    }
}

fn note(row: &PgRow) -> StoreResult<Note> {
    Ok(Note {
        id: NoteId(id(row, 0)?),
        author: UserId(id(row, 1)?),
        group: group(row, 2)?,
        is_featured: row.try_get(3)?,
        title: row.try_get(4)?,
        body: row.try_get(5)?,
        created_at: row.try_get(6)?,
    })
}

fn group(row: &PgRow, column: usize) -> StoreResult<Option<GroupId>> {
    match row.try_get::<Option<i64>, _>(column)? {
        Some(_) => Ok(Some(GroupId(id(row, column)?))),
        None => Ok(None),
    }
}

fn raw(authors: &[UserId]) -> Vec<i64> {
    authors.iter().map(|author| author.get()).collect()
}
