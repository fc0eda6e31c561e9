//! Overflow: a hub that receives messages faster than it applies them drops some, and reads the counts again.

use std::{num::NonZeroUsize, sync::mpsc, time::Duration};

use parking_lot::Mutex;
use plaudit_catalogue::{
    Counter, Entity, EntityKind,
    primitives::{ShardCount, Version},
};
use plaudit_counting::hub::{CountsWatch, Hub};
use plaudit_store::{
    redis::{Copies, QUEUE_BOUND, Redis, counts::counters},
    sql::Db,
};
use support::{SOON, Server, eventually, note};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

const SHARDS: u16 = 2;
/// Entities that are invalidated at once. They do not exist. Their ids are as long as possible, so messages are, too.
const BATCH: i64 = 10_000;
const FIRST_ID: i64 = 9_000_000_000_000_000;

fn note_entity(id: i64) -> Entity {
    Entity::new(EntityKind::Note, id.try_into().unwrap())
}

/// Reads until the note has this many likes. Versions never go backwards.
async fn reach(watch: &mut CountsWatch, newest: &mut Version, likes: i64) {
    let reading = async {
        loop {
            let counts = watch.next().await;
            assert!(counts.version > *newest, "{:?} after {newest:?}", counts.version);
            *newest = counts.version;
            if counts.counts.get(Counter::NoteLikes) == likes {
                return;
            }
        }
    };
    tokio::time::timeout(SOON, reading).await.unwrap_or_else(|_| panic!("{likes} likes are not received"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_hub_recovers_by_itself_from_a_storm_and_shows_correct_counts_in_bounded_memory() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (loud, obstacle) = (stores.new_note_of_shard(0).await, stores.new_note_of_shard(0).await);
    let calm = stores.new_note_of_shard(1).await;
    let redis = Redis::new(stores.redis_url(), ShardCount::new(SHARDS).unwrap()).unwrap();
    let db = Db::for_requests(stores.database_url(), 4).unwrap();
    let hub = Hub::new(redis.clone(), db, NonZeroUsize::new(1_000).unwrap());

    // The hub applies no message while its callback waits for the obstacle to be removed.
    let (at_obstacle, mut arrived) = unbounded_channel();
    let (missed, mut interruptions) = unbounded_channel();
    let (remove_obstacle, removed) = mpsc::channel::<()>();
    let removed = Mutex::new(removed);
    hub.on_invalidated(move |entity| {
        if entity.is_none() {
            missed.send(()).unwrap();
        } else if entity == Some(note_entity(obstacle)) {
            at_obstacle.send(()).unwrap();
            // The runtime moves other tasks away from this thread, also one that would run next on it.
            tokio::task::block_in_place(|| removed.lock().recv()).unwrap();
        }
    });
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let (hub, stop) = (hub.clone(), stop.clone());
        async move { hub.run(stop).await }
    });
    eventually("the hub receives messages", SOON, || async { hub.is_receiving().then_some(()) }).await;
    interruptions.recv().await.unwrap(); // the subscription itself
    let (mut loud_watch, mut loud_newest) = (hub.watch(note_entity(loud)), Version::default());
    let (mut calm_watch, mut calm_newest) = (hub.watch(note_entity(calm)), Version::default());
    reach(&mut loud_watch, &mut loud_newest, 0).await;
    reach(&mut calm_watch, &mut calm_newest, 0).await;

    counters::invalidate(&redis, &[note_entity(obstacle)], Copies::All).await.unwrap();
    arrived.recv().await.unwrap();
    for fan in 0..5 {
        server.client(&format!("early-{fan}")).like(&note(loud)).await;
    }
    server.client("early-0").like(&note(calm)).await;
    for first in (0..).step_by(2 * BATCH as usize).take(100) {
        let ids = (0..BATCH).map(|i| FIRST_ID + first + 2 * i);
        let storm: Vec<Entity> =
            ids.map(|id| Entity::new(EntityKind::Inbox, id.try_into().unwrap())).collect();
        counters::invalidate(&redis, &storm, Copies::All).await.unwrap();
        assert!(hub.backlog().bytes <= usize::from(SHARDS) * QUEUE_BOUND);
        if hub.backlog().overflows > 0 {
            break;
        }
    }
    assert_eq!(hub.backlog().overflows, 1);
    assert!(hub.backlog().bytes < QUEUE_BOUND, "the messages of one shard are dropped");
    // Messages that arrive before the hub has handled the overflow are dropped as well.
    for fan in 0..5 {
        server.client(&format!("late-{fan}")).like(&note(loud)).await;
    }

    remove_obstacle.send(()).unwrap();
    reach(&mut loud_watch, &mut loud_newest, 10).await;
    reach(&mut calm_watch, &mut calm_newest, 1).await;
    interruptions.recv().await.unwrap();
    assert!(interruptions.is_empty(), "one overflow is one interruption");
    server.client("last").like(&note(loud)).await;
    reach(&mut loud_watch, &mut loud_newest, 11).await;
    assert!(hub.is_receiving());

    stop.cancel();
    tokio::time::timeout(Duration::from_secs(5), running).await.unwrap().unwrap();
}
