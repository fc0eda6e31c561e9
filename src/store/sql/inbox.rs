//! Inbox entries: notifications of a user.

use chrono::{DateTime, Utc};
use sqlx::FromRow;

use super::{Db, Tx, times::timestamp};
use crate::{
    catalogue::{EdgeKind, Flip, InboxKind},
    primitives::{Id, PageRequest, Slice, UserId},
    store::StoreResult,
};

/// One notification of a user.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct InboxEntry {
    /// Position in the inbox, in order of arrival.
    pub id: Id,
    /// Number of an [`InboxKind`], perhaps one of a later release.
    pub kind: i16,
    #[sqlx(rename = "actor_id")]
    pub actor: UserId,
    #[sqlx(rename = "target_id")]
    pub target: Id,
    pub created_at: DateTime<Utc>,
}

impl Tx {
    /// Writes one entry per flip, all of `kind`, to the inbox of its recipient. The flips' edges are on for the first
    /// time ever, so none of them has an entry.
    pub async fn add_inbox_entries(
        &mut self,
        kind: EdgeKind,
        entries: &[(UserId, &Flip)],
    ) -> StoreResult<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let query = sqlx::query(concat!(
            "INSERT INTO inbox_entry (recipient_id, kind, actor_id, target_id, created_at)
             SELECT recipient_id, $1, actor_id, target_id, ",
            timestamp!("at"),
            " FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                   AS entry (recipient_id, actor_id, target_id, at)"
        ))
        .bind(kind.number())
        .bind(entries.iter().map(|(recipient, _)| recipient.get()).collect::<Vec<_>>())
        .bind(entries.iter().map(|(_, flip)| flip.actor.get()).collect::<Vec<_>>())
        .bind(entries.iter().map(|(_, flip)| flip.target.get()).collect::<Vec<_>>())
        .bind(entries.iter().map(|(_, flip)| flip.at).collect::<Vec<_>>());
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }

    /// Records that a user wrote to the recipient, who is also the entry's target. Returns whether it is the first time.
    pub async fn add_message(&mut self, from: UserId, to: UserId) -> StoreResult<bool> {
        let query = sqlx::query(
            "INSERT INTO inbox_entry (recipient_id, kind, actor_id, target_id, created_at)
             VALUES ($1, $2, $3, $1, now()) ON CONFLICT DO NOTHING",
        )
        .bind(to.get())
        .bind(InboxKind::Message.number())
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

    /// The newest entries of an inbox above an id, the newest first.
    pub async fn inbox_entries_above(
        &self,
        recipient: UserId,
        id: i64,
        most: usize,
    ) -> StoreResult<Vec<InboxEntry>> {
        let query = sqlx::query_as(
            "SELECT id, kind, actor_id, target_id, created_at FROM inbox_entry
             WHERE recipient_id = $1 AND id > $2 ORDER BY id DESC LIMIT $3",
        );
        let query = query.bind(recipient.get()).bind(id).bind(most as i64);
        self.run(query.fetch_all(&self.pool())).await
    }
}
