//! Rankings: starts the heat of the shard's events, and rebuilds it from `activity` after a loss. Events are
//! added when they are retired ([`PendingHeat`](crate::pipeline)).
//!
//! Each event is added exactly once. Its own time decides by which part: retirement adds events from `since` on, the
//! rebuild those before. `since` lies [`CLOCK_ERROR`] in the future when heat starts, so no event after it can have
//! been retired before retirement knew of it. The rebuild waits until all events before `since` are persisted. Its
//! position moves together with the heat that it adds, so after a kill it continues where it was.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::leadership::{Leadership, retry::repeat, ticks};
use plaudit_catalogue::{
    Bucket, Span, UnixMillis,
    event_log::Heat,
    primitives::{Id, Offset, now},
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{HeatState, counts::heat, log::reading},
    sql::{counting::rankings, ownership::shards},
};

/// How often it checks that Redis still has the heat.
const EVERY: Duration = Duration::from_secs(5);
/// Maximum error of the API servers' clocks.
const CLOCK_ERROR: Duration = Duration::from_secs(2);
/// Maximum delay between the time of an event and its append to the log: requests have a shorter timeout.
const MAX_APPEND_DELAY: Duration = Duration::from_secs(2);
/// How often it checks how far the logs are persisted.
const POLL: Duration = Duration::from_millis(100);
/// Notes that are rebuilt per stretch of time: as many as a bucket keeps.
const MAX_NOTES: usize = 2_000;

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    repeat(&leadership, "heat", || maintain(&leadership)).await
}

/// Starts or rebuilds the heat if necessary; otherwise pauses.
async fn maintain(leadership: &Leadership) -> StoreResult<()> {
    match heat::heat_state(leadership.redis(), leadership.lease.shard).await? {
        None => begin(leadership).await,
        Some(state) if state.is_complete() => {
            ticks::tick(EVERY).await;
            Ok(())
        }
        Some(state) => rebuild(leadership, state).await,
    }
}

async fn begin(leadership: &Leadership) -> StoreResult<()> {
    let (shard, now) = (leadership.lease.shard, now());
    if leadership.context.settings.keeps_activity() {
        heat::begin_heat(leadership.redis(), shard, now, CLOCK_ERROR, Some(oldest(now))).await
    } else {
        heat::begin_heat(leadership.redis(), shard, now, Duration::ZERO, None).await
    }
}

/// When the oldest bucket begins.
fn oldest(now: UnixMillis) -> UnixMillis {
    Span::ALL.iter().flat_map(|span| span.window(now)).map(Bucket::begins_at).min().unwrap_or(now)
}

async fn rebuild(leadership: &Leadership, mut state: HeatState) -> StoreResult<()> {
    let shard = (leadership.lease.shard, leadership.redis().shards());
    wait_until_persisted(leadership, state.since).await?;
    while !state.is_complete() {
        let to = page_end(state);
        let notes = rankings::heat_between(leadership.db(), shard, state.built, to, MAX_NOTES).await?;
        let heat = heat_at(state.built, now(), notes);
        if !heat::add_heat(leadership.redis(), shard.0, state, to, &heat).await? {
            return Ok(()); // started again meanwhile
        }
        state.built = to;
    }
    tracing::info!(shard = shard.0.0, "heat of notes is complete");
    Ok(())
}

/// Waits until PostgreSQL has all events before `moment`.
async fn wait_until_persisted(leadership: &Leadership, moment: UnixMillis) -> StoreResult<()> {
    let arrived = moment + MAX_APPEND_DELAY.as_millis() as UnixMillis;
    tokio::time::sleep(Duration::from_millis((arrived - now()).max(0) as u64)).await;
    let ends = log_ends(leadership).await?;
    while !reach(&shards::persisted_state(leadership.db()).await?.offsets, &ends) {
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

async fn log_ends(leadership: &Leadership) -> StoreResult<Vec<Offset>> {
    let mut ends = Vec::with_capacity(leadership.redis().shards().get());
    for shard in leadership.redis().shards().all() {
        ends.push(reading::log_end(leadership.redis(), shard).await?.ok_or(StoreError::NotRecovered)?);
    }
    Ok(ends)
}

fn reach(offsets: &[Offset], ends: &[Offset]) -> bool {
    offsets.iter().zip(ends).all(|(offset, end)| offset >= end)
}

/// End of the stretch of time that is rebuilt next. The stretch lies within one bucket of each span that still has
/// a bucket for it: one bucket of the hour for the latest two hours, a whole hour before them.
fn page_end(state: HeatState) -> UnixMillis {
    let (short, long) = (Span::Hour.step(), Span::Day.step());
    let step = if state.built < state.since - 2 * long { long } else { short };
    ((state.built.div_euclid(step) + 1) * step).min(state.since)
}

/// The heat of the stretch of time that begins at `moment`.
fn heat_at(moment: UnixMillis, now: UnixMillis, notes: Vec<(Id, i64)>) -> Heat {
    let notes: BTreeMap<Id, i64> = notes.into_iter().filter(|(_, heat)| *heat != 0).collect();
    if notes.is_empty() {
        return Heat::new();
    }
    Bucket::all_of(moment, now).map(|bucket| (bucket, notes.clone())).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every moment lies in one stretch, which lies in one bucket of each span.
        #[test]
        fn stretches_follow_each_other_and_none_crosses_a_bucket_that_is_read(
            since in 1_600_000_000_000..1_900_000_000_000_i64, later in 0..10 * Span::Day.step(),
        ) {
            let mut state = HeatState { since, built: oldest(since) };
            let mut stretches = 0;
            while !state.is_complete() {
                let to = page_end(state);
                prop_assert!(to > state.built);
                for bucket in Bucket::all_of(state.built, since + later) {
                    prop_assert_eq!(bucket, Bucket::of(bucket.span, to - 1));
                }
                state.built = to;
                stretches += 1;
            }
            prop_assert_eq!(state.built, since);
            prop_assert!(stretches < 200, "{}", stretches);
        }
    }

    #[test]
    fn offsets_reach_ends_only_if_each_does() {
        let at = |number| Offset::new(1, number);
        assert!(reach(&[at(3), at(5)], &[at(3), at(4)]));
        assert!(!reach(&[at(3), at(3)], &[at(3), at(4)]));
    }
}
