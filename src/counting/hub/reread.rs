//! Background reads for watches: watches receive the counts that were read like any other change.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use super::Hub;
use plaudit_catalogue::{
    Entity,
    primitives::{RetryDelays, ShardId},
};
use plaudit_store::redis::log::recovery;

/// Pauses after failed reads.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Pauses before the rereads after overflows. They grow while a shard's queue keeps overflowing, so that rereads do
/// not become the load that causes the next overflow.
const FIRST_REREAD: Duration = Duration::from_millis(100);
const LONGEST_REREAD: Duration = Duration::from_secs(4);
/// Entities per read: as many as a busy Redis returns within its timeout.
const PAGE: usize = 500;

/// Reads entities in the background.
pub(super) fn read_soon(hub: &Hub, entities: Vec<Entity>) {
    if !entities.is_empty() {
        let reading = hub.clone();
        hub.inner.background.spawn(async move { read_pages(&reading, &entities).await });
    }
}

/// Reads in the background how far the logs are folded into these shards, for replies that wait for their events,
/// and then the watched entities.
pub(super) fn reread_soon(hub: &Hub, shards: &Arc<[ShardId]>) {
    for shard in shards.iter().copied() {
        let reading = hub.clone();
        hub.inner.background.spawn(async move { reread(&reading, shard).await });
    }
}

/// Reads the watched entities of a shard again after each overflow. All overflows during a pause or a reread cause
/// one more reread. Never returns.
pub(super) async fn reread_after_overflows(hub: &Hub, shard: ShardId) {
    let overflow = &hub.inner.overflows[shard.index()];
    let mut pauses = RetryDelays::between(FIRST_REREAD, LONGEST_REREAD);
    loop {
        if tokio::time::timeout(LONGEST_REREAD, overflow.notified()).await.is_err() {
            pauses.reset();
            overflow.notified().await;
        }
        pauses.pause().await;
        reread(hub, shard).await;
    }
}

async fn reread(hub: &Hub, shard: ShardId) {
    if let Ok(Some(meta)) = recovery::shard_meta(&hub.inner.redis, shard).await {
        hub.view(shard).lock().read_positions(hub.inner.redis.shards().all().zip(meta.folded));
    }
    let watched = hub.view(shard).lock().watched();
    read_pages(hub, &watched).await;
}

/// Reads page by page and retries through outages. Leaves out entities of shards whose changes are no
/// longer received: when they are again, everything of these shards is read again. A load needs the logs of
/// all shards, so it may fail because of a shard to which its entity does not belong.
async fn read_pages(hub: &Hub, entities: &[Entity]) {
    let mut pages: VecDeque<Vec<Entity>> = entities.chunks(PAGE).map(<[Entity]>::to_vec).collect();
    let mut delays = RetryDelays::between(FIRST_PAUSE, LONGEST_PAUSE);
    while let Some(mut page) = pages.pop_front() {
        let (_, Err(error)) = hub.counts(&page).await else {
            delays.reset();
            continue;
        };
        page.retain(|entity| hub.view_of(*entity).lock().is_receiving());
        if page.is_empty() {
            continue;
        }
        if !error.is_transient() {
            tracing::error!(%error, "cannot read counts for subscribers; retrying");
        }
        pages.push_back(page);
        delays.pause().await;
    }
}
