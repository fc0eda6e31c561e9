//! Live counts of this instance: hears every change on Redis, holds recent counts, feeds subscriptions,
//! and reads through to Redis and PostgreSQL what it does not hold.
//!
//! - [`view`]: the rules, for one shard, without any input or output;
//! - [`listener`]: keeps hearing, and treats every interruption as "something was missed";
//! - [`read`]: counts for requests; [`load`]: what Redis does not have comes from PostgreSQL;
//! - [`subscriber`]: one subscription's mailbox.

mod listener;
mod load;
mod read;
mod subscriber;
mod view;

use std::{
    collections::{BTreeMap, HashMap},
    num::NonZeroUsize,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::Mutex;

pub use subscriber::Subscriber;

use crate::{
    catalogue::{Counts, Entity},
    primitives::{Offset, ShardId, Version},
    store::{redis::Redis, single_flight::SingleFlight, sql::Db},
};
use load::Wanted;
use subscriber::Mailbox;
use view::ShardView;

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
    /// By shard. Held only for moments, never across an await.
    views: Vec<Mutex<ShardView>>,
    loads: SingleFlight<Wanted, CountsAt>,
    forget: OnceLock<Box<Forget>>,
}

/// Hears which entity has changed in PostgreSQL; `None`: any may have.
type Forget = dyn Fn(Option<Entity>) + Send + Sync;

impl Hub {
    /// Holds counts of at most about `capacity` entities.
    pub fn new(redis: Redis, db: Db, capacity: NonZeroUsize) -> Self {
        let shards = redis.shards();
        let per_shard = NonZeroUsize::new(capacity.get().div_ceil(shards.get())).unwrap_or(NonZeroUsize::MIN);
        let views = shards.all().map(|_| Mutex::new(ShardView::new(shards, per_shard))).collect();
        let (loads, forget) = (SingleFlight::default(), OnceLock::new());
        Self { inner: Arc::new(Inner { redis, db, views, loads, forget }) }
    }

    /// Has `forget` called, before anything else is done about it, for each entity that changed in
    /// PostgreSQL, and with `None` when something may have been missed. For one that keeps more of entities
    /// than their counts; a second one is not taken.
    pub fn on_invalidated(&self, forget: impl Fn(Option<Entity>) + Send + Sync + 'static) {
        let _ = self.inner.forget.set(Box::new(forget));
    }

    fn forget(&self, entity: Option<Entity>) {
        if let Some(forget) = self.inner.forget.get() {
            forget(entity);
        }
    }

    /// Waits until this hub has heard that the event at `at` of `source`'s log is folded into each of
    /// `targets`; gives up after `bound`.
    pub async fn heard(&self, source: ShardId, at: Offset, targets: &[ShardId], bound: Duration) {
        let waits = targets.iter().map(|target| {
            let mut folded = self.view(*target).lock().folded(source);
            async move { folded.wait_for(|offset| *offset >= at).await.map(drop) }
        });
        let all = futures_util::future::join_all(waits);
        if tokio::time::timeout(bound, all).await.is_err() {
            tracing::debug!(shard = source.0, offset = %at, "reply does not wait longer for its own event");
        }
    }

    /// Waits until this hub has heard the change of each shard; gives up after `bound`.
    pub async fn heard_changes(&self, changes: &BTreeMap<ShardId, Version>, bound: Duration) {
        let waits = changes.iter().map(|(shard, change)| {
            let mut newest = self.view(*shard).lock().newest();
            async move { newest.wait_for(|heard| heard >= change).await.map(drop) }
        });
        let all = futures_util::future::join_all(waits);
        if tokio::time::timeout(bound, all).await.is_err() {
            tracing::debug!("reply does not wait longer for its own change");
        }
    }

    /// Feeds a new subscription with the counts of `entities`: what they are now, then every change.
    pub fn watch(&self, entities: &[Entity]) -> Subscriber {
        let mailbox = Arc::new(Mailbox::default());
        for entity in entities {
            self.view_of(*entity).lock().watch(*entity, Arc::clone(&mailbox));
        }
        self.read_soon(entities.to_vec());
        Subscriber::new(self.clone(), mailbox, entities.to_vec())
    }

    fn unwatch(&self, entities: &[Entity], mailbox: &Arc<Mailbox>) {
        for entity in entities {
            self.view_of(*entity).lock().unwatch(*entity, mailbox);
        }
    }

    /// Whether changes of all shards are being heard.
    pub fn is_hearing(&self) -> bool {
        self.inner.views.iter().all(|view| view.lock().is_hearing())
    }

    fn view(&self, shard: ShardId) -> &Mutex<ShardView> {
        &self.inner.views[shard.index()]
    }

    fn view_of(&self, entity: Entity) -> &Mutex<ShardView> {
        self.view(self.inner.redis.shard_of(entity.id))
    }
}

/// Counts found for some entities; those that do not exist are missing.
pub type CountsMap = HashMap<Entity, CountsAt>;
