//! Demo data derived from rows: inboxes, history and totals.

use chrono::NaiveDate;

use super::rows::{READ, UNREAD};
use crate::{
    StoreResult,
    sql::{Tx, from_catalogue, times::timestamp},
};
use plaudit_catalogue::{Counter, EdgeKind, InboxKind, UnixMillis};

/// Counters and their rows: one row per unit, with the id of the entity that has the counter.
pub const TOTALS: [(Counter, &str); 19] = [
    (Counter::UserFollowing, "SELECT actor_id AS id FROM follow WHERE included"),
    (Counter::UserFollowers, "SELECT target_id AS id FROM follow WHERE included"),
    (Counter::UserNotes, "SELECT author_id AS id FROM note"),
    (Counter::UserComments, "SELECT author_id AS id FROM comment_index"),
    (
        Counter::UserLikesReceived,
        "SELECT n.author_id AS id FROM note_like AS l JOIN note AS n ON n.id = l.target_id WHERE l.included",
    ),
    (
        Counter::UserCollectsReceived,
        "SELECT n.author_id AS id FROM note_collect AS c JOIN note AS n ON n.id = c.target_id WHERE c.included",
    ),
    (Counter::UserGroups, "SELECT actor_id AS id FROM group_join WHERE included"),
    (Counter::NoteLikes, "SELECT target_id AS id FROM note_like WHERE included"),
    (Counter::NoteCollects, "SELECT target_id AS id FROM note_collect WHERE included"),
    (Counter::NoteComments, "SELECT note_id AS id FROM comment_index"),
    (Counter::CommentLikes, "SELECT target_id AS id FROM comment_like WHERE included"),
    (Counter::CommentReplies, "SELECT parent_id AS id FROM comment_index WHERE parent_id IS NOT NULL"),
    (
        Counter::InboxReplies,
        "SELECT recipient_id AS id FROM inbox_entry NATURAL JOIN kind_name, generate_series(1, unread) WHERE name IN ('comment', 'reply')",
    ),
    (
        Counter::InboxLikes,
        "SELECT recipient_id AS id FROM inbox_entry NATURAL JOIN kind_name, generate_series(1, unread) WHERE name IN ('note_like', 'comment_like')",
    ),
    (
        Counter::InboxFollowers,
        "SELECT recipient_id AS id FROM inbox_entry NATURAL JOIN kind_name, generate_series(1, unread) WHERE name = 'follow'",
    ),
    (
        Counter::InboxMessages,
        "SELECT recipient_id AS id FROM inbox_entry NATURAL JOIN kind_name, generate_series(1, unread) WHERE name = 'message'",
    ),
    (Counter::GroupMembers, "SELECT target_id AS id FROM group_join WHERE included"),
    (Counter::GroupNotes, "SELECT group_id AS id FROM note WHERE group_id IS NOT NULL"),
    (Counter::GroupFeaturedNotes, "SELECT group_id AS id FROM note WHERE featured_at IS NOT NULL"),
];

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

/// Columns of first messages between users.
pub struct MessageRows {
    pub senders: Vec<i64>,
    pub recipients: Vec<i64>,
    pub sent_at: Vec<UnixMillis>,
}

/// Writes the inbox entries: those of [`INBOX`], and those of messages. Events before `read_before` are read; of edges,
/// [`told`](super::rows::add_edges) says the same.
pub async fn add_inbox_entries(
    tx: &mut Tx,
    read_before: UnixMillis,
    messages: &MessageRows,
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
        .bind(&messages.senders)
        .bind(&messages.recipients)
        .bind(&messages.sent_at)
        .bind(read_before);
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    let after = sqlx::query(
        "SELECT setval('inbox_position', nextval('inbox_position') + coalesce(max(id), 0)) FROM inbox_entry",
    );
    tx.db.run(after.execute(&mut *tx.inner)).await.map(drop)
}

/// Writes the history of a kind of edges since the beginning of a (UTC) day: each step with the total after
/// it, in the order of time, so that the last one has the present total. The days need their partitions.
pub async fn add_history(tx: &mut Tx, kind: EdgeKind, since: NaiveDate) -> StoreResult<()> {
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

/// Sets one total of every entity to the number of its rows. See [`TOTALS`].
pub async fn count_rows(tx: &mut Tx, counter: Counter, rows: &'static str) -> StoreResult<()> {
    let text = format!(
        "UPDATE {kind}_counts AS c SET {counter} = total.number
         FROM (SELECT id, count(*) AS number FROM ({rows}) AS one GROUP BY id) AS total
         WHERE c.id = total.id",
        kind = counter.kind().name(),
        counter = counter.name(),
    );
    tx.db.run(sqlx::query(from_catalogue(text)).execute(&mut *tx.inner)).await.map(drop)
}

/// Sets the coins of every user to the sum of their lines.
pub async fn sum_ledger(tx: &mut Tx) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE user_counts AS c SET coins = ledger.sum
         FROM (SELECT user_id, sum(amount)::bigint AS sum FROM coin_ledger GROUP BY user_id) AS ledger
         WHERE c.id = ledger.user_id",
    );
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Sets the hot scores of comments from their totals.
pub async fn rank_comments(tx: &mut Tx) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE comment_index AS i SET hot_score = comment_hot_score(c.likes, c.replies, i.created_at)
         FROM comment_counts AS c WHERE c.id = i.id",
    );
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
