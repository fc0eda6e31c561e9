//! The settings of PostgreSQL's sessions: time limits, and how plans are chosen. A connection to PostgreSQL
//! itself brings them; the sessions of a pooler have them from their login role.

use sqlx::PgConnection;

use plaudit_catalogue::primitives::SchemaName;

/// Names and values, as `pg_settings` shows them: times in milliseconds.
pub(crate) struct SessionSettings(&'static [(&'static str, &'static str)]);

/// PostgreSQL ends a transaction whose process stopped in the middle of it: it holds locks that others wait for.
const NO_IDLE_TRANSACTIONS: (&str, &str) = ("idle_in_transaction_session_timeout", "5000");

/// Each statement is planned once per connection. By itself PostgreSQL plans a look-up of few keys at each
/// execution, which takes several times as long as the look-up: it estimates ten keys for an array that it does
/// not know, and so takes a plan for any array to be more expensive than one for these keys. The other settings
/// leave both the same plan.
const PLANNED_ONCE: (&str, &str) = ("plan_cache_mode", "force_generic_plan");

/// A plan may be older than the rows of its tables, so none may depend on their number. And rows that a statement names
/// are looked up, and locked, in the order in which it names them, so that two batches cannot deadlock.
const NO_TABLE_SCANS: (&str, &str) = ("enable_seqscan", "off");

/// Plans that scan an index and stop when the page is full. With its defaults PostgreSQL prefers to collect and sort a
/// list that it estimates to be short, or to scan a whole table for a join.
pub(crate) const REQUESTS: SessionSettings = SessionSettings(&[
    ("statement_timeout", "1000"),
    NO_IDLE_TRANSACTIONS,
    PLANNED_ONCE,
    NO_TABLE_SCANS,
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_sort", "off"),
    ("random_page_cost", "1.1"),
    // Compiling takes longer than any statement here. With these settings PostgreSQL would compile plans
    // that need a sort all the same, and histories over many partitions: it estimates them as expensive.
    ("jit", "off"),
]);

/// Plans for a thousand look-ups by key; with its defaults PostgreSQL reads whole tables instead. The login
/// role may have the settings of [`REQUESTS`], so those that differ here are named, also where they are the default.
pub(crate) const PIPELINE: SessionSettings = SessionSettings(&[
    ("statement_timeout", "15000"),
    NO_IDLE_TRANSACTIONS,
    PLANNED_ONCE,
    NO_TABLE_SCANS,
    ("enable_bitmapscan", "on"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_sort", "on"),
    ("random_page_cost", "1.1"),
    ("jit", "off"), // compiling takes longer than a batch
]);

impl SessionSettings {
    /// The settings of a session whose tables are in `schema`.
    pub fn with_schema<'a>(
        &self,
        schema: &'a SchemaName,
    ) -> impl Iterator<Item = (&'static str, &'a str)> + use<'a> {
        self.0.iter().copied().chain([("search_path", schema.as_str())])
    }

    /// Those that the session does not have.
    pub async fn lacking<'a>(
        &self,
        schema: &'a SchemaName,
        connection: &mut PgConnection,
    ) -> Result<Vec<(&'static str, &'a str)>, sqlx::Error> {
        let names: Vec<&str> = self.with_schema(schema).map(|(name, _)| name).collect();
        let found: Vec<(String, String)> =
            sqlx::query_as("SELECT name, setting FROM pg_settings WHERE name = ANY($1)")
                .bind(names)
                .fetch_all(connection)
                .await?;
        let has = |(name, value): &(&str, &str)| {
            found.iter().any(|(found, setting)| found == name && setting == value)
        };
        Ok(self.with_schema(schema).filter(|setting| !has(setting)).collect())
    }
}
