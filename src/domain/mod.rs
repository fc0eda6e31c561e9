//! Business rules: who may do what, and what it changes. Independent of HTTP and GraphQL.
//!
//! There are two kinds of actions. Edges (likes, follows, collects, memberships) are appended to the event log
//! ([`edges`]); every other action is one PostgreSQL transaction ([`transaction`]).

mod accounts;
mod actions;
mod changes;
mod coins;
mod collects;
mod comment_text;
mod comments;
mod durability;
mod edges;
pub mod entity_cache;
mod erasure;
mod error;
mod explain;
mod feed;
mod follows;
mod groups;
mod history;
mod inbox;
mod invisible;
mod keys;
mod likes;
mod lists;
mod membership;
mod moderation;
mod notes;
mod profiles;
mod rankings;
mod rates;
mod ratings;
mod text;
mod transaction;
mod views;
mod visibility;

use std::sync::Arc;

use tokio::sync::Semaphore;

pub use crate::store::sql::threads::CommentState;
pub use actions::ACTIONS;
pub use changes::{ChangedComment, Changes};
pub use coins::{Amount, CoinEntry};
pub use comment_text::CommentText;
pub use comments::{CommentOrder, CommentThread, ThreadPage};
pub use durability::{Durability, LowestDurability};
pub use edges::Switched;
pub use entity_cache::{Comment, Group, Note, User};
pub use erasure::{ExportPosition, ExportedRecord};
pub use error::{DomainError, DomainResult, ErrorClass, Reason};
pub use explain::{Explanation, RowCount};
pub use groups::{GroupEdit, GroupOrder};
pub use history::{ActivityRequest, HistoryCounter, HistoryPoint, MAX_POINTS, StepLength};
pub use inbox::{Badge, InboxEntry, Message, inbox_of};
pub use keys::IdempotencyKey;
pub use moderation::QueueState;
pub use notes::{NewNote, NoteEdit, NotesOf};
pub use profiles::{ByName, ProfileEdit};
pub use rankings::HotNotesCursor;
pub use rates::{BusyAccount, Cost, CostMeters, Kept, PerClass, PushAccount, RateClass, RequestSource, Work};
pub use ratings::{NoteRating, Score};
pub use text::{
    COMMENT_BODY, GRANT_REASON, GROUP_DESCRIPTION, GROUP_NAME, ImageAddress, NOTE_BODY, NOTE_TITLE,
    REJECTION_REASON, Text, TextRule, USER_NAME, USER_PREFIX,
};
pub use transaction::ActionOutcome;
pub use visibility::Visibility;

use crate::{
    catalogue::{Entity, EntityKind},
    hub::Hub,
    primitives::UserId,
    settings::DomainSettings,
    store::{redis::Redis, sql::Db},
};
use accounts::Accounts;
use changes::ChangeSignals;
use entity_cache::{EntityCache, EntityCaches};
use membership::Memberships;
use rankings::Rankings;
use rates::Rates;
pub use views::RecordedViews;
use views::Views;

/// Entry point of the domain: every query and action of a request. Cheap to clone.
#[derive(Clone)]
pub struct Plaudit {
    inner: Arc<Services>,
}

struct Services {
    redis: Redis,
    db: Db,
    hub: Hub,
    settings: DomainSettings,
    accounts: Accounts,
    memberships: Memberships,
    views: Views,
    rankings: Rankings,
    rates: Rates,
    entities: Arc<EntityCaches>,
    signals: Arc<ChangeSignals>,
    /// One explanation at a time.
    explaining: Semaphore,
}

impl Plaudit {
    pub fn new(redis: Redis, db: Db, hub: Hub, settings: DomainSettings) -> Self {
        actions::register_metrics();
        let entities = Arc::new(EntityCaches::new(&redis, &db));
        // Invalidations of all instances arrive here.
        let caches = Arc::clone(&entities);
        let signals = Arc::new(ChangeSignals::default());
        let signalled = Arc::clone(&signals);
        let accounts = Accounts::new(redis.clone(), db.clone());
        let known = accounts.clone();
        hub.on_invalidated(move |entity| {
            caches.invalidate(entity);
            signalled.invalidated(entity);
            match entity {
                None => known.changed(None),
                Some(Entity { kind: EntityKind::User, id }) => known.changed(Some(UserId(id))),
                Some(_) => {}
            }
        });
        let inner = Services {
            accounts,
            memberships: Memberships::new(redis.clone(), db.clone()),
            views: Views::new(redis.clone()),
            rankings: Rankings::new(redis.clone(), db.clone()),
            rates: Rates::new(&settings.rates, settings.subscription_memory, redis.clone()),
            entities,
            signals,
            explaining: Semaphore::new(1),
            redis,
            db,
            hub,
            settings,
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    pub fn settings(&self) -> &DomainSettings {
        &self.inner.settings
    }

    pub fn users(&self) -> &EntityCache<User> {
        &self.inner.entities.users
    }

    pub fn notes(&self) -> &EntityCache<Note> {
        &self.inner.entities.notes
    }

    pub fn comments(&self) -> &EntityCache<Comment> {
        &self.inner.entities.comments
    }

    pub fn groups(&self) -> &EntityCache<Group> {
        &self.inner.entities.groups
    }
}
