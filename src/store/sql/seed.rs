//! Demo data that no import writes, because it notifies nobody: inboxes and activity, from rows of an empty database.

use chrono::NaiveDate;

use crate::{
    StoreResult,
    sql::{Tx, from_catalogue, times::timestamp},
};
use plaudit_catalogue::{EdgeKind, InboxKind, UnixMillis, primitives::UserId};

/// Positions at which edges notified: of edges that are read, and of the others.
pub const READ: i64 = 1;
pub const UNREAD: i64 = 2;

/// Blocks the creation of users, groups, notes and comments until the transaction ends: the second of two seeds sees
/// the rows of the first.
pub async fn lock_entities(tx: &mut Tx) -> StoreResult<()> {
    let query =
        sqlx::query("LOCK TABLE app_user, app_group, note, comment_index IN SHARE ROW EXCLUSIVE MODE");
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Settings of the transaction. Its statements may scan and hash tables: they derive rows from all rows of a
/// table, and the session's plans would look each of them up, in an index that may not even begin with what
/// they look up. It may be idle while data is generated.
pub async fn prepare(tx: &mut Tx) -> StoreResult<()> {
    let query = sqlx::query(
        "SELECT set_config(name, value, true)
         FROM (VALUES ('enable_seqscan', 'on'), ('enable_hashjoin', 'on'),
                      ('idle_in_transaction_session_timeout', '0')) AS setting (name, value)",
    );
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Whether there is no user and no note, not even a removed one. Then there is no group either, because a group has a
/// creator.
pub async fn is_empty(tx: &mut Tx) -> StoreResult<bool> {
    let query =
        sqlx::query_scalar("SELECT NOT EXISTS (SELECT FROM app_user) AND NOT EXISTS (SELECT FROM note)");
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// Kinds of inbox entries and the rows that they come from: recipient, actor, target, time. Users
/// are not notified of their own actions, nor twice of one comment: the author of both the note and the parent comment
/// gets only the reply.
const INBOX: [(InboxKind, &str); 5] = [
    (
        InboxKind::Edge(EdgeKind::NoteLike),
        "SELECT n.author_id, l.actor_id, l.target_id, l.created_at
         FROM note_like AS l JOIN note AS n ON n.id = l.target_id WHERE n.author_id <> l.actor_id",
    ),
    (
        InboxKind::Edge(EdgeKind::CommentLike),
        "SELECT c.author_id, l.actor_id, l.target_id, l.created_at
         FROM comment_like AS l JOIN comment_index AS c ON c.id = l.target_id WHERE c.author_id <> l.actor_id",
    ),
    (InboxKind::Edge(EdgeKind::Follow), "SELECT target_id, actor_id, target_id, created_at FROM follow"),
    (
        InboxKind::Comment,
        "SELECT n.author_id, c.author_id, c.id, c.created_at
         FROM comment_index AS c JOIN note AS n ON n.id = c.note_id
         LEFT JOIN comment_index AS parent ON parent.id = c.parent_id
         WHERE n.author_id <> c.author_id AND n.author_id IS DISTINCT FROM parent.author_id",
    ),
    (
        InboxKind::Reply,
        "SELECT parent.author_id, c.author_id, c.id, c.created_at
         FROM comment_index AS c JOIN comment_index AS parent ON parent.id = c.parent_id
         WHERE parent.author_id <> c.author_id",
    ),
];

/// The first message of a user to another.
#[derive(Clone, Copy, Debug)]
pub struct SentMessage {
    pub sender: UserId,
    pub recipient: UserId,
    pub at: UnixMillis,
}

/// Writes the inbox entries of the kinds in [`INBOX`] and of messages. Events before `read_before` are read; of edges,
/// `told` says the same.
pub async fn add_inbox_entries(
    tx: &mut Tx,
    read_before: UnixMillis,
    messages: &[SentMessage],
) -> StoreResult<()> {
    let events = INBOX.map(|(kind, rows)| {
        let kind = kind.number();
        format!("SELECT recipient, {kind}, target, at FROM ({rows}) AS e (recipient, actor, target, at)")
    });
    let text = format!(
        "INSERT INTO inbox_entry (recipient_id, kind, target_id, id, read_to, unread, actors, created_at)
         SELECT recipient, kind, target, {UNREAD} + row_number() OVER (ORDER BY at, recipient, kind, target),
                {READ}, unread, actors, at
         FROM (SELECT recipient, kind, target, max(at) AS at, count(*) AS actors,
                      count(*) FILTER (WHERE at >= {read_before}) AS unread
               FROM ({events}
                     UNION ALL
                     SELECT recipient, {message}, sender, {at}
                     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS message (sender, recipient, at)
                    ) AS event (recipient, kind, target, at)
               GROUP BY recipient, kind, target) AS entry",
        events = events.join(" UNION ALL "),
        message = InboxKind::Message.number(),
        at = timestamp!("at"),
        read_before = timestamp!("$4::bigint"),
    );
    let query = sqlx::query(from_catalogue(text))
        .bind(messages.iter().map(|message| message.sender.get()).collect::<Vec<_>>())
        .bind(messages.iter().map(|message| message.recipient.get()).collect::<Vec<_>>())
        .bind(messages.iter().map(|message| message.at).collect::<Vec<_>>())
        .bind(read_before);
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    let after = sqlx::query(
        "SELECT setval('inbox_position', nextval('inbox_position') + coalesce(max(id), 0)) FROM inbox_entry",
    );
    tx.db.run(after.execute(&mut *tx.inner)).await.map(drop)
}

/// Writes the activity of a kind of edges since the beginning of a (UTC) day: each step with the total after
/// it, in the order of time, so that the last one has the present total. The days need their partitions.
pub async fn add_activity(tx: &mut Tx, kind: EdgeKind, since: NaiveDate) -> StoreResult<()> {
    let text = format!(
        "INSERT INTO activity (at, kind, actor_id, target_id, is_on, total_after)
         SELECT created_at, {kind}, actor_id, target_id, true, total
         FROM (SELECT created_at, actor_id, target_id,
                      row_number() OVER (PARTITION BY target_id ORDER BY created_at, actor_id) AS total
               FROM {edges} WHERE included) AS step
         WHERE created_at >= $1::date::timestamp AT TIME ZONE 'UTC'
         ORDER BY created_at, target_id, total",
        kind = kind.number(),
        edges = kind.name(),
    );
    tx.db.run(sqlx::query(from_catalogue(text)).bind(since).execute(&mut *tx.inner)).await.map(drop)
}
