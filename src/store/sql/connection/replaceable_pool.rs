//! Connection pool that replaces itself when PostgreSQL no longer answers. Each statement ends within the time limit;
//! its error says whether PostgreSQL is unreachable or busy.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::{Duration, Instant},
};

use parking_lot::{Mutex, RwLock};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tokio::time::error::Elapsed;

use crate::{StoreError, StoreResult};

/// Statements in a row without an answer after which the pool is replaced. Its connections may lead to a host that
/// vanished without closing them; such connections would stay in the pool.
const UNANSWERED: u32 = 3;

pub(crate) struct ReplaceablePool {
    pool: RwLock<PgPool>,
    options: PgPoolOptions,
    connect: PgConnectOptions,
    /// For each statement, including the wait for a connection.
    timeout: Duration,
    unanswered: AtomicU32,
    /// When PostgreSQL last answered a statement of this pool.
    last_answer: Mutex<Option<Instant>>,
}

impl ReplaceablePool {
    pub fn new(options: PgPoolOptions, connect: PgConnectOptions, timeout: Duration) -> Self {
        let pool = RwLock::new(options.clone().connect_lazy_with(connect.clone()));
        Self { pool, options, connect, timeout, unanswered: AtomicU32::new(0), last_answer: Mutex::new(None) }
    }

    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    pub fn current(&self) -> PgPool {
        self.pool.read().clone()
    }

    /// Awaits one statement within the time limit.
    pub async fn run<T>(
        &self,
        timeout: Duration,
        statement: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> StoreResult<T> {
        let began = Instant::now();
        // Boxed because the futures of resolvers contain this one at each level of a query, and may be on the stack.
        let answer = tokio::time::timeout(timeout, Box::pin(statement)).await;
        self.classify(answer, began, timeout)
    }

    /// Distinguishes a busy PostgreSQL from an unreachable one. Replaces the pool after too many timeouts.
    fn classify<T>(
        &self,
        answer: Result<Result<T, sqlx::Error>, Elapsed>,
        began: Instant,
        timeout: Duration,
    ) -> StoreResult<T> {
        match answer {
            Ok(Err(sqlx::Error::PoolTimedOut)) | Err(_) => {
                let why = format!("no answer within {timeout:?}");
                // If another statement was answered meanwhile, this one waited for a connection or for a lock.
                if *self.last_answer.lock() > Some(began) {
                    return Err(StoreError::SqlBusy(why));
                }
                if self.unanswered.fetch_add(1, Relaxed) + 1 >= UNANSWERED {
                    self.replace_pool();
                }
                Err(StoreError::SqlUnreachable(why))
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
