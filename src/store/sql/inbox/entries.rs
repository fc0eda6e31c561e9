//! Inboxes: their entries, and how far they are read.

use std::{cmp::Reverse, collections::BTreeMap};

use chrono::{DateTime, Utc};
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Db, Tx, counting::recount::kinds_of, from_catalogue},
};
use plaudit_catalogue::{
    Counter, EntityKind, InboxKind,
    primitives::{Id, PageRequest, Slice, UserId},
};

/// Equal events, as a user's inbox shows them.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct InboxEntry {
    /// Position of the newest event. Positions rise in the order of arrival.
    pub id: Id,
    /// Number of an [`InboxKind`], perhaps one of a later release.
    pub kind: i16,
    #[sqlx(rename = "target_id")]
    pub target: Id,
    /// Time of the newest event.
    pub created_at: DateTime<Utc>,
    /// Users who did it.
    pub actors: i32,
    pub is_read: bool,
}

/// What makes events equal: they are one entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryKey {
    pub recipient: UserId,
    /// Number of an [`InboxKind`].
    pub kind: i16,
    pub target: Id,
}

/// The users of the events that an entry stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActorsOf {
    pub recipient: UserId,
    pub kind: InboxKind,
    pub target: Id,
    /// At most so many.
    pub most: usize,
}

/// SQL: the position up to which entries of this kind are read. `counts`: the inbox's row of totals.
pub(crate) fn read_to(kind: &str, counts: &str) -> String {
    let of_badge = |badge: &Counter| {
        format!("WHEN {kind} IN ({}) THEN {counts}.{}_read_to", kinds_of(*badge), badge.name())
    };
    let badges = EntityKind::Inbox.counters().iter().map(of_badge).collect::<Vec<_>>();
    format!("CASE {} END", badges.join(" "))
}

/// SQL: entries as they are shown, of the table `e`.
fn shown() -> String {
    format!(
        "SELECT e.id, e.kind, e.target_id, e.created_at, e.actors,
                e.unread = 0 OR coalesce(e.id <= {read_to}, false) AS is_read
         FROM inbox_entry AS e LEFT JOIN inbox_counts AS c ON c.id = e.recipient_id",
        read_to = read_to("e.kind", "c"),
    )
}

/// SQL: at most $3 entries of the inbox of $1 that meet a condition on $2, the newest first.
fn entries(condition: &str) -> String {
    format!("{} WHERE e.recipient_id = $1 AND {condition} ORDER BY e.id DESC LIMIT $3", shown())
}

/// The newest entries of an inbox.
pub async fn inbox_entries(db: &Db, recipient: UserId, page: PageRequest) -> StoreResult<Slice<InboxEntry>> {
    let text = entries("e.id < $2");
    let query =
        sqlx::query_as(from_catalogue(text)).bind(recipient.get()).bind(page.below()).bind(page.rows());
    Ok(page.slice(db.run(query.fetch_all(&db.pool())).await?))
}

/// The entries with these keys that exist.
pub async fn inbox_entries_named(db: &Db, keys: &[EntryKey]) -> StoreResult<Vec<InboxEntry>> {
    let text = format!(
        "{} WHERE (e.recipient_id, e.kind, e.target_id)
                IN (SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[]))",
        shown()
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(keys.iter().map(|key| key.recipient.get()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.kind).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.target.get()).collect::<Vec<_>>());
    db.run(query.fetch_all(&db.pool())).await
}

/// The newest entries of an inbox above a position, the newest first.
pub async fn inbox_entries_above(
    db: &Db,
    recipient: UserId,
    position: i64,
    most: usize,
) -> StoreResult<Vec<InboxEntry>> {
    let query = sqlx::query_as(from_catalogue(entries("e.id > $2")));
    let query = query.bind(recipient.get()).bind(position).bind(most as i64);
    db.run(query.fetch_all(&db.pool())).await
}

/// The newest actors of entries, without hidden and erased users.
pub async fn inbox_actors(db: &Db, of: &[ActorsOf]) -> StoreResult<BTreeMap<ActorsOf, Vec<UserId>>> {
    let text = format!(
        "WITH entry AS MATERIALIZED (
             SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
                 AS entry (recipient, kind, target, most, place)
         )
         SELECT place - 1, at, actor FROM ({}) AS did (place, actor, at)",
        InboxKind::all().map(actors).collect::<Vec<_>>().join(" UNION ALL "),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(of.iter().map(|of| of.recipient.get()).collect::<Vec<_>>())
        .bind(of.iter().map(|of| of.kind.number()).collect::<Vec<_>>())
        .bind(of.iter().map(|of| of.target.get()).collect::<Vec<_>>())
        .bind(of.iter().map(|of| of.most as i64).collect::<Vec<_>>());
    let mut rows: Vec<(i64, DateTime<Utc>, UserId)> = db.run(query.fetch_all(&db.pool())).await?;
    rows.sort_unstable_by_key(|row| Reverse(*row));
    let mut actors = BTreeMap::<ActorsOf, Vec<UserId>>::new();
    for (place, _, actor) in rows {
        if let Some(of) = of.get(place as usize) {
            actors.entry(*of).or_default().push(actor);
        }
    }
    Ok(actors)
}

/// SQL: place, actor and time of the events that entries of a kind stand for.
fn actors(kind: InboxKind) -> String {
    let number = kind.number();
    let (join, author) = match kind {
        InboxKind::Edge(edge) => {
            // An edge of a hidden or erased user is not included.
            return format!(
                "SELECT place, actor_id, changed_at FROM entry CROSS JOIN LATERAL (
                     SELECT actor_id, changed_at FROM {edges}
                     WHERE target_id = target AND included AND actor_id <> recipient
                     ORDER BY changed_at DESC, actor_id DESC LIMIT most) AS e WHERE kind = {number}",
                edges = edge.name(),
            );
        }
        InboxKind::Comment | InboxKind::Reply | InboxKind::Mention => {
            ("JOIN comment_index AS t ON t.id = target", "t.author_id")
        }
        InboxKind::Message => ("", "target"),
    };
    format!(
        "SELECT place, u.id, u.created_at FROM entry {join} JOIN app_user AS u ON u.id = {author}
         WHERE kind = {number} AND u.removed_at IS NULL AND u.hidden_at IS NULL"
    )
}

/// The position of the newest entry of an inbox; 0 if it is empty.
pub async fn newest_entry(tx: &mut Tx, recipient: UserId) -> StoreResult<i64> {
    let query = sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM inbox_entry WHERE recipient_id = $1");
    tx.db.run(query.bind(recipient.get()).fetch_one(&mut *tx.inner)).await
}

/// Marks entries of a badge as read up to a position, and those that retention has deleted. Returns how many unread
/// events the badge then counts: events of later entries, which it reads. Lock the totals of the inbox first.
pub async fn mark_read(tx: &mut Tx, recipient: UserId, badge: Counter, to: i64) -> StoreResult<i64> {
    let text = format!(
        "UPDATE inbox_counts AS c SET {badge}_read_to = greatest(c.{badge}_read_to, $2), {badge}_unlisted = 0
         WHERE c.id = $1
         RETURNING (SELECT coalesce(sum(r.unread), 0) FROM inbox_entry AS r
                    WHERE r.recipient_id = $1 AND r.kind IN ({kinds}) AND r.id > c.{badge}_read_to)",
        kinds = kinds_of(badge),
        badge = badge.name(),
    );
    let query = sqlx::query_scalar(from_catalogue(text)).bind(recipient.get()).bind(to);
    Ok(tx.db.run(query.fetch_optional(&mut *tx.inner)).await?.unwrap_or(0))
}
