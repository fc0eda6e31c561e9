//! Business rules: who may do what, and what it changes. Independent of HTTP and GraphQL.
//!
//! There are two kinds of actions. Edges (likes, follows, collects, memberships) are appended to the event log
//! ([`edges`]); every other action is one PostgreSQL transaction ([`transaction`]).

mod actions;
pub mod content;
pub mod edges;
pub mod entity_cache;
mod error;
pub mod event_stream;
pub mod explain;
mod invisible;
pub mod keys;
pub mod membership;
pub mod moderation;
pub mod people;
mod rate_class;
mod rates;
mod text;
pub mod transaction;

use std::sync::Arc;

use tokio::sync::Semaphore;

pub use actions::ACTIONS;
pub use content::app_keys::AppKey;
pub use content::changes::{ChangedComment, Changes};
pub use content::comment_text::{CommentEdit, CommentText};
pub use content::comments::{CommentOrder, CommentThread, ThreadPage};
pub use content::groups::{GroupEdit, GroupOrder};
pub use content::history::{ActivityRequest, HistoryCounter, HistoryPoint, MAX_POINTS, StepLength};
pub use content::notes::{NewNote, NoteEdit, NotesOf};
pub use content::rankings::HotNotesCursor;
pub use content::ratings::{NoteRating, Score};
pub use content::upserts::{
    CreationTime, ElementDone, ElementOutcome, ElementResults, GroupUpsert, NoteUpsert, UserUpsert,
};
pub use edges::durability::{Durability, LowestDurability};
pub use edges::switch::{Actor, Switched, Switching};
pub use entity_cache::{Comment, Group, Note, User};
pub use error::{DomainError, DomainResult, ErrorClass, Reason};
pub use event_stream::{CursorError, EventObject, EventPage, LOOK_EVERY, StreamedEvent, WebhookFailure};
pub use explain::{Explanation, RowCount};
pub use keys::IdempotencyKey;
pub use moderation::groups::GroupModerator;
pub use moderation::reports::{
    NewReport, Report, ReportDecision, ReportOrder, ReportReason, ReportTarget, ReportedObject,
};
pub use moderation::texts::QueueState;
pub use people::coins::{Amount, CoinEntry};
pub use people::erasure::{ExportPosition, ExportedRecord};
pub use people::inbox::{ActorsOf, Badge, EntryKey, InboxEntry, Message, inbox_of};
pub use people::profiles::{ByName, ProfileEdit, ToldProfile};
pub use people::suspension::{Suspension, SuspensionEnd};
pub use people::visibility::Visibility;
pub use plaudit_store::sql::content::{
    comment_edits::PendingEdit,
    note_texts::{NoteText, PendingNoteEdit},
    submissions::ModerationState,
};
pub use rate_class::{PerClass, RateClass};
pub use rates::{BusyAccount, Cost, CostMeters, Kept, PushAccount, RequestSource, Work};
pub use text::{
    COMMENT_BODY, DECISION_REASON, GRANT_REASON, GROUP_DESCRIPTION, GROUP_NAME, ImageAddress, NOTE_BODY,
    NOTE_TITLE, PageAddress, REJECTION_REASON, REPORT_TEXT, SUSPENSION_REASON, Text, TextRule, USER_NAME,
    USER_PREFIX,
};
pub use transaction::ActionOutcome;

use content::app_keys::KeyCache;
use content::changes::ChangeSignals;
use content::rankings::Rankings;
pub use content::view_window::NoteViewer;
use content::views::Views;
pub use content::views::{RecordedViews, UnappendedViews};
use entity_cache::{EntityCache, EntityCaches};
use membership::Memberships;
use people::accounts::Accounts;
use plaudit_catalogue::{Entity, EntityKind, primitives::UserId, settings::DomainSettings};
use plaudit_counting::hub::Hub;
use plaudit_store::{redis::Redis, sql::Db};
use rates::Rates;

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
    keys: Arc<KeyCache>,
    memberships: Memberships,
    views: Views,
    rankings: Rankings,
    rates: Rates,
    entities: Arc<EntityCaches>,
    signals: Arc<ChangeSignals>,
    /// One explanation at a time.
    explaining: Semaphore,
}

impl Services {
    /// Forgets what PostgreSQL may have lost in a failover.
    fn forget_lost(&self) {
        forget(&self.entities, &self.accounts, None);
        self.accounts.forget_all();
        self.keys.forget_all();
    }
}

impl Plaudit {
    pub fn new(redis: Redis, db: Db, hub: Hub, settings: DomainSettings) -> Self {
        actions::register_metrics();
        let entities = Arc::new(EntityCaches::new(&redis, &db, &hub));
        let accounts = Accounts::new(redis.clone(), db.clone(), hub.hearing().clone());
        let keys = Arc::new(KeyCache::new(redis.clone(), db.clone()));
        let signals = Arc::<ChangeSignals>::default();
        let (caches, known, signalled) = (Arc::clone(&entities), accounts.clone(), Arc::clone(&signals));
        // Invalidations of all instances arrive here.
        hub.on_invalidated(move |entity| {
            forget(&caches, &known, entity);
            signalled.invalidated(entity);
        });
        let inner = Services {
            accounts,
            keys,
            memberships: Memberships::new(redis.clone(), db.clone(), hub.hearing().clone()),
            views: Views::new(redis.clone(), settings.view_window),
            rankings: Rankings::new(redis.clone(), db.clone(), hub.hearing().clone()),
            rates: Rates::new(&settings.rates, settings.subscription_memory, redis.clone()),
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
    fn forget(&self, entity: Option<Entity>) {
        forget(&self.inner.entities, &self.inner.accounts, entity);
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

fn forget(entities: &EntityCaches, accounts: &Accounts, entity: Option<Entity>) {
    entities.invalidate(entity);
    match entity {
        None => accounts.changed(None),
        Some(Entity { kind: EntityKind::User, id }) => accounts.changed(Some(UserId(id))),
        Some(_) => {}
    }
}
