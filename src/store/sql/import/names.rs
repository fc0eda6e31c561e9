//! What subjects and keys name. A key that an export of this installation made of an id (`lines`) names what
//! has that id.

use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{
        Tx,
        counting::edges::{entity_table, owner_column},
        from_catalogue,
    },
};
use plaudit_catalogue::{
    EntityKind, UnixMillis,
    primitives::{CommentId, Id, NoteId, UserId},
};

/// A user, group, note or comment that has a name: the subject, or the key.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct NamedThing {
    pub id: Id,
    /// The creator or author; the user.
    pub owner: UserId,
    pub is_removed: bool,
    /// The note of a comment.
    #[sqlx(rename = "note_id")]
    pub note: Option<NoteId>,
    /// The comment below which a reply stands.
    #[sqlx(rename = "parent_id")]
    pub parent: Option<CommentId>,
}

#[derive(FromRow)]
struct NamedRow {
    name: String,
    #[sqlx(flatten)]
    thing: NamedThing,
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

/// Things of a kind by their names; unknown ones and erased users are missing.
pub async fn things_named(
    tx: &mut Tx,
    kind: EntityKind,
    names: &[&str],
) -> StoreResult<Vec<(String, NamedThing)>> {
    let (table, owner) = (entity_table(kind), owner_column(kind));
    let place = if kind == EntityKind::Comment {
        "t.note_id, t.parent_id"
    } else {
        "NULL::bigint AS note_id, NULL::bigint AS parent_id"
    };
    let columns = format!("t.id, t.{owner} AS owner, t.removed_at IS NOT NULL AS is_removed, {place}");
    let text = match kind {
        EntityKind::User | EntityKind::Inbox => {
            format!("SELECT t.subject AS name, {columns} FROM {table} AS t WHERE t.subject = ANY($1) AND t.removed_at IS NULL")
        }
        // `made`: ids in names that an export of this installation made for things without a key.
        _ => format!(
            "SELECT t.key AS name, {columns} FROM {table} AS t WHERE t.key = ANY($1)
             UNION ALL
             SELECT made.name, {columns}
             FROM (SELECT name, substring(name FROM '^{kind}_([1-9][0-9]{{0,15}})@[0-9a-f-]{{36}}$')::bigint AS id
                   FROM unnest($1::text[]) AS name, installation AS i WHERE right(name, 37) = '@' || i.id) AS made
             JOIN {table} AS t ON t.id = made.id AND t.key IS NULL",
            kind = kind.name(),
        ),
    };
    let query = sqlx::query_as(from_catalogue(text)).bind(names);
    let rows: Vec<NamedRow> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    Ok(rows.into_iter().map(|row| (row.name, row.thing)).collect())
}
