//! Notifying users of events: the entries of their inboxes, and which edges they were notified of.
//!
//! Lock the totals of the recipients' inboxes first: positions of an inbox then rise in the order of commits,
//! and nobody marks it as read meanwhile.

use std::collections::BTreeSet;

use super::entries::{EntryKey, read_to};
use crate::{
    StoreResult,
    sql::{
        Tx, from_catalogue,
        stream::events::{self, NewEvent},
        times::timestamp,
    },
};
use plaudit_catalogue::{
    EdgeKind, EventKind, InboxKind, UnixMillis,
    primitives::{Id, UserId},
};

/// Increment of the sequence `inbox_position`: each call reserves a block of this many positions, one per entry.
const ENTRIES_AT_ONCE: usize = 1_000;

/// New events of one entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewEvents {
    pub entry: EntryKey,
    pub number: i64,
    /// Time of the newest.
    pub at: UnixMillis,
}

/// An edge that its target's owner was notified of, and is not on any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Withdrawn {
    pub entry: EntryKey,
    /// The position at which it notified.
    pub told: i64,
}

/// Which of the withdrawn edges leave their entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaves {
    /// Those that were not read.
    Unread,
    All,
}

/// A position after all that were given out before.
pub async fn next_inbox_position(tx: &mut Tx) -> StoreResult<i64> {
    let query = sqlx::query_scalar("SELECT nextval('inbox_position')");
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// Adds events to entries, one item per entry, and moves these to the top. `told`: the position that the edges got
/// when they were written, before the totals were locked. Returns the entries that were read, or created, after
/// that, each with its new position: their new edges need the lowest of these instead.
pub async fn tell(tx: &mut Tx, news: &[NewEvents], told: i64) -> StoreResult<Vec<(EntryKey, i64)>> {
    let mut late = Vec::new();
    for page in news.chunks(ENTRIES_AT_ONCE) {
        late.extend(tell_page(tx, page, told).await?);
    }
    Ok(late)
}

/// Adds a message to the recipient's entry of its sender.
pub async fn tell_of_message(tx: &mut Tx, sender: UserId, recipient: UserId) -> StoreResult<()> {
    let entry = EntryKey { recipient, kind: InboxKind::Message.number(), target: sender.0 };
    let at = plaudit_catalogue::primitives::now();
    // No edge has notified.
    tell_page(tx, &[NewEvents { entry, number: 1, at }], i64::MAX).await?;
    let notice = NewEvent::now(EventKind::Notice(InboxKind::Message), Some(sender), sender.0);
    events::record(tx, notice.with_recipient(recipient));
    Ok(())
}

async fn tell_page(tx: &mut Tx, news: &[NewEvents], told: i64) -> StoreResult<Vec<(EntryKey, i64)>> {
    // `excluded.read_to` is how far the badge was read: a read entry has no unread events, whatever it says.
    // A sender is the only actor of an entry about messages.
    let text = format!(
        "WITH told AS (
             INSERT INTO inbox_entry AS e
                 (recipient_id, kind, target_id, id, since, read_to, unread, actors, created_at)
             SELECT recipient, kind, target, block.first + place - 1, $6 - 1, coalesce({read_to}, 0),
                    number, number, {at}
             FROM (SELECT nextval('inbox_position') AS first OFFSET 0) AS block
             CROSS JOIN unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::integer[], $5::bigint[])
               WITH ORDINALITY
                     AS news (recipient, kind, target, number, at, place)
             LEFT JOIN inbox_counts AS c ON c.id = recipient
             ON CONFLICT (recipient_id, kind, target_id) DO UPDATE SET
                 id = excluded.id,
                 created_at = excluded.created_at,
                 actors = e.actors + CASE WHEN e.kind = {message} THEN 0 ELSE excluded.actors END,
                 unread = excluded.unread + CASE WHEN e.id <= excluded.read_to THEN 0 ELSE e.unread END,
                 read_to = CASE WHEN e.id <= excluded.read_to THEN e.id ELSE e.read_to END
             RETURNING recipient_id, kind, target_id, id, greatest(since, read_to) AS read_to
         )
         SELECT recipient_id, kind, target_id, id FROM told WHERE read_to >= $6",
        read_to = read_to("news.kind", "c"),
        at = timestamp!("at"),
        message = InboxKind::Message.number(),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(news.iter().map(|new| new.entry.recipient.get()).collect::<Vec<_>>())
        .bind(news.iter().map(|new| new.entry.kind).collect::<Vec<_>>())
        .bind(news.iter().map(|new| new.entry.target.get()).collect::<Vec<_>>())
        .bind(news.iter().map(|new| new.number as i32).collect::<Vec<_>>())
        .bind(news.iter().map(|new| new.at).collect::<Vec<_>>())
        .bind(told);
    let late: Vec<(UserId, i16, Id, i64)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let late =
        late.into_iter().map(|(recipient, kind, target, id)| (EntryKey { recipient, kind, target }, id));
    Ok(late.collect())
}

/// Takes edges out of their entries; entries without any are deleted. Returns the places of those that were unread:
/// their badges count one less.
pub async fn withdraw(tx: &mut Tx, edges: &[Withdrawn], leaves: Leaves) -> StoreResult<Vec<usize>> {
    if edges.is_empty() {
        return Ok(Vec::new());
    }
    let text = format!(
        "WITH part AS (
             SELECT gone.place, e.recipient_id, e.kind, e.target_id,
                    e.id > {read_to} AND gone.told > e.read_to AS is_unread
             FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
                     AS gone (recipient, kind, target, told, place)
             JOIN inbox_entry AS e ON e.recipient_id = recipient AND e.kind = gone.kind AND e.target_id = target
             JOIN inbox_counts AS c ON c.id = recipient
             WHERE gone.told > e.since
         ), less AS (
             SELECT recipient_id, kind, target_id, count(*) FILTER (WHERE is_unread OR $5) AS actors,
                    count(*) FILTER (WHERE is_unread) AS unread
             FROM part GROUP BY recipient_id, kind, target_id
         ), emptied AS (
             DELETE FROM inbox_entry AS e USING less AS l
             WHERE e.recipient_id = l.recipient_id AND e.kind = l.kind AND e.target_id = l.target_id
               AND e.actors <= l.actors
         ), reduced AS (
             UPDATE inbox_entry AS e SET actors = e.actors - l.actors, unread = e.unread - l.unread FROM less AS l
             WHERE e.recipient_id = l.recipient_id AND e.kind = l.kind AND e.target_id = l.target_id
               AND e.actors > l.actors AND l.actors > 0
         )
         SELECT place - 1 FROM part WHERE is_unread",
        read_to = read_to("e.kind", "c"),
    );
    let query = sqlx::query_scalar(from_catalogue(text))
        .bind(edges.iter().map(|edge| edge.entry.recipient.get()).collect::<Vec<_>>())
        .bind(edges.iter().map(|edge| edge.entry.kind).collect::<Vec<_>>())
        .bind(edges.iter().map(|edge| edge.entry.target.get()).collect::<Vec<_>>())
        .bind(edges.iter().map(|edge| edge.told).collect::<Vec<_>>())
        .bind(leaves == Leaves::All);
    let unread: Vec<i64> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    Ok(unread.into_iter().map(|place| place as usize).collect())
}

/// Sets the position at which edges notified; 0 for edges that were taken back.
pub async fn set_told(
    tx: &mut Tx,
    kind: EdgeKind,
    edges: &BTreeSet<(UserId, Id)>,
    told: i64,
) -> StoreResult<()> {
    if edges.is_empty() {
        return Ok(());
    }
    let text = format!(
        "UPDATE {} AS edge SET told = $3 FROM unnest($1::bigint[], $2::bigint[]) AS of (actor, target)
         WHERE edge.actor_id = actor AND edge.target_id = target",
        kind.name(),
    );
    let query = sqlx::query(from_catalogue(text))
        .bind(edges.iter().map(|(actor, _)| actor.get()).collect::<Vec<_>>())
        .bind(edges.iter().map(|(_, target)| target.get()).collect::<Vec<_>>())
        .bind(told);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
