//! Counters stay in Redis for a day after somebody asked for them. Most answers come from this process, so it
//! notes what is asked for, each entity once an hour, and renews that every minute.

use std::time::Duration;

use super::Hub;
use plaudit_catalogue::{Entity, primitives::fault};
use plaudit_store::redis::counts::counters;

/// Pause between two renewals.
const EVERY: Duration = Duration::from_secs(60);
/// Renewals until entities are noted again.
const ROUNDS_PER_HOUR: u32 = 60;
/// Entities per renewal of one shard: it bounds how long requests wait for the script.
const PAGE: usize = 500;

/// Renews what is asked for. Never returns.
pub(super) async fn renew_forever(hub: &Hub) {
    let mut round = 0_u32;
    loop {
        tokio::time::sleep(fault::period("counts.renewed_every", EVERY)).await;
        round = round.wrapping_add(1);
        renew(hub, round.is_multiple_of(ROUNDS_PER_HOUR)).await;
    }
}

async fn renew(hub: &Hub, is_new_hour: bool) {
    for shard in hub.inner.redis.shards().all() {
        let mut asked: Vec<Entity> = hub.view(shard).lock().take_asked(is_new_hour);
        while !asked.is_empty() {
            let page = asked.split_off(asked.len().saturating_sub(PAGE));
            if let Err(error) = counters::renew_counts(&hub.inner.redis, shard, &page).await {
                tracing::debug!(%error, "cannot renew counters; those asked for again will be");
                break;
            }
        }
    }
}
