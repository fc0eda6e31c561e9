//! Where PostgreSQL is: the server itself, a pooler in front of it for requests, the schema, and what its sessions must
//! have. The checks of the start find out what does not fit, and say what to change.

use std::{fs::File, str::FromStr, time::Duration};

use log::LevelFilter;
use sqlx::{
    ConnectOptions, Connection, PgConnection,
    postgres::{PgConnectOptions, PgSslMode},
};
use url::Url;

use super::session::{PIPELINE, REQUESTS, SessionSettings};
use crate::{
    StoreError, StoreResult,
    clock::{ClockDifference, ClockReading},
};
use plaudit_catalogue::primitives::SchemaName;

/// Time limit of a check at the start.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

/// A statement of the pipeline or of an import that takes longer is worth a line in the log, with its text: batches are
/// large, and sqlx' default is a second.
const SLOW: Duration = Duration::from_secs(5);

/// Parameters of a URL that name files, or hold their text.
const CERTIFICATE: [&str; 3] = ["sslrootcert", "sslcert", "sslkey"];

const POOLER: &str = "a pooler answers there, and the pipeline, migrations and LISTEN need PostgreSQL itself: name it by \
                      database_direct_url, and the pooler by database_url";
const STANDBY: &str = "this is a standby: name the primary, or promote it; a standby that answers reads is named by \
                       database_replica_url";
const STATEMENTS_LOST: &str = "the pooler does not keep prepared statements: use PgBouncer 1.21 or newer with \
                               max_prepared_statements = 200, or leave out database_direct_url and name \
                               PostgreSQL itself by database_url";

/// Error codes of a statement that another session prepared: it is not there, or another one is.
const OTHER_STATEMENT: [&str; 2] = ["26000", "42P05"];

/// What a connection to PostgreSQL found out.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// The major version.
    pub version: u32,
    /// Whether the connection has TLS.
    pub is_encrypted: bool,
    pub clock: ClockDifference,
}

/// How PostgreSQL is reached. Cheap to clone.
#[derive(Clone)]
pub struct SqlServer {
    direct: PgConnectOptions,
    /// Where requests go. A pooler in transaction mode gives each transaction another session, so it takes no settings
    /// of sessions: its login role must have them.
    pooler: Option<PgConnectOptions>,
    /// A streaming standby that answers reads of lists.
    replica: Option<PgConnectOptions>,
    pub(crate) schema: SchemaName,
}

impl SqlServer {
    /// `pooler`: where requests go, if not to PostgreSQL itself.
    ///
    /// # Errors
    /// [`StoreError::Misconfigured`] if a URL or a file that it names cannot be used.
    pub fn new(direct: &str, pooler: Option<&str>, schema: SchemaName) -> StoreResult<Self> {
        Ok(Self { direct: parse(direct)?, pooler: pooler.map(parse).transpose()?, replica: None, schema })
    }

    /// PostgreSQL itself, with the default schema.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn direct(url: &str) -> StoreResult<Self> {
        Self::new(url, None, SchemaName::default())
    }

    /// With a streaming standby for reads that may be some seconds old.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_replica(self, url: &str) -> StoreResult<Self> {
        Ok(Self { replica: Some(parse(url)?), ..self })
    }

    pub const fn has_pooler(&self) -> bool {
        self.pooler.is_some()
    }

    /// Of the connections of requests: through the pooler, if there is one.
    pub(crate) fn request_options(&self) -> PgConnectOptions {
        match &self.pooler {
            // PgBouncer refuses settings of sessions that it does not know, among them the one of digits.
            Some(pooler) => pooler.clone().extra_float_digits(None::<i8>),
            None => self.session(&REQUESTS),
        }
    }

    /// Of the connections of the pipeline, to PostgreSQL itself.
    pub(crate) fn pipeline_options(&self) -> PgConnectOptions {
        self.session(&PIPELINE).log_slow_statements(LevelFilter::Warn, SLOW)
    }

    /// Of the connections to the standby, if there is one.
    pub(crate) fn replica_options(&self, settings: &SessionSettings) -> Option<PgConnectOptions> {
        self.replica.as_ref().map(|replica| self.with_settings(replica, settings))
    }

    fn session(&self, settings: &SessionSettings) -> PgConnectOptions {
        self.with_settings(&self.direct, settings)
    }

    fn with_settings(&self, server: &PgConnectOptions, settings: &SessionSettings) -> PgConnectOptions {
        server.clone().extra_float_digits(None::<i8>).options(settings.with_schema(&self.schema))
    }

    /// Connects once, outside any pool, so that the error says what is wrong.
    ///
    /// # Errors
    /// PostgreSQL does not answer, or [`StoreError::Misconfigured`]: it is a standby or a pooler.
    pub async fn probe(&self) -> StoreResult<Probe> {
        in_time(async {
            let mut connection = self.pipeline_options().connect().await.map_err(refused_by_pooler)?;
            let asked = "SELECT current_setting('server_version_num')::int / 10000, pg_is_in_recovery(),
                                coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
                                (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
            let clock = ClockReading::begin();
            let (version, is_standby, is_encrypted, now): (i32, bool, bool, i64) =
                sqlx::query_as(asked).fetch_one(&mut connection).await?;
            if is_standby {
                return Err(StoreError::Misconfigured(STANDBY.to_owned()));
            }
            Ok(Probe { version: version as u32, is_encrypted, clock: clock.ends(now) })
        })
        .await
    }

    /// Whether the standby for reads answers; `None` if there is none.
    pub async fn probe_replica(&self) -> Option<StoreResult<()>> {
        let options = self.replica_options(&PIPELINE)?;
        Some(in_time(async { Ok(options.connect().await?.close().await?) }).await)
    }

    /// Checks that connections to PostgreSQL itself have sessions of their own, as the pipeline needs them.
    ///
    /// # Errors
    /// [`StoreError::Misconfigured`] if a pooler is there.
    pub async fn check_direct(&self) -> StoreResult<()> {
        in_time(async {
            let options = self.pipeline_options();
            let lacking = PIPELINE.lacking(&self.schema, &mut options.connect().await?).await?;
            // A pooler may also be configured to ignore the settings.
            if !lacking.is_empty() || shares_sessions(&options).await? {
                return Err(StoreError::Misconfigured(POOLER.to_owned()));
            }
            Ok(())
        })
        .await
    }

    /// Checks that the pooler's sessions are as requests need them, if there is a pooler.
    ///
    /// # Errors
    /// [`StoreError::Misconfigured`] says what to change.
    pub async fn check_pooler(&self) -> StoreResult<()> {
        if !self.has_pooler() {
            return Ok(());
        }
        in_time(async {
            let options = self.request_options();
            shares_sessions(&options).await.map_err(lost_statement)?;
            let mut connection = options.connect().await?;
            let lacking = REQUESTS.lacking(&self.schema, &mut connection).await?;
            if lacking.is_empty() { Ok(()) } else { Err(lacking_settings(&lacking, &mut connection).await?) }
        })
        .await
    }
}

/// Names the commands that give the login role what its sessions lack.
async fn lacking_settings(
    lacking: &[(&str, &str)],
    connection: &mut PgConnection,
) -> Result<StoreError, sqlx::Error> {
    let role: String = sqlx::query_scalar("SELECT quote_ident(current_user)").fetch_one(connection).await?;
    let commands: Vec<String> =
        lacking.iter().map(|(name, value)| format!("ALTER ROLE {role} SET {name} = '{value}';")).collect();
    Ok(StoreError::Misconfigured(format!(
        "the pooler's sessions lack settings that requests need: run `{}` on PostgreSQL, then RECONNECT on the pooler",
        commands.join(" ")
    )))
}

/// Whether two connections get the same session of PostgreSQL, or one of them gets two: a pooler in transaction mode.
async fn shares_sessions(options: &PgConnectOptions) -> Result<bool, sqlx::Error> {
    let (mut one, mut two) = (options.connect().await?, options.connect().await?);
    let first = session_of(&mut one).await?;
    let mut held = two.begin().await?;
    let other = session_of(&mut held).await?;
    let again = session_of(&mut one).await?;
    held.rollback().await?;
    Ok(other == first || again != first)
}

async fn session_of(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(connection).await
}

/// PgBouncer refuses connections with settings of sessions.
fn refused_by_pooler(error: sqlx::Error) -> StoreError {
    let is_refusal =
        matches!(&error, sqlx::Error::Database(refused) if refused.message().contains("startup parameter"));
    if is_refusal { StoreError::Misconfigured(POOLER.to_owned()) } else { error.into() }
}

fn lost_statement(error: sqlx::Error) -> StoreError {
    if has_code(&error, &OTHER_STATEMENT) {
        StoreError::Misconfigured(STATEMENTS_LOST.to_owned())
    } else {
        error.into()
    }
}

pub(crate) fn has_code(error: &sqlx::Error, codes: &[&str]) -> bool {
    matches!(error, sqlx::Error::Database(error) if error.code().is_some_and(|code| codes.contains(&&*code)))
}

pub(crate) async fn in_time<T>(check: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
    tokio::time::timeout(CHECK_TIMEOUT, check)
        .await
        .unwrap_or_else(|_| Err(StoreError::SqlUnreachable(format!("no answer within {CHECK_TIMEOUT:?}"))))
}

fn parse(url: &str) -> StoreResult<PgConnectOptions> {
    let options = PgConnectOptions::from_str(url)?.application_name("plaudit");
    let url = Url::parse(url).map_err(|error| StoreError::Misconfigured(error.to_string()))?;
    let is_file = |value: &str| !value.starts_with("-----BEGIN");
    let named = url.query_pairs().filter(|(name, value)| CERTIFICATE.contains(&&**name) && is_file(value));
    for (name, file) in named {
        File::open(&*file)
            .map_err(|error| StoreError::Misconfigured(format!("cannot read {name} {file}: {error}")))?;
        let is_checked = matches!(options.get_ssl_mode(), PgSslMode::VerifyCa | PgSslMode::VerifyFull);
        if name == "sslrootcert" && !is_checked {
            let text = "sslrootcert is set, and sslmode does not check it: set sslmode=verify-full";
            return Err(StoreError::Misconfigured(text.to_owned()));
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misconfigured(url: &str) -> String {
        match SqlServer::direct(url) {
            Err(StoreError::Misconfigured(text)) => text,
            other => panic!("{url}: {:?}", other.err()),
        }
    }

    #[test]
    fn a_url_that_cannot_be_used_is_refused_before_any_connection() {
        let missing = misconfigured("postgres://db/app?sslmode=verify-full&sslrootcert=/nowhere/ca.pem");
        assert!(missing.contains("sslrootcert /nowhere/ca.pem"), "{missing}");
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let unchecked = misconfigured(&format!("postgres://db/app?sslmode=require&sslrootcert={here}"));
        assert!(unchecked.contains("sslmode=verify-full"), "{unchecked}");
        misconfigured("postgres://db/app?sslmode=often");
    }
}
