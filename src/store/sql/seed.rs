//! Demo data: writes whole tables of an empty database, then counts the rows.
//!
//! Ids are given by the caller, from 1: where nothing exists, every id is free.

use super::{Db, Tx, from_catalogue, times::timestamp};
use crate::{
    catalogue::{Counter, EdgeKind, EntityKind, UnixMillis},
    store::StoreResult,
};

/// Counters and the rows that they count: one row per unit, with the id of the entity whose it is.
pub const TOTALS: [(Counter, &str); 12] = [
    (Counter::UserFollowing, "SELECT actor_id AS id FROM follow WHERE counted"),
    (Counter::UserFollowers, "SELECT target_id AS id FROM follow WHERE counted"),
    (Counter::UserNotes, "SELECT author_id AS id FROM note"),
    (Counter::UserComments, "SELECT author_id AS id FROM comment_index"),
    (
        Counter::UserLikesReceived,
        "SELECT n.author_id AS id FROM note_like AS l JOIN note AS n ON n.id = l.target_id WHERE l.counted",
    ),
    (Counter::NoteLikes, "SELECT target_id AS id FROM note_like WHERE counted"),
    (Counter::NoteComments, "SELECT note_id AS id FROM comment_index"),
    (Counter::CommentLikes, "SELECT target_id AS id FROM comment_like WHERE counted"),
    (Counter::CommentReplies, "SELECT parent_id AS id FROM comment_index WHERE parent_id IS NOT NULL"),
    (Counter::InboxReplies, "SELECT recipient_id AS id FROM inbox_entry WHERE kind IN ('comment', 'reply')"),
    (
        Counter::InboxLikes,
        "SELECT recipient_id AS id FROM inbox_entry WHERE kind IN ('note_like', 'comment_like')",
    ),
    (Counter::InboxNewFollowers, "SELECT recipient_id AS id FROM inbox_entry WHERE kind = 'follow'"),
];

/// Kinds of inbox entries and the rows that they come from: recipient, actor, target, time. Nobody is told
/// of their own deeds, nor twice of one comment: who wrote the note and the comment that is answered is
/// told of the answer.
pub const INBOX: [(&str, &str); 5] = [
    (
        "note_like",
        "SELECT n.author_id, l.actor_id, l.target_id, l.created_at
         FROM note_like AS l JOIN note AS n ON n.id = l.target_id WHERE n.author_id <> l.actor_id",
    ),
    (
        "comment_like",
        "SELECT c.author_id, l.actor_id, l.target_id, l.created_at
         FROM comment_like AS l JOIN comment_index AS c ON c.id = l.target_id WHERE c.author_id <> l.actor_id",
    ),
    ("follow", "SELECT target_id, actor_id, target_id, created_at FROM follow"),
    (
        "comment",
        "SELECT n.author_id, c.author_id, c.id, c.created_at
         FROM comment_index AS c JOIN note AS n ON n.id = c.note_id
         LEFT JOIN comment_index AS parent ON parent.id = c.parent_id
         WHERE n.author_id <> c.author_id AND n.author_id IS DISTINCT FROM parent.author_id",
    ),
    (
        "reply",
        "SELECT parent.author_id, c.author_id, c.id, c.created_at
         FROM comment_index AS c JOIN comment_index AS parent ON parent.id = c.parent_id
         WHERE parent.author_id <> c.author_id",
    ),
];

/// Tables whose ids come from a sequence.
pub const NUMBERED: [&str; 3] = ["app_user", "note", "comment_index"];

/// Waits until nobody creates users, notes or comments, and keeps everybody from it until the transaction
/// ends: so they cannot take an id that is given here, and of two seeds the second sees what the first wrote.
pub async fn lock_entities(db: &Db, tx: &mut Tx) -> StoreResult<()> {
    let lock = sqlx::query("LOCK TABLE app_user, note, comment_index IN SHARE ROW EXCLUSIVE MODE");
    db.run(lock.execute(&mut **tx)).await.map(drop)
}

/// Whether there is no user and no note, not even a removed one.
pub async fn is_empty(db: &Db, tx: &mut Tx) -> StoreResult<bool> {
    let query =
        sqlx::query_scalar("SELECT NOT EXISTS (SELECT FROM app_user) AND NOT EXISTS (SELECT FROM note)");
    db.run(query.fetch_one(&mut **tx)).await
}

pub async fn add_users(
    db: &Db,
    tx: &mut Tx,
    ids: Vec<i64>,
    subjects: Vec<&str>,
    names: Vec<&str>,
    joined_at: Vec<UnixMillis>,
) -> StoreResult<()> {
    let query = sqlx::query(concat!(
        "INSERT INTO app_user (id, subject, name, created_at) OVERRIDING SYSTEM VALUE
         SELECT id, subject, name, ",
        timestamp!("at"),
        " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS u (id, subject, name, at)"
    ))
    .bind(ids)
    .bind(subjects)
    .bind(names)
    .bind(joined_at);
    db.run(query.execute(&mut **tx)).await.map(drop)
}

pub async fn add_notes(
    db: &Db,
    tx: &mut Tx,
    ids: Vec<i64>,
    authors: Vec<i64>,
    titles: Vec<&str>,
    bodies: Vec<&str>,
    written_at: Vec<UnixMillis>,
) -> StoreResult<()> {
    let query = sqlx::query(concat!(
        "INSERT INTO note (id, author_id, title, body, created_at) OVERRIDING SYSTEM VALUE
         SELECT id, author, title, body, ",
        timestamp!("at"),
        " FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])
          AS n (id, author, title, body, at)"
    ))
    .bind(ids)
    .bind(authors)
    .bind(titles)
    .bind(bodies)
    .bind(written_at);
    db.run(query.execute(&mut **tx)).await.map(drop)
}

/// A parent must be among these comments or be there already.
pub async fn add_comments(
    db: &Db,
    tx: &mut Tx,
    ids: Vec<i64>,
    notes: Vec<i64>,
    authors: Vec<i64>,
    parents: Vec<Option<i64>>,
    written_at: Vec<UnixMillis>,
) -> StoreResult<()> {
    let query = sqlx::query(concat!(
        "INSERT INTO comment_index (id, note_id, author_id, parent_id, created_at) OVERRIDING SYSTEM VALUE
         SELECT id, note, author, parent, ",
        timestamp!("at"),
        " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
          AS c (id, note, author, parent, at)"
    ))
    .bind(ids)
    .bind(notes)
    .bind(authors)
    .bind(parents)
    .bind(written_at);
    db.run(query.execute(&mut **tx)).await.map(drop)
}

pub async fn add_comment_bodies(db: &Db, tx: &mut Tx, ids: Vec<i64>, bodies: Vec<&str>) -> StoreResult<()> {
    let query =
        sqlx::query("INSERT INTO comment_body (id, body) SELECT * FROM unnest($1::bigint[], $2::text[])")
            .bind(ids)
            .bind(bodies);
    db.run(query.execute(&mut **tx)).await.map(drop)
}

/// Edges that are on and counted.
pub async fn add_edges(
    db: &Db,
    tx: &mut Tx,
    kind: EdgeKind,
    actors: Vec<i64>,
    targets: Vec<i64>,
    since: Vec<UnixMillis>,
) -> StoreResult<()> {
    let text = format!(
        "INSERT INTO {edges} (actor_id, target_id, is_on, counted, created_at, changed_at)
         SELECT actor, target, true, true, at, at
         FROM (SELECT actor, target, {at} AS at
               FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS edge (actor, target, at)) AS edge",
        edges = kind.name(),
        at = timestamp!("at"),
    );
    let query = sqlx::query(from_catalogue(text)).bind(actors).bind(targets).bind(since);
    db.run(query.execute(&mut **tx)).await.map(drop)
}

/// Views have no rows, so they are given.
pub async fn set_views(db: &Db, tx: &mut Tx, ids: Vec<i64>, views: Vec<i64>) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE note_counts AS c SET views = v.views
         FROM unnest($1::bigint[], $2::bigint[]) AS v (id, views) WHERE c.id = v.id",
    )
    .bind(ids)
    .bind(views);
    db.run(query.execute(&mut **tx)).await.map(drop)
}

/// Lets a table's next id come after those that were given.
pub async fn advance_ids(db: &Db, tx: &mut Tx, table: &'static str) -> StoreResult<()> {
    let text = format!(
        "SELECT setval(ids, greatest(nextval(ids), (SELECT max(id) FROM {table})))
         FROM (SELECT pg_get_serial_sequence('{table}', 'id')::regclass AS ids) AS sequence",
    );
    db.run(sqlx::query(from_catalogue(text)).execute(&mut **tx)).await.map(drop)
}

/// Writes the inbox entries of one kind. See [`INBOX`].
pub async fn add_inbox_entries_from(
    db: &Db,
    tx: &mut Tx,
    kind: &'static str,
    rows: &'static str,
) -> StoreResult<()> {
    let text = format!(
        "INSERT INTO inbox_entry (recipient_id, kind, actor_id, target_id, created_at)
         SELECT recipient_id, '{kind}', actor_id, target_id, created_at
         FROM ({rows}) AS entry (recipient_id, actor_id, target_id, created_at)",
    );
    db.run(sqlx::query(from_catalogue(text)).execute(&mut **tx)).await.map(drop)
}

/// Sets one total of every entity to the number of its rows. See [`TOTALS`].
pub async fn count_rows(db: &Db, tx: &mut Tx, counter: Counter, rows: &'static str) -> StoreResult<()> {
    let text = format!(
        "UPDATE {kind}_counts AS c SET {counter} = counted.number
         FROM (SELECT id, count(*) AS number FROM ({rows}) AS one GROUP BY id) AS counted
         WHERE c.id = counted.id",
        kind = counter.kind().name(),
        counter = counter.name(),
    );
    db.run(sqlx::query(from_catalogue(text)).execute(&mut **tx)).await.map(drop)
}

/// Marks about this part of every inbox as read.
pub async fn mark_read(db: &Db, tx: &mut Tx, percent: i64) -> StoreResult<()> {
    let marks: Vec<_> = EntityKind::Inbox
        .counters()
        .iter()
        .filter_map(|mark| {
            Some(format!("{} = {} * $1 / 100", mark.name(), mark.name().strip_suffix("_read")?))
        })
        .collect();
    let text = format!("UPDATE inbox_counts SET {}", marks.join(", "));
    db.run(sqlx::query(from_catalogue(text)).bind(percent).execute(&mut **tx)).await.map(drop)
}
