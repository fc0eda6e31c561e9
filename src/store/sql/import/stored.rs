//! What is stored of things, edges and ratings that lines name, to compare the two.

use chrono::{DateTime, Utc};
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Tx, from_catalogue},
};
use plaudit_catalogue::{
    EdgeKind, UnixMillis,
    primitives::{CommentId, GroupId, Id, NoteId, UserId},
};

#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct StoredUser {
    pub id: UserId,
    pub name: String,
    pub avatar_url: Option<String>,
}

#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct StoredGroup {
    pub id: GroupId,
    pub name: String,
    pub description: String,
}

#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct StoredNote {
    pub id: NoteId,
    #[sqlx(rename = "group_id")]
    pub group: Option<GroupId>,
    pub url: Option<String>,
    pub title: String,
    pub body: String,
}

#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct StoredComment {
    pub id: CommentId,
    pub body: String,
    pub images: Vec<String>,
}

/// Reads the rows of these ids, in one statement.
macro_rules! stored {
    ($name:ident, $id:ty, $row:ty, $select:literal) => {
        pub async fn $name(tx: &mut Tx, ids: &[$id]) -> StoreResult<Vec<$row>> {
            let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
            let query = sqlx::query_as(concat!($select, " WHERE id = ANY($1)")).bind(ids);
            tx.db.run(query.fetch_all(&mut *tx.inner)).await
        }
    };
}

stored!(stored_users, UserId, StoredUser, "SELECT id, name, avatar_url FROM app_user");
stored!(stored_groups, GroupId, StoredGroup, "SELECT id, name, description FROM app_group");
stored!(stored_notes, NoteId, StoredNote, "SELECT id, group_id, url, title, body FROM note");
stored!(stored_comments, CommentId, StoredComment, "SELECT id, body, images FROM comment_body");

/// Whether edges are on, and since when. Edges without a row are missing.
pub async fn stored_edges(
    tx: &mut Tx,
    kind: EdgeKind,
    edges: &[(UserId, Id)],
) -> StoreResult<Vec<((UserId, Id), (bool, UnixMillis))>> {
    let text = format!(
        "SELECT actor_id, target_id, is_on, changed_at FROM unnest($1::bigint[], $2::bigint[]) AS e (actor, target)
         JOIN {} ON actor_id = actor AND target_id = target",
        kind.name()
    );
    let (actors, targets): (Vec<i64>, Vec<i64>) =
        edges.iter().map(|(actor, target)| (actor.get(), target.get())).unzip();
    let query = sqlx::query_as(from_catalogue(text)).bind(actors).bind(targets);
    let rows: Vec<(UserId, Id, bool, DateTime<Utc>)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let edge = |(actor, target, is_on, at): (UserId, Id, bool, DateTime<Utc>)| {
        ((actor, target), (is_on, at.timestamp_millis()))
    };
    Ok(rows.into_iter().map(edge).collect())
}

/// Scores, and since when. Ratings that do not exist are missing.
pub async fn stored_ratings(
    tx: &mut Tx,
    ratings: &[(UserId, NoteId)],
) -> StoreResult<Vec<((UserId, NoteId), (i16, UnixMillis))>> {
    let (users, notes): (Vec<i64>, Vec<i64>) =
        ratings.iter().map(|(user, note)| (user.get(), note.get())).unzip();
    let query = sqlx::query_as(
        "SELECT user_id, note_id, score, changed_at FROM unnest($1::bigint[], $2::bigint[]) AS line (rater, note)
         JOIN note_rating ON user_id = rater AND note_id = note",
    )
    .bind(users)
    .bind(notes);
    let rows: Vec<(UserId, NoteId, i16, DateTime<Utc>)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let rating = |(user, note, score, at): (UserId, NoteId, i16, DateTime<Utc>)| {
        ((user, note), (score, at.timestamp_millis()))
    };
    Ok(rows.into_iter().map(rating).collect())
}
