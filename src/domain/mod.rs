//! The rules: who may do what, and what it means. Knows no HTTP and no GraphQL.

mod accounts;
pub mod bodies;
mod comments;
mod edges;
mod error;
mod feed;
mod follows;
mod hot;
mod likes;
mod membership;
mod rankings;

use std::{sync::Arc, time::Duration};

pub use bodies::{Comment, Note, User};
pub use edges::IdempotencyKey;
pub use error::{DomainError, DomainResult, Reason};
pub use hot::HotPlace;

use crate::{
    hub::Hub,
    store::{redis::Redis, sql::Db},
};
use accounts::Accounts;
use bodies::Bodies;
use membership::Memberships;
use rankings::Rankings;

/// Limits that an operator may set.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many others a user may follow.
    pub follows: u32,
    /// How long a mutation waits to hear its own event.
    pub reply_wait: Duration,
}

/// Everything that requests may do. Cheap to clone.
#[derive(Clone)]
pub struct Plaudit {
    inner: Arc<Inner>,
}

struct Inner {
    redis: Redis,
    db: Db,
    hub: Hub,
    limits: Limits,
    accounts: Accounts,
    memberships: Memberships,
    rankings: Rankings,
    users: Bodies<User>,
    notes: Bodies<Note>,
    comments: Bodies<Comment>,
}

impl Plaudit {
    pub fn new(redis: Redis, db: Db, hub: Hub, limits: Limits) -> Self {
        let inner = Inner {
            accounts: Accounts::new(redis.clone(), db.clone()),
            memberships: Memberships::new(redis.clone(), db.clone()),
            rankings: Rankings::new(redis.clone(), db.clone()),
            users: Bodies::new(redis.clone(), db.clone()),
            notes: Bodies::new(redis.clone(), db.clone()),
            comments: Bodies::new(redis.clone(), db.clone()),
            redis,
            db,
            hub,
            limits,
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    pub fn users(&self) -> &Bodies<User> {
        &self.inner.users
    }

    pub fn notes(&self) -> &Bodies<Note> {
        &self.inner.notes
    }

    pub fn comments(&self) -> &Bodies<Comment> {
        &self.inner.comments
    }
}
