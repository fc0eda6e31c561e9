//! Read-through cache of live counts, one per process: receives every change from Redis' channels, caches recent
//! counts, feeds watches, and reads missing counts from Redis and PostgreSQL.
//!
//! - [`view`]: the rules for one shard, without any input or output;
//! - [`listener`]: the subscription to the channels; every interruption counts as missed messages;
//! - [`read`]: counts for requests; [`load`]: counts that Redis does not have, from PostgreSQL;
//! - [`hearing`]: whether changes are heard; [`stale`]: counts while Redis is away;
//! - [`renew`]: counters that are asked for stay in Redis;
//! - [`reread`]: background reads for watches;
//! - [`watch`]: the counts of one entity for one reader.

mod hearing;
mod listener;
mod load;
mod read;
mod renew;
mod reread;
mod stale;
mod view;
mod watch;

use std::{
    collections::{BTreeMap, HashMap},
    num::NonZeroUsize,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

pub use hearing::Hearing;
pub use watch::CountsWatch;

use load::LoadKey;
use plaudit_catalogue::{
    Counts, Entity,
    primitives::{Background, Offset, ShardId, Version},
};
use plaudit_store::{
    StoreResult,
    coalescer::Coalescer,
    redis::{LogTails, PushQueue, Redis},
    sql::{Db, GivenIds},
};
use stale::StaleCounts;
use view::ShardView;
use watch::CountsSender;

/// Counts of one entity at one version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CountsAt {
    pub version: Version,
    pub counts: Counts,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    redis: Redis,
    db: Db,
    given: GivenIds,
    /// Looks whether entities exist.
    existing: Coalescer<Entity, ()>,
    tails: LogTails,
    /// By shard. Locked only for moments, never across an await.
    views: Vec<Mutex<ShardView>>,
    loads: Coalescer<LoadKey, CountsAt>,
    on_invalidated: OnceLock<Box<OnInvalidated>>,
    /// By shard: the unprocessed messages of the current subscription to its node.
    queues: Mutex<BTreeMap<ShardId, Arc<PushQueue>>>,
    /// By shard: notified when its queue overflowed, so that its watched entities are read again.
    overflows: Vec<Notify>,
    background: Background,
    hearing: Hearing,
    stale: StaleCounts,
}

/// Called with the entity that changed in PostgreSQL; `None` if any entity may have changed.
type OnInvalidated = dyn Fn(Option<Entity>) + Send + Sync;

/// What a reply that waits for its event has heard of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    Nothing,
    /// The log is folded up to its offset: the event is, unless the Redis that has taken it was replaced, and
    /// the offset is another event's now.
    Folded,
    /// It is folded, and replicas of the Redis that has taken it have it.
    Replicated,
}

/// Messages that wait to be processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// At most [`QUEUE_BOUND`](plaudit_store::redis::QUEUE_BOUND) for each shard.
    pub bytes: usize,
    /// How often a shard's messages were dropped since the current subscription began.
    pub overflows: u64,
}

impl Hub {
    /// Caches the counts of about `capacity` entities at most.
    pub fn new(redis: Redis, db: Db, capacity: NonZeroUsize) -> Self {
        let shards = redis.shards();
        let per_shard = NonZeroUsize::new(capacity.get().div_ceil(shards.get())).unwrap_or(NonZeroUsize::MIN);
        let views = shards.all().map(|_| Mutex::new(ShardView::new(shards, per_shard))).collect();
        let overflows = shards.all().map(|_| Notify::new()).collect();
        let stale = StaleCounts::new(&db);
        Self {
            inner: Arc::new(Inner {
                tails: LogTails::new(redis.clone()),
                redis,
                given: GivenIds::new(db.clone()),
                existing: Coalescer::with(db.row_turns()),
                db,
                views,
                loads: Coalescer::default(),
                on_invalidated: OnceLock::new(),
                queues: Mutex::default(),
                overflows,
                background: Background::default(),
                hearing: Hearing::default(),
                stale,
            }),
        }
    }

    /// Sets the invalidation callback, for a cache of other data of entities; later calls have no effect. The hub
    /// calls it for each entity that changed in PostgreSQL, and with `None` when messages may have been missed,
    /// before it processes the change itself.
    pub fn on_invalidated(&self, callback: impl Fn(Option<Entity>) + Send + Sync + 'static) {
        let _ = self.inner.on_invalidated.set(Box::new(callback));
    }

    fn invalidated(&self, entity: Option<Entity>) {
        if let Some(callback) = self.inner.on_invalidated.get() {
            callback(entity);
        }
    }

    /// Waits until this hub has received that the event at `at` of `source`'s log is folded into each of `targets`;
    /// gives up at `until`. `replication id`: of the Redis that has taken the event.
    pub async fn wait_until_folded(
        &self,
        source: ShardId,
        at: Offset,
        replication_id: &str,
        targets: &[ShardId],
        until: Instant,
    ) -> Heard {
        let waits = targets.iter().map(|target| {
            let mut folded = self.view(*target).lock().folded(source);
            async move {
                let to = folded.wait_for(|to| to.offset >= at).await;
                to.is_ok_and(|to| to.confirmed_in.as_deref() == Some(replication_id))
            }
        });
        let all = futures_util::future::join_all(waits);
        match timeout_at(until, all).await {
            Ok(confirmed) if confirmed.contains(&true) => Heard::Replicated,
            Ok(_) => Heard::Folded,
            Err(_) => {
                tracing::debug!(shard = source.0, offset = %at, "a reply no longer waits for its event");
                Heard::Nothing
            }
        }
    }

    /// Waits until this hub has received the change of each shard; gives up after `bound`.
    pub async fn wait_for_changes(&self, changes: &BTreeMap<ShardId, Version>, bound: Duration) {
        let waits = changes.iter().map(|(shard, change)| {
            let mut newest = self.view(*shard).lock().newest();
            async move { newest.wait_for(|received| received >= change).await.map(drop) }
        });
        let all = futures_util::future::join_all(waits);
        if tokio::time::timeout(bound, all).await.is_err() {
            tracing::debug!("a reply no longer waits for its changes");
        }
    }

    /// Counts of many entities in their order, and the error if some could not be read. Takes at most one round trip
    /// if Redis has all of them. Entities that do not exist have none.
    pub async fn counts(&self, entities: &[Entity]) -> (Vec<Option<CountsAt>>, StoreResult<()>) {
        let mut counts: Vec<_> = entities.iter().map(|entity| self.cached(*entity)).collect();
        let outcome = read::add_missing(self, entities, &mut counts).await;
        (counts, outcome)
    }

    /// The counts that this process has cached.
    pub fn cached(&self, entity: Entity) -> Option<CountsAt> {
        self.view_of(entity).lock().cached(entity)
    }

    /// Watches the counts of an entity: the current ones, then every change.
    pub fn watch(&self, entity: Entity) -> CountsWatch {
        let sender = Arc::new(CountsSender::new(None));
        let watch = CountsWatch::new(self.clone(), entity, Arc::clone(&sender));
        self.view_of(entity).lock().watch(entity, sender);
        reread::read_soon(self, vec![entity]);
        watch
    }

    fn unwatch(&self, entity: Entity, sender: &Arc<CountsSender>) {
        self.view_of(entity).lock().unwatch(entity, sender);
    }

    /// The unprocessed messages.
    pub fn backlog(&self) -> Backlog {
        let queues = self.inner.queues.lock();
        // Shards of one node have one queue.
        let queues: BTreeMap<_, _> = queues.values().map(|queue| (Arc::as_ptr(queue), queue)).collect();
        let sum = |sum: Backlog, queue: &Arc<PushQueue>| Backlog {
            bytes: sum.bytes + queue.bytes(),
            overflows: sum.overflows + queue.overflows(),
        };
        queues.into_values().fold(Backlog::default(), sum)
    }

    /// Whether this hub receives the changes of all shards.
    pub fn is_receiving(&self) -> bool {
        self.inner.views.iter().all(|view| view.lock().is_receiving())
    }

    /// The ids that were given, as far as this process knows from messages and look-ups.
    pub fn given_ids(&self) -> &GivenIds {
        &self.inner.given
    }

    pub fn hearing(&self) -> &Hearing {
        &self.inner.hearing
    }

    fn view(&self, shard: ShardId) -> &Mutex<ShardView> {
        &self.inner.views[shard.index()]
    }

    fn view_of(&self, entity: Entity) -> &Mutex<ShardView> {
        self.view(self.inner.redis.shard_of(entity.id))
    }
}

/// Counts of some entities; those that do not exist are missing.
pub type CountsMap = HashMap<Entity, CountsAt>;
