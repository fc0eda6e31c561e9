//! The rules: who may do what, and what it means. Knows no HTTP and no GraphQL.
//!
//! An action goes one of two ways: edges through the log ([`edges`]), everything else as one transaction of
//! PostgreSQL ([`changes`]).

mod accounts;
mod actions;
mod changes;
mod coins;
mod collects;
mod comment_text;
mod comments;
mod edges;
pub mod entity_cache;
mod error;
mod feed;
mod follows;
mod groups;
mod history;
mod inbox;
mod keys;
mod likes;
mod lists;
mod membership;
mod moderation;
mod notes;
mod rankings;
mod rates;
mod ratings;
mod text;
mod views;
mod visibility;

use std::sync::Arc;

pub use crate::store::sql::CommentState;
pub use actions::ACTIONS;
pub use changes::Outcome;
pub use coins::Amount;
pub use comment_text::CommentText;
pub use comments::{CommentSort, Thread, ThreadPage};
pub use entity_cache::{Comment, Group, Note, User};
pub use error::{DomainError, DomainResult, ErrorClass, Reason};
pub use history::{ActivityKind, ActivityPoint, ActivityRequest, ActivityStep, MAX_POINTS};
pub use inbox::{Badge, DirectMessage, InboxEntry, inbox_of};
pub use keys::IdempotencyKey;
pub use moderation::QueueState;
pub use notes::NewNote;
pub use rankings::HotPlace;
pub use rates::{Asking, PerClass, RateClass};
pub use ratings::Score;
pub use text::{GRANT_REASON, GROUP_DESCRIPTION, GROUP_NAME, NOTE_BODY, NOTE_TITLE, REJECTION_REASON, Text};
pub use visibility::Visibility;

use crate::{
    hub::Hub,
    settings::DomainSettings,
    store::{redis::Redis, sql::Db},
};
use accounts::Accounts;
use entity_cache::{Bodies, Texts};
use membership::Memberships;
use rankings::Rankings;
use rates::Rates;
use views::Views;

/// Everything that requests may do. Cheap to clone.
#[derive(Clone)]
pub struct Plaudit {
    inner: Arc<Inner>,
}

struct Inner {
    redis: Redis,
    db: Db,
    hub: Hub,
    settings: DomainSettings,
    accounts: Accounts,
    memberships: Memberships,
    views: Views,
    rankings: Rankings,
    rates: Rates,
    texts: Arc<Texts>,
}

impl Plaudit {
    pub fn new(redis: Redis, db: Db, hub: Hub, settings: DomainSettings) -> Self {
        actions::begin_metrics();
        let texts = Arc::new(Texts::new(&redis, &db));
        // Whichever instance made the change.
        let told = Arc::clone(&texts);
        hub.on_invalidated(move |entity| told.forget(entity));
        let inner = Inner {
            accounts: Accounts::new(redis.clone(), db.clone()),
            memberships: Memberships::new(redis.clone(), db.clone()),
            views: Views::new(redis.clone()),
            rankings: Rankings::new(redis.clone(), db.clone()),
            rates: Rates::new(&settings.rates, redis.clone()),
            texts,
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

    pub fn users(&self) -> &Bodies<User> {
        &self.inner.texts.users
    }

    pub fn notes(&self) -> &Bodies<Note> {
        &self.inner.texts.notes
    }

    pub fn comments(&self) -> &Bodies<Comment> {
        &self.inner.texts.comments
    }

    pub fn groups(&self) -> &Bodies<Group> {
        &self.inner.texts.groups
    }
}
