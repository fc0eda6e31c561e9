//! Inbox entries: notifications of a user.

use chrono::{DateTime, Utc};
use sqlx::FromRow;

use super::{Db, Tx, times::timestamp};
use crate::{
    catalogue::{EdgeKind, Flip},
    primitives::{Id, PageRequest, Slice, UserId},
    store::StoreResult,
};

/// Kind of the entries of direct messages; their target is the recipient.
pub(super) const DIRECT_MESSAGE: &str = "direct_message";

/// One notification of a user.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct InboxEntry {
    /// Position in the inbox, in order of arrival.
    pub id: Id,
    /// Name of an edge kind, or `comment`, `reply`, `mention` or `direct_message`.
    pub kind: String,
    #[sqlx(rename = "actor_id")]
    pub actor: UserId,
    #[sqlx(rename = "target_id")]
    pub target: Id,
    pub created_at: DateTime<Utc>,
}

impl Tx {
    /// Writes one entry per flip, all of `kind`, to the inbox of its recipient. Existing entries do not change. Returns
    /// the flips with a new entry. The flips are distinct, and a transaction calls this once per kind.
    pub async fn add_inbox_entries<'a>(
        &mut self,
        kind: EdgeKind,
        entries: Vec<(UserId, &'a Flip)>,
    ) -> StoreResult<Vec<(UserId, &'a Flip)>> {
        if entries.is_empty() {
            return Ok(entries);
        }
        let query = sqlx::query(concat!(
            "INSERT INTO inbox_entry (recipient_id, kind, actor_id, target_id, created_at)
             SELECT recipient_id, $1, actor_id, target_id, ",
            timestamp!("at"),
            " FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                   AS given (recipient_id, actor_id, target_id, at)
             ON CONFLICT (recipient_id, kind, actor_id, target_id) DO NOTHING"
        ));
        let (name, recipients, actors, targets) = keys(kind, &entries);
        let query = query
            .bind(name)
            .bind(recipients)
            .bind(actors)
            .bind(targets)
            .bind(entries.iter().map(|(_, flip)| flip.at).collect::<Vec<_>>());
        let added = self.db.run(query.execute(&mut *self.inner)).await?.rows_affected();
        if added == entries.len() as u64 { Ok(entries) } else { self.only_added(kind, entries).await }
    }

    /// The flips whose entry this transaction has written. Rarely needed: an edge that is on for the first time has no
    /// entry yet, unless the edge's row was deleted by SQL.
    async fn only_added<'a>(
        &mut self,
        kind: EdgeKind,
        entries: Vec<(UserId, &'a Flip)>,
    ) -> StoreResult<Vec<(UserId, &'a Flip)>> {
        let query = sqlx::query_scalar(
            "SELECT given.place
             FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
                  AS given (recipient_id, actor_id, target_id, place)
             JOIN inbox_entry AS entry USING (recipient_id, actor_id, target_id)
             WHERE entry.kind = $1 AND entry.xmin = pg_current_xact_id()::xid",
        );
        let (name, recipients, actors, targets) = keys(kind, &entries);
        let query = query.bind(name).bind(recipients).bind(actors).bind(targets);
        let places: Vec<i64> = self.db.run(query.fetch_all(&mut *self.inner)).await?;
        Ok(places.iter().filter_map(|place| entries.get(*place as usize - 1).copied()).collect())
    }
}

/// The key columns of entries: the kind's name, recipients, actors and targets.
fn keys(kind: EdgeKind, entries: &[(UserId, &Flip)]) -> (&'static str, Vec<i64>, Vec<i64>, Vec<i64>) {
    let recipients = entries.iter().map(|(recipient, _)| recipient.get()).collect();
    let actors = entries.iter().map(|(_, flip)| flip.actor.get()).collect();
    let targets = entries.iter().map(|(_, flip)| flip.target.get()).collect();
    (kind.name(), recipients, actors, targets)
}

impl Tx {
    /// Records that a user wrote to the recipient. Returns whether it is the first time.
    pub async fn add_direct_message(&mut self, from: UserId, to: UserId) -> StoreResult<bool> {
        let query = sqlx::query(
            "INSERT INTO inbox_entry (recipient_id, kind, actor_id, target_id, created_at)
             VALUES ($1, $2, $3, $1, now()) ON CONFLICT DO NOTHING",
        )
        .bind(to.get())
        .bind(DIRECT_MESSAGE)
        .bind(from.get());
        Ok(self.db.run(query.execute(&mut *self.inner)).await?.rows_affected() == 1)
    }
}

impl Db {
    /// The newest entries of an inbox.
    pub async fn inbox_entries(
        &self,
        recipient: UserId,
        page: PageRequest,
    ) -> StoreResult<Slice<InboxEntry>> {
        let query = sqlx::query_as(
            "SELECT id, kind, actor_id, target_id, created_at FROM inbox_entry
             WHERE recipient_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        )
        .bind(recipient.get())
        .bind(page.below())
        .bind(page.rows());
        Ok(page.slice(self.run(query.fetch_all(&self.pool())).await?))
    }
}
