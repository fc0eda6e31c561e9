//! The entry point of the domain: the stores, and what the process remembers.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::{
    Comment, Group, Note, User,
    entity_cache::{EntityCache, EntityCaches},
    memory::{
        accounts::Accounts, app_keys::AppKeyCache, memberships::Memberships, rankings::Rankings,
        signals::ChangeSignals, views::Views,
    },
    rates::{Payers, Rates},
};
use plaudit_catalogue::{Entity, settings::DomainSettings};
use plaudit_counting::hub::Hub;
use plaudit_store::{redis::Redis, sql::Db};

/// The part of the connections to PostgreSQL that statements of events may take: with a quarter, likes waited for them.
const EVENTS_PART: usize = 8;

/// Entry point of the domain: every query and action of a request. Cheap to clone.
#[derive(Clone)]
pub struct Plaudit {
    pub(crate) inner: Arc<Services>,
}

pub(crate) struct Services {
    pub redis: Redis,
    pub db: Db,
    pub hub: Hub,
    pub settings: DomainSettings,
    pub accounts: Accounts,
    pub keys: Arc<AppKeyCache>,
    pub memberships: Memberships,
    pub views: Views,
    pub rankings: Rankings,
    pub rates: Rates,
    pub entities: Arc<EntityCaches>,
    pub signals: Arc<ChangeSignals>,
    /// One explanation at a time.
    pub explaining: Semaphore,
}

impl Services {
    /// Forgets what PostgreSQL may have lost in a failover.
    fn forget_lost(&self) {
        self.entities.invalidate(None);
        self.accounts.forget_all();
        self.keys.forget_all();
    }
}

impl Plaudit {
    pub fn new(redis: Redis, db: Db, hub: Hub, settings: DomainSettings) -> Self {
        let entities = Arc::new(EntityCaches::new(&redis, &db, &hub));
        let accounts = Accounts::new(redis.clone(), db.clone(), hub.hearing().clone());
        let keys = Arc::new(AppKeyCache::new(redis.clone(), db.clone()));
        let signals = Arc::<ChangeSignals>::default();
        let (caches, signalled) = (Arc::clone(&entities), Arc::clone(&signals));
        // Invalidations of all instances arrive here.
        hub.on_invalidated(move |entity| {
            caches.invalidate(entity);
            signalled.invalidated(entity);
        });
        let inner = Services {
            accounts,
            keys,
            memberships: Memberships::new(redis.clone(), db.clone(), hub.hearing().clone()),
            views: Views::new(redis.clone(), settings.view_window),
            rankings: Rankings::new(redis.clone(), db.clone(), hub.hearing().clone()),
            rates: Rates::new(Payers::new(&settings.rates, settings.subscription_memory), redis.clone()),
            entities,
            signals,
            explaining: Semaphore::new(1),
            redis,
            db,
            hub,
            settings,
        };
        let inner = Arc::new(inner);
        // Weak: the caches hold the database, which holds this.
        let known = Arc::downgrade(&inner);
        inner.db.on_new_timeline(move || {
            if let Some(inner) = known.upgrade() {
                inner.forget_lost();
            }
        });
        Self { inner }
    }

    /// Forgets what this instance has cached of an entity; `None`: of all.
    pub(crate) fn forget(&self, entity: Option<Entity>) {
        self.inner.entities.invalidate(entity);
    }

    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    pub fn settings(&self) -> &DomainSettings {
        &self.inner.settings
    }

    pub fn rates(&self) -> &Rates {
        &self.inner.rates
    }

    /// Connections to PostgreSQL that the events of subscriptions may take at the same time: an eighth of all.
    pub fn connections_for_events(&self) -> usize {
        (self.inner.db.connections() as usize / EVENTS_PART).max(1)
    }

    pub fn users(&self) -> &Arc<EntityCache<User>> {
        &self.inner.entities.users
    }

    pub fn notes(&self) -> &Arc<EntityCache<Note>> {
        &self.inner.entities.notes
    }

    pub fn comments(&self) -> &Arc<EntityCache<Comment>> {
        &self.inner.entities.comments
    }

    pub fn groups(&self) -> &Arc<EntityCache<Group>> {
        &self.inner.entities.groups
    }
}
