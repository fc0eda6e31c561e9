//! Notifications of PostgreSQL (`LISTEN`) that a table has new rows.

use sqlx::postgres::PgListener;

use super::Db;
use crate::store::StoreResult;

/// Events that triggers announce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// New rows of `invalidation`.
    Invalidations,
    /// Texts that wait for moderation.
    ReviewQueue,
}

impl Channel {
    const fn name(self) -> &'static str {
        match self {
            Self::Invalidations => "invalidation",
            Self::ReviewQueue => "review_queue",
        }
    }
}

impl Db {
    pub async fn listen(&self, channel: Channel) -> StoreResult<Announcements> {
        let mut listener = self.run(PgListener::connect_with(&self.pool())).await?;
        self.run(listener.listen(channel.name())).await?;
        Ok(Announcements(listener))
    }
}

/// A connection that listens for announcements.
pub struct Announcements(PgListener);

impl Announcements {
    /// Returns after an announcement, or when one may have been missed.
    pub async fn next(&mut self) -> StoreResult<()> {
        self.0.try_recv().await?;
        Ok(())
    }
}
