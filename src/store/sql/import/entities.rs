//! Users, groups, notes and comments of an import. What exists stays as it is. Ids rise with the lines: they
//! order what has one time.

use crate::{
    StoreResult,
    sql::{Tx, times::timestamp},
};
use plaudit_catalogue::{
    UnixMillis,
    primitives::{CommentId, GroupId, Id, NoteId, UserId},
};

/// A user to add.
#[derive(Clone, Copy, Debug)]
pub struct ImportedUser<'a> {
    pub subject: &'a str,
    pub name: &'a str,
    pub avatar_url: Option<&'a str>,
    pub at: UnixMillis,
}

/// A group to add.
#[derive(Clone, Copy, Debug)]
pub struct ImportedGroup<'a> {
    pub key: &'a str,
    pub owner: UserId,
    pub name: &'a str,
    pub description: &'a str,
    pub at: UnixMillis,
}

/// A note to add.
#[derive(Clone, Copy, Debug)]
pub struct ImportedNote<'a> {
    pub key: &'a str,
    pub author: UserId,
    pub group: Option<GroupId>,
    pub url: Option<&'a str>,
    pub title: &'a str,
    pub body: &'a str,
    pub at: UnixMillis,
    /// Of one in a group.
    pub featured_at: Option<UnixMillis>,
}

/// A comment to add.
#[derive(Clone, Copy, Debug)]
pub struct ImportedComment<'a> {
    pub key: &'a str,
    pub note: NoteId,
    pub author: UserId,
    pub parent: Option<CommentId>,
    pub reply_to: Option<CommentId>,
    pub body: &'a str,
    pub images: &'a [String],
    pub at: UnixMillis,
}

/// Adds users whose subjects are new. Returns how many.
pub async fn import_users(tx: &mut Tx, users: &[ImportedUser<'_>]) -> StoreResult<u64> {
    if users.is_empty() {
        return Ok(0);
    }
    let query = sqlx::query(concat!(
        "INSERT INTO app_user (subject, name, avatar_url, created_at)
         SELECT subject, name, avatar_url, ",
        timestamp!("at"),
        " FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
             WITH ORDINALITY AS line (subject, name, avatar_url, at, place)
         ORDER BY place ON CONFLICT ON CONSTRAINT app_user_subject_unique DO NOTHING"
    ))
    .bind(users.iter().map(|user| user.subject).collect::<Vec<_>>())
    .bind(users.iter().map(|user| user.name).collect::<Vec<_>>())
    .bind(users.iter().map(|user| user.avatar_url).collect::<Vec<_>>())
    .bind(users.iter().map(|user| user.at).collect::<Vec<_>>());
    Ok(tx.db.run(query.execute(&mut *tx.inner)).await?.rows_affected())
}

/// Adds groups whose keys are new and whose owners exist. Returns their ids.
pub async fn import_groups(tx: &mut Tx, groups: &[ImportedGroup<'_>]) -> StoreResult<Vec<GroupId>> {
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let query = sqlx::query_scalar(concat!(
        "INSERT INTO app_group (key, owner_id, name, description, created_at)
         SELECT key, owner, line.name, description, ",
        timestamp!("at"),
        " FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])
             WITH ORDINALITY AS line (key, owner, name, description, at, place)
         JOIN app_user AS u ON u.id = owner AND u.removed_at IS NULL
         ORDER BY place ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING RETURNING id"
    ))
    .bind(groups.iter().map(|group| group.key).collect::<Vec<_>>())
    .bind(groups.iter().map(|group| group.owner.get()).collect::<Vec<_>>())
    .bind(groups.iter().map(|group| group.name).collect::<Vec<_>>())
    .bind(groups.iter().map(|group| group.description).collect::<Vec<_>>())
    .bind(groups.iter().map(|group| group.at).collect::<Vec<_>>());
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Adds notes whose keys are new, whose authors exist and whose groups are not removed. They are approved,
/// hidden if their authors are, and not news of the feed. The transaction holds the removal lock.
pub async fn import_notes(tx: &mut Tx, notes: &[ImportedNote<'_>]) -> StoreResult<Vec<Id>> {
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    let query = sqlx::query_scalar(concat!(
        "INSERT INTO note (key, author_id, group_id, url, title, body, created_at, featured_at, is_hidden, shown_xact)
         SELECT line.key, author, of_group, url, title, body, ",
        timestamp!("at"),
        ", ",
        timestamp!("featured"),
        ", u.hidden_at IS NOT NULL, NULL
         FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[],
                     $8::bigint[])
             WITH ORDINALITY AS line (key, author, of_group, url, title, body, at, featured, place)
         JOIN app_user AS u ON u.id = author AND u.removed_at IS NULL
         WHERE of_group IS NULL OR EXISTS (SELECT FROM app_group WHERE id = of_group AND removed_at IS NULL)
         ORDER BY place ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING
         RETURNING id"
    ))
    .bind(notes.iter().map(|note| note.key).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.author.get()).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.group.map(GroupId::get)).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.url).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.title).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.body).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.at).collect::<Vec<_>>())
    .bind(notes.iter().map(|note| note.featured_at).collect::<Vec<_>>());
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Adds comments whose keys are new, whose authors exist and whose notes are not removed. They are approved, and
/// hidden if their authors are. The transaction holds the removal lock.
pub async fn import_comments(tx: &mut Tx, comments: &[ImportedComment<'_>]) -> StoreResult<Vec<Id>> {
    if comments.is_empty() {
        return Ok(Vec::new());
    }
    // An array of arrays must have equal lengths, so images are one text per comment: addresses have no
    // line breaks.
    let query = sqlx::query_scalar(concat!(
        "WITH line AS MATERIALIZED (
             SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[],
                                  $7::text[], $8::bigint[])
                 WITH ORDINALITY AS line (key, note, author, parent, reply_to, body, images, at, place)
         ), written AS (
             INSERT INTO comment_index (key, note_id, author_id, parent_id, reply_to_id,
               created_at, state, hot_score,
                                        is_hidden, note_is_hidden)
             SELECT line.key, note, author, parent, reply_to, moment, 'approved', comment_hot_score(0, 0, moment),
                    u.hidden_at IS NOT NULL, n.is_hidden
             FROM line
             JOIN app_user AS u ON u.id = author AND u.removed_at IS NULL
             JOIN note AS n ON n.id = note AND n.removed_at IS NULL
             CROSS JOIN LATERAL ",
        timestamp!("line.at"),
        " AS t (moment)
             ORDER BY place ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING
             RETURNING id, key
         ), text AS (
             INSERT INTO comment_body (id, body, images)
             SELECT id, body, coalesce(string_to_array(nullif(images, ''), E'\\n'), '{}')
             FROM written JOIN line USING (key)
         )
         SELECT id FROM written"
    ))
    .bind(comments.iter().map(|comment| comment.key).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.note.get()).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.author.get()).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.parent.map(CommentId::get)).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.reply_to.map(CommentId::get)).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.body).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.images.join("\n")).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.at).collect::<Vec<_>>());
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}
