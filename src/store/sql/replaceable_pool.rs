//! Time limits of statements, and what their outcomes say about PostgreSQL.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::{Duration, Instant},
};

use parking_lot::{Mutex, RwLock};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tokio::time::error::Elapsed;

use crate::store::{StoreError, StoreResult};

/// After so many statements in a row without an answer the pool is replaced: its connections may lead to a host
/// that vanished without closing them, and none of them would ever notice.
const UNANSWERED: u32 = 3;

/// A pool that can be replaced.
pub(super) struct Connections {
    pool: RwLock<PgPool>,
    options: PgPoolOptions,
    connect: PgConnectOptions,
    /// Of each statement, with the wait for a connection.
    timeout: Duration,
    unanswered: AtomicU32,
    /// When PostgreSQL last answered a statement of this pool.
    last_answer: Mutex<Option<Instant>>,
}

impl Connections {
    pub fn new(options: PgPoolOptions, connect: PgConnectOptions, timeout: Duration) -> Self {
        let pool = RwLock::new(options.clone().connect_lazy_with(connect.clone()));
        Self { pool, options, connect, timeout, unanswered: AtomicU32::new(0), last_answer: Mutex::new(None) }
    }

    pub fn pool(&self) -> PgPool {
        self.pool.read().clone()
    }

    /// The answer of one statement within the time limit.
    pub async fn answer_of<T>(
        &self,
        statement: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> StoreResult<T> {
        let began = Instant::now();
        // Boxed: the futures of resolvers contain this one on each level of a query, and may live on the stack.
        let answer = tokio::time::timeout(self.timeout, Box::pin(statement)).await;
        self.classify(answer, began)
    }

    /// What an answer, or none, says about PostgreSQL.
    fn classify<T>(&self, answer: Result<Result<T, sqlx::Error>, Elapsed>, began: Instant) -> StoreResult<T> {
        match answer {
            Ok(Err(sqlx::Error::PoolTimedOut)) | Err(_) => {
                if self.unanswered.fetch_add(1, Relaxed) + 1 >= UNANSWERED {
                    self.replace_pool();
                }
                let why = format!("no answer within {:?}", self.timeout);
                // Other statements were answered meanwhile: this one waited for a connection, or for a lock.
                let is_busy = *self.last_answer.lock() > Some(began);
                Err(if is_busy { StoreError::SqlBusy(why) } else { StoreError::SqlUnreachable(why) })
            }
            Ok(result) => {
                self.unanswered.store(0, Relaxed);
                let result = result.map_err(StoreError::from);
                if !matches!(&result, Err(error) if error.is_silence()) {
                    *self.last_answer.lock() = Some(Instant::now());
                }
                result
            }
        }
    }

    fn replace_pool(&self) {
        self.unanswered.store(0, Relaxed);
        *self.pool.write() = self.options.clone().connect_lazy_with(self.connect.clone());
    }
}
