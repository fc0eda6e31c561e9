//! Connection pools for requests and for the pipeline: their time limits and the settings of their sessions.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use metrics::Histogram;
use parking_lot::Mutex;
use sqlx::{
    Connection,
    postgres::{PgPool, PgPoolOptions},
};

use super::{
    replaceable_pool::ReplaceablePool,
    replica_progress::ReplicaProgress,
    server::SqlServer,
    session::{PIPELINE, REQUESTS, SessionSettings},
    timeline::{Timeline, TimelineWatch, begin_timeline},
};
use crate::{
    StoreResult,
    breaker::{Breaker, WaitPolicy},
    coalescer::Turns,
    tally,
};

const SECONDS: &str = "plaudit_database_seconds";

/// Time limit of a request's statement, including the wait for a connection; also the session's `statement_timeout`.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(1_000);
/// For a statement that finds out whether PostgreSQL is back: a request that goes on without it may send several, one
/// after the other, within its own time limit.
const PROBE_TIMEOUT: Duration = Duration::from_millis(250);
const PIPELINE_TIMEOUT: Duration = Duration::from_secs(15);
/// The pipeline uses a connection without a test if it answered within this time: a statement on a broken one fails and
/// is repeated. The test is a round trip before each statement; the pool makes another one after it in any case.
const UNTESTED: Duration = Duration::from_secs(2);
/// Connections that leases have beside the others: a renewal must not wait for long transactions.
pub const LEASE_CONNECTIONS: u32 = 2;
/// How often the timeline is read.
const TIMELINE_EVERY: Duration = Duration::from_secs(1);

/// How many connections read rows at once that Redis usually answers for.
const ROW_READS: usize = 4;

impl SqlServer {
    /// For requests: short time limits. Connects lazily: if PostgreSQL is unreachable, the first statement fails.
    pub fn for_requests(&self, connections: u32) -> Db {
        let timeline = TimelineWatch::default();
        let options = pool_options(connections, REQUEST_TIMEOUT, &timeline);
        let pool = ReplaceablePool::new(options, self.request_options(), REQUEST_TIMEOUT);
        let replica = self.replica(&REQUESTS, connections, REQUEST_TIMEOUT);
        let db = Db::of(pool, timeline, WaitPolicy::FailFast, "PostgreSQL");
        Db { outlives_timelines: self.has_pooler(), replica, ..db }
    }

    /// For the pipeline: longer time limits, and [`LEASE_CONNECTIONS`] more for its leases. The breaker refuses none of
    /// its calls.
    pub fn for_pipeline(&self, connections: u32) -> Db {
        let timeline = TimelineWatch::default();
        let pool = |connections| {
            let options = pool_options(connections, PIPELINE_TIMEOUT, &timeline);
            ReplaceablePool::new(without_tests_of_recent(options), self.pipeline_options(), PIPELINE_TIMEOUT)
        };
        let (work, leases) = (pool(connections), pool(LEASE_CONNECTIONS));
        let replica = self.replica(&PIPELINE, connections, PIPELINE_TIMEOUT);
        Db {
            leases: Some(Arc::new(leases)),
            replica,
            ..Db::of(work, timeline, WaitPolicy::Wait, "PostgreSQL")
        }
    }

    /// For a check: one connection, whose transactions PostgreSQL lets write nothing.
    pub fn for_reading(&self) -> Db {
        let options = PgPoolOptions::new().max_connections(1).acquire_timeout(REQUEST_TIMEOUT);
        let connect = self.pipeline_options().options([("default_transaction_read_only", "on")]);
        let pool = ReplaceablePool::new(options, connect, REQUEST_TIMEOUT);
        Db::of(pool, TimelineWatch::default(), WaitPolicy::Wait, "PostgreSQL")
    }

    /// Its connections begin no timeline: that writes, and a standby does not.
    fn replica(
        &self,
        settings: &SessionSettings,
        connections: u32,
        timeout: Duration,
    ) -> Option<Arc<Replica>> {
        let connect = self.replica_options(settings)?;
        let options = PgPoolOptions::new().max_connections(connections).acquire_timeout(timeout);
        let pool = ReplaceablePool::new(options, connect, timeout);
        let db = Db::of(pool, TimelineWatch::default(), WaitPolicy::FailFast, "replica of PostgreSQL");
        Some(Arc::new(Replica { db, progress: Mutex::default() }))
    }
}

fn pool_options(connections: u32, timeout: Duration, timeline: &TimelineWatch) -> PgPoolOptions {
    timeline.of_connections(PgPoolOptions::new().max_connections(connections).acquire_timeout(timeout))
}

/// A standby for reads.
pub(crate) struct Replica {
    pub db: Db,
    pub progress: Mutex<ReplicaProgress>,
}

/// A connection pool. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    pool: Arc<ReplaceablePool>,
    /// Of the leases; requests have none.
    leases: Option<Arc<ReplaceablePool>>,
    /// For requests that may read there.
    replica: Option<Arc<Replica>>,
    /// Whether connections stay when PostgreSQL behind them is another one: a pooler's do.
    outlives_timelines: bool,
    breaker: Arc<Breaker>,
    policy: WaitPolicy,
    /// Whether transactions write events of the stream.
    records_events: bool,
    /// Duration of statements, including the wait for a connection.
    seconds: Histogram,
    timeline: TimelineWatch,
    row_turns: Turns,
}

impl Db {
    /// As [`SqlServer::for_requests`], for PostgreSQL at this URL.
    pub fn for_requests(url: &str, connections: u32) -> StoreResult<Self> {
        Ok(SqlServer::direct(url)?.for_requests(connections))
    }

    /// As [`SqlServer::for_pipeline`], for PostgreSQL at this URL.
    pub fn for_pipeline(url: &str, connections: u32) -> StoreResult<Self> {
        Ok(SqlServer::direct(url)?.for_pipeline(connections))
    }

    /// `store`: its name in errors and metrics.
    fn of(pool: ReplaceablePool, timeline: TimelineWatch, policy: WaitPolicy, store: &'static str) -> Self {
        Self {
            pool: Arc::new(pool),
            leases: None,
            replica: None,
            outlives_timelines: false,
            breaker: Arc::new(Breaker::new(store)),
            policy,
            records_events: false,
            seconds: policy.seconds(SECONDS),
            timeline,
            row_turns: Turns::new(ROW_READS),
        }
    }

    /// Turns of reads of what Redis answers as long as it is there, and of what it never knows. They take only some of
    /// the connections.
    pub const fn row_turns(&self) -> &Turns {
        &self.row_turns
    }

    /// The same PostgreSQL for statements of leases.
    pub(crate) fn leases(&self) -> Self {
        Self { pool: Arc::clone(self.leases.as_ref().unwrap_or(&self.pool)), ..self.clone() }
    }

    pub(crate) fn replica(&self) -> Option<&Replica> {
        self.replica.as_deref()
    }

    /// The same pool for calls that must reach PostgreSQL even while the breaker refuses calls of requests: they find
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

    /// Runs one statement within the time limit, which also bounds the wait for a server that accepts the statement
    /// and does not answer.
    ///
    /// # Errors
    /// For requests: at once while the breaker is open.
    pub(crate) async fn run<T>(
        &self,
        statement: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> StoreResult<T> {
        let _turn = tally::turn_of_statement().await;
        let admitted = self.breaker.admit(self.policy)?;
        tally::sql_statement();
        let began = Instant::now();
        let timeout = if admitted.is_probe() { PROBE_TIMEOUT } else { self.pool.timeout() };
        let answer = self.pool.run(timeout, statement).await;
        self.seconds.record(began.elapsed());
        tally::sql_answered(began, answer.is_err());
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

    /// Whether a transaction must itself make sure that sequences give no id that was given before: its connection may
    /// be older than the timeline.
    pub(crate) const fn outlives_timelines(&self) -> bool {
        self.outlives_timelines
    }

    /// Notices new timelines for as long as it is polled: connections may outlive them, and requests that Redis answers
    /// need none.
    pub async fn watch_timeline(&self) {
        let db = self.patient();
        loop {
            let begun = async {
                let mut connection = db.pool().acquire().await?;
                begin_timeline(&mut connection).await
            };
            match db.run(begun).await {
                Ok(Some(timeline)) => db.timeline.saw(timeline),
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "cannot read the timeline"),
            }
            tokio::time::sleep(TIMELINE_EVERY).await;
        }
    }

    /// How many connections it has at most.
    pub fn connections(&self) -> u32 {
        self.pool.current().options().get_max_connections()
    }

    /// The time limit of a statement.
    pub(crate) fn timeout(&self) -> Duration {
        self.pool.timeout()
    }

    pub(crate) fn pool(&self) -> PgPool {
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
