//! Connection pools for requests and for the pipeline: their time limits and the settings of their sessions.

use std::{
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant},
};

use metrics::Histogram;
use sqlx::{
    Connection, PgConnection,
    postgres::{PgConnectOptions, PgPool, PgPoolOptions},
};

use super::{
    replaceable_pool::ReplaceablePool,
    timeline::{Timeline, TimelineWatch},
};
use crate::store::{
    StoreError, StoreResult,
    breaker::{Breaker, WaitPolicy},
    tally,
};

const SECONDS: &str = "plaudit_database_seconds";

/// Time limit of a request's statement, including the wait for a connection; also the session's `statement_timeout`.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(1_000);
const PIPELINE_TIMEOUT: Duration = Duration::from_secs(15);
/// The pipeline uses a connection without a test if it answered within this time: a statement on a broken one fails and
/// is repeated. The test is a round trip before each statement; the pool makes another one after it in any case.
const UNTESTED: Duration = Duration::from_secs(2);
/// PostgreSQL ends a transaction whose process stopped in the middle of it: it holds locks that others wait for.
const NO_IDLE_TRANSACTIONS: (&str, &str) = ("idle_in_transaction_session_timeout", "5s");

/// A connection pool. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    pool: Arc<ReplaceablePool>,
    breaker: Arc<Breaker>,
    policy: WaitPolicy,
    /// Whether transactions write events of the stream.
    records_events: bool,
    /// Duration of statements, including the wait for a connection.
    seconds: Histogram,
    timeline: TimelineWatch,
}

impl Db {
    /// For requests: short time limits, and plans that scan an index and stop when the page is full. With its defaults
    /// PostgreSQL prefers to collect and sort a list that it estimates to be short, or to scan a whole table for a
    /// join. Connects lazily: if PostgreSQL is unreachable, the first statement fails.
    pub fn for_requests(url: &str, connections: u32) -> StoreResult<Self> {
        let settings = [
            ("enable_bitmapscan", "off"),
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
            ("enable_sort", "off"),
            ("random_page_cost", "1.1"),
            // Compiling takes longer than any statement here. With these settings PostgreSQL would compile plans
            // that need a sort all the same, and histories over many partitions: it estimates them as expensive.
            ("jit", "off"),
            NO_IDLE_TRANSACTIONS,
        ];
        Self::new(url, connections, REQUEST_TIMEOUT, WaitPolicy::FailFast, &settings)
    }

    /// For the pipeline: longer time limits, and plans for a thousand look-ups by key (with its defaults PostgreSQL
    /// reads whole tables instead). The breaker refuses none of its calls.
    pub fn for_pipeline(url: &str, connections: u32) -> StoreResult<Self> {
        let settings = [
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
            ("random_page_cost", "1.1"),
            ("jit", "off"), // compiling takes longer than a batch
            NO_IDLE_TRANSACTIONS,
        ];
        Self::new(url, connections, PIPELINE_TIMEOUT, WaitPolicy::Wait, &settings)
    }

    fn new(
        url: &str,
        connections: u32,
        timeout: Duration,
        policy: WaitPolicy,
        settings: &[(&str, &str)],
    ) -> StoreResult<Self> {
        let statement_timeout = format!("{}ms", timeout.as_millis());
        let connect = PgConnectOptions::from_str(url)?
            .application_name("plaudit")
            .options([("statement_timeout", statement_timeout.as_str())])
            .options(settings.iter().copied());
        let options = PgPoolOptions::new().max_connections(connections).acquire_timeout(timeout);
        let options = match policy {
            WaitPolicy::FailFast => options,
            WaitPolicy::Wait => without_tests_of_recent(options),
        };
        let timeline = TimelineWatch::default();
        let options = timeline.of_connections(options);
        Ok(Self {
            pool: Arc::new(ReplaceablePool::new(options, connect, timeout)),
            breaker: Arc::new(Breaker::new("PostgreSQL")),
            policy,
            records_events: false,
            seconds: policy.seconds(SECONDS),
            timeline,
        })
    }

    /// The same pool for calls that must reach PostgreSQL even while the breaker refuses those of requests: they find
    /// out whether it is back.
    pub fn patient(&self) -> Self {
        Self { policy: WaitPolicy::Wait, seconds: WaitPolicy::Wait.seconds(SECONDS), ..self.clone() }
    }

    /// Uses the breaker of another pool of the same PostgreSQL.
    pub fn beside(self, other: &Self) -> Self {
        Self { breaker: Arc::clone(&other.breaker), ..self }
    }

    /// Whether its transactions write events of the stream. By default they do not.
    #[must_use]
    pub fn with_events(self, records_events: bool) -> Self {
        Self { records_events, ..self }
    }

    pub const fn records_events(&self) -> bool {
        self.records_events
    }

    /// Connects once, outside any pool, so that the error says what is wrong. Returns the server's major version.
    pub async fn probe(url: &str) -> StoreResult<u32> {
        let probe = async {
            let mut connection = PgConnection::connect(url).await?;
            let version = "SELECT current_setting('server_version_num')::int / 10000";
            sqlx::query_scalar::<_, i32>(version).fetch_one(&mut connection).await
        };
        match tokio::time::timeout(REQUEST_TIMEOUT, probe).await {
            Ok(version) => Ok(version? as u32),
            Err(_) => Err(StoreError::SqlUnreachable(format!("no answer within {REQUEST_TIMEOUT:?}"))),
        }
    }

    /// Runs one statement within the time limit, which also bounds the wait for a server that accepts the statement
    /// and does not answer.
    ///
    /// # Errors
    /// For requests: at once while the breaker is open.
    pub(super) async fn run<T>(
        &self,
        statement: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> StoreResult<T> {
        let _turn = tally::turn_of_statement().await;
        let admitted = self.breaker.admit(self.policy)?;
        tally::sql_statement();
        let began = Instant::now();
        let answer = self.pool.run(statement).await;
        self.seconds.record(began.elapsed());
        admitted.ended(answer)
    }

    /// The timeline of the newest connection; `None` before the first one.
    pub fn timeline(&self) -> Option<Timeline> {
        self.timeline.latest()
    }

    /// Calls back when a new connection is on another timeline than the last one. Only the first callback is kept.
    pub fn on_new_timeline(&self, callback: impl Fn() + Send + Sync + 'static) {
        self.timeline.on_change(callback);
    }

    /// How many connections it has at most.
    pub fn connections(&self) -> u32 {
        self.pool.current().options().get_max_connections()
    }

    /// The time limit of a statement.
    pub(super) fn timeout(&self) -> Duration {
        self.pool.timeout()
    }

    pub(super) fn pool(&self) -> PgPool {
        self.pool.current()
    }
}

/// Tests a connection before its use only if it was unused for [`UNTESTED`].
fn without_tests_of_recent(options: PgPoolOptions) -> PgPoolOptions {
    options.test_before_acquire(false).before_acquire(|connection, state| {
        Box::pin(async move {
            if state.idle_for > UNTESTED {
                connection.ping().await?;
            }
            Ok(true)
        })
    })
}
