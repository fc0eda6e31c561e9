//! Notifications of PostgreSQL (`LISTEN`) that a table has new rows.

use sqlx::postgres::PgListener;

use crate::{StoreResult, sql::Db};

/// Events that triggers and statements announce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// New rows of `invalidation`.
    Invalidations,
    /// Texts that wait for moderation.
    ReviewQueue,
    /// A process of the pipeline came or went, or released a shard.
    Shards,
}

impl Channel {
    const fn name(self) -> &'static str {
        match self {
            Self::Invalidations => "invalidation",
            Self::ReviewQueue => "review_queue",
            Self::Shards => "shards",
        }
    }
}

pub async fn listen(db: &Db, channels: &[Channel]) -> StoreResult<Announcements> {
    let mut listener = db.run(PgListener::connect_with(&db.pool())).await?;
    db.run(listener.listen_all(channels.iter().map(|channel| channel.name()))).await?;
    Ok(Announcements(listener))
}

/// A connection that listens for announcements.
pub struct Announcements(PgListener);

impl Announcements {
    /// Returns after an announcement: whether it was one of the channel. After an interruption, when some may have been
    /// missed, it was one of every channel.
    pub async fn next(&mut self) -> StoreResult<impl Fn(Channel) -> bool + use<>> {
        let announced = self.0.try_recv().await?;
        Ok(move |channel: Channel| announced.as_ref().is_none_or(|of| of.channel() == channel.name()))
    }
}
