//! PostgreSQL: one function per statement.

mod activity;
mod announcements;
mod backfills;
mod coins;
mod comments;
mod counts;
mod dead;
mod edges;
mod explain;
mod groups;
mod idempotency;
mod inbox;
mod installation;
mod invalidations;
mod lists;
mod moderation;
mod notes;
mod rankings;
mod ratings;
mod recount;
mod repairs;
pub mod seed;
mod shards;
mod threads;
mod times;
mod touched;
mod users;

use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use metrics::Histogram;
use parking_lot::{Mutex, RwLock};
use sqlx::{
    Connection, PgConnection, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPool, PgPoolOptions},
};

pub use activity::{History, HistoryQuery, HistoryStep, Step, add_activity, day_of};
pub use announcements::{Announcements, Channel};
pub use backfills::{
    Backfill, BackfillEdge, BackfillKind, RemovedComment, add_backfill, count_comments_of, count_edges_of,
    edges_after, next_backfill, remove_comments_after, save_backfill, set_included,
};
pub use coins::{Grant, add_grant};
pub use comments::{
    CommentHeader, NewComment, add_comment, comment_header, live_replies, lock_comments, remove_comment,
    set_placeholders,
};
pub use counts::{
    CountsSnapshot, add_and_read_totals, add_in_order, add_totals, lock_all_totals, lock_totals, move_totals,
};
pub use dead::{
    DeadEvent, DeadState, GivenUp, add_dead_event, decide_dead_event, edge_changed_after, lock_dead_event,
    supersede_dead_events,
};
pub use edges::{ChangedEdge, EdgeState, MemberPage, switch_off, switch_on, switch_on_again};
pub use explain::{EdgeRowState, HistoryRow, PendingInvalidation};
pub use groups::{Group, add_group};
pub use idempotency::{UsedKey, keep_result, take_key};
pub use inbox::{InboxEntry, add_direct_message, add_inbox_entries};
pub use installation::Installation;
pub use invalidations::{DueInvalidations, add_invalidations, add_own_invalidations, add_set_invalidations};
pub use moderation::{
    Decided, Decision, QueueState, QueuedComment, Verdict, count_comment, decide, lock_totals_of,
};
pub use notes::{Note, NoteState, add_note, lock_note, present_notes, remove_note, set_featured};
pub use ratings::{rating, set_rating};
pub use recount::{
    EntityRecount, Recount, add_missing_totals, corrections, delete_orphaned_totals, recount, took_too_long,
};
pub use repairs::{Nightly, Repair, RepairRow, add_repairs};
pub use shards::{Lease, PersistedState, advance_offset, lock_removals, lock_removals_shared};
pub use threads::{Comment, CommentSlice, CommentSort, CommentState, CommentThread};
pub use users::{User, lock_user, set_hidden};

use super::{
    StoreError, StoreResult,
    breaker::{Breaker, WaitPolicy},
    tally,
};

/// A transaction in which the persister writes a batch.
pub type Tx = Transaction<'static, Postgres>;

const SECONDS: &str = "plaudit_database_seconds";

/// How long a request waits for PostgreSQL: for a connection and for each statement.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(1_000);
const PIPELINE_TIMEOUT: Duration = Duration::from_secs(15);
/// A transaction whose process has stopped in the middle is ended by the server: others wait for its locks.
const NO_IDLE_TRANSACTIONS: (&str, &str) = ("idle_in_transaction_session_timeout", "5s");

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!();

/// After so many unanswered statements in a row the pool is replaced: its connections may lead to a host that
/// is gone without a word, and none of them would ever notice.
const UNANSWERED: u32 = 3;

/// A pool of connections. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    pool: Arc<RwLock<PgPool>>,
    unanswered: Arc<AtomicU32>,
    /// When PostgreSQL last answered anybody here.
    last_answer: Arc<Mutex<Option<Instant>>>,
    breaker: Arc<Breaker>,
    policy: WaitPolicy,
    /// How long statements take, with the wait for a connection.
    seconds: Histogram,
    options: PgPoolOptions,
    connect: PgConnectOptions,
    timeout: Duration,
}

impl Db {
    /// For requests: short waits, and plans that walk along an index and stop when the page is full. With its
    /// defaults PostgreSQL rather collects and sorts all of a list that it takes for short, or joins from the
    /// end of a whole table. Connects lazily: an unreachable PostgreSQL shows at the first statement.
    pub fn for_requests(url: &str, connections: u32) -> StoreResult<Self> {
        let settings = [
            ("enable_bitmapscan", "off"),
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
            ("enable_sort", "off"),
            ("random_page_cost", "1.1"),
            // Compiling takes longer than any statement here; what needs a sort all the same counts as
            // "expensive" now, and so does a history over many partitions.
            ("jit", "off"),
            NO_IDLE_TRANSACTIONS,
        ];
        Self::new(url, connections, REQUEST_TIMEOUT, WaitPolicy::FailFast, &settings)
    }

    /// For the pipeline: longer waits, and plans that suit a thousand look-ups by key (with its defaults
    /// PostgreSQL reads whole tables instead). Outages are waited out: no call is refused beforehand.
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
        let pool = options.clone().connect_lazy_with(connect.clone());
        Ok(Self {
            pool: Arc::new(RwLock::new(pool)),
            unanswered: Arc::default(),
            last_answer: Arc::default(),
            breaker: Arc::new(Breaker::new("PostgreSQL")),
            policy,
            seconds: policy.seconds(SECONDS),
            options,
            connect,
            timeout,
        })
    }

    /// The same pool, for whoever has to find out whether PostgreSQL is there: calls are made also while
    /// requests leave it alone.
    pub fn patient(&self) -> Self {
        Self { policy: WaitPolicy::Wait, seconds: WaitPolicy::Wait.seconds(SECONDS), ..self.clone() }
    }

    /// For another pool of the same PostgreSQL: what one learns of outages, the other knows.
    pub fn beside(self, other: &Self) -> Self {
        Self { breaker: Arc::clone(&other.breaker), ..self }
    }

    /// Brings the schema up to date. Safe to run from several processes at once.
    pub async fn migrate(&self) -> StoreResult<()> {
        MIGRATIONS.run(&self.pool()).await.map_err(|error| StoreError::Unexpected(error.to_string()))
    }

    /// Connects once, outside any pool, so that the error says what is wrong. Returns the server's major
    /// version.
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

    pub async fn begin(&self) -> StoreResult<Tx> {
        let pool = self.pool();
        self.run(pool.begin()).await
    }

    /// Runs one statement, bounded in time: also when the server is there but says nothing.
    ///
    /// # Errors
    /// At once while PostgreSQL does not answer, for requests.
    async fn run<T>(&self, statement: impl Future<Output = Result<T, sqlx::Error>>) -> StoreResult<T> {
        let admitted = self.breaker.admit(self.policy)?;
        tally::sql_statement();
        let began = Instant::now();
        // Boxed: the futures of resolvers hold this one on each level of a query, and live on the stack at times.
        let answer = tokio::time::timeout(self.timeout, Box::pin(statement)).await;
        self.seconds.record(began.elapsed());
        admitted.ended(self.judge(answer, began))
    }

    /// What an answer, or none, says about PostgreSQL.
    fn judge<T>(
        &self,
        answer: Result<Result<T, sqlx::Error>, tokio::time::error::Elapsed>,
        began: Instant,
    ) -> StoreResult<T> {
        match answer {
            Ok(Err(sqlx::Error::PoolTimedOut)) | Err(_) => {
                if self.unanswered.fetch_add(1, Relaxed) + 1 >= UNANSWERED {
                    self.replace_pool();
                }
                let why = format!("no answer within {:?}", self.timeout);
                // Others were answered meanwhile: this one had to wait for a connection, or for a lock.
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

    fn pool(&self) -> PgPool {
        self.pool.read().clone()
    }
}

/// # Errors
/// After any error the commit may or may not have happened.
pub async fn commit(db: &Db, tx: Tx) -> StoreResult<()> {
    db.run(tx.commit()).await
}

/// A query whose text is put together from constants of the catalogue only.
fn from_catalogue(sql: String) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(sql)
}
