//! What subjects and keys name. A key that an export of this installation made of an id (`lines`) names what
//! has that id.

use sqlx::FromRow;

use crate::{StoreResult, sql::Tx};
use plaudit_catalogue::{
    UnixMillis,
    primitives::{CommentId, GroupId, NoteId, UserId},
};

/// Ids in keys among `$1` that an export of this installation made for things without one, as `made`.
macro_rules! made_keys {
    ($kind:literal) => {
        concat!(
            "(SELECT name, substring(name FROM '^",
            $kind,
            "_([1-9][0-9]{0,15})@[0-9a-f-]{36}$')::bigint AS id
              FROM unnest($1::text[]) AS name, installation AS i WHERE right(name, 37) = '@' || i.id) AS made"
        )
    };
}

/// A group by its key.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct NamedGroup {
    pub key: String,
    pub id: GroupId,
    #[sqlx(rename = "owner_id")]
    pub owner: UserId,
    pub is_removed: bool,
}

/// A note by its key.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct NamedNote {
    pub key: String,
    pub id: NoteId,
    #[sqlx(rename = "author_id")]
    pub author: UserId,
    pub is_removed: bool,
}

/// A comment by its key.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct NamedComment {
    pub key: String,
    pub id: CommentId,
    #[sqlx(rename = "note_id")]
    pub note: NoteId,
    #[sqlx(rename = "author_id")]
    pub author: UserId,
    /// The comment below which it stands.
    #[sqlx(rename = "parent_id")]
    pub parent: Option<CommentId>,
    pub is_removed: bool,
}

/// The id of this installation.
pub async fn installation_id(tx: &mut Tx) -> StoreResult<String> {
    let query = sqlx::query_scalar("SELECT id::text FROM installation");
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// Whether a subject is kept of any user who was erased.
pub async fn was_anyone_erased(tx: &mut Tx) -> StoreResult<bool> {
    let query = sqlx::query_scalar("SELECT EXISTS (SELECT FROM erased_subject)");
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// When users of these subjects were last erased, in Unix milliseconds; subjects that never were are missing.
pub async fn erasures_of(tx: &mut Tx, subjects: &[&str]) -> StoreResult<Vec<(String, UnixMillis)>> {
    let query = sqlx::query_as(
        "SELECT subject, (extract(epoch FROM erased_at) * 1000)::bigint
         FROM unnest($1::text[]) AS subject, erased_subject
         WHERE digest = subject_digest(subject)",
    )
    .bind(subjects);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Groups by keys; unknown ones are missing.
pub async fn groups_named(tx: &mut Tx, keys: &[&str]) -> StoreResult<Vec<NamedGroup>> {
    let query = sqlx::query_as(concat!(
        "SELECT key, id, owner_id, removed_at IS NOT NULL AS is_removed FROM app_group WHERE key = ANY($1)
         UNION ALL
         SELECT made.name, g.id, owner_id, removed_at IS NOT NULL FROM ",
        made_keys!("group"),
        " JOIN app_group AS g ON g.id = made.id AND g.key IS NULL"
    ))
    .bind(keys);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Notes by keys; unknown ones are missing.
pub async fn notes_named(tx: &mut Tx, keys: &[&str]) -> StoreResult<Vec<NamedNote>> {
    let query = sqlx::query_as(concat!(
        "SELECT key, id, author_id, removed_at IS NOT NULL AS is_removed FROM note WHERE key = ANY($1)
         UNION ALL
         SELECT made.name, n.id, author_id, removed_at IS NOT NULL FROM ",
        made_keys!("note"),
        " JOIN note AS n ON n.id = made.id AND n.key IS NULL"
    ))
    .bind(keys);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Comments by keys; unknown ones are missing.
pub async fn comments_named(tx: &mut Tx, keys: &[&str]) -> StoreResult<Vec<NamedComment>> {
    let query = sqlx::query_as(concat!(
        "SELECT key, id, note_id, author_id, parent_id, removed_at IS NOT NULL AS is_removed
         FROM comment_index WHERE key = ANY($1)
         UNION ALL
         SELECT made.name, c.id, note_id, author_id, parent_id, removed_at IS NOT NULL FROM ",
        made_keys!("comment"),
        " JOIN comment_index AS c ON c.id = made.id AND c.key IS NULL"
    ))
    .bind(keys);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}
