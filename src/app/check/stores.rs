//! Read-only start-up checks of both stores: the steps of a start in their order, without those that write.

use chrono::{DateTime, SecondsFormat, Utc};
use plaudit_embedded_stores::DataDir;

use super::{Findings, capacity, managed};
use crate::app::{
    AppError,
    address::{address, until_reachable},
    database::{DatabaseServer, other_schema_advice},
    one_redis,
    redis_server::{check_redis, first_shards, open_redis, redis_error},
    stores::url,
};
use plaudit_catalogue::settings::{ProcessRole, Settings};
use plaudit_store::sql::{
    Db, Probe,
    connection::{migration::MigrationState, schema::SchemaState},
    ownership::installation::{self, TimelineBegun},
};

/// An installation as PostgreSQL knows it.
struct Known {
    db: Db,
    /// `None` before the first start.
    installation: Option<(String, plaudit_catalogue::primitives::ShardCount)>,
}

/// The addresses of both stores.
pub struct StoreAddresses {
    database: DatabaseServer,
    redis_url: String,
    /// What to do about a database of another version.
    advice: String,
}

/// Reads the URLs, and the certificates that they name.
pub fn addresses(settings: &Settings, findings: &mut Findings) -> Option<StoreAddresses> {
    let data_dir = findings
        .result("data directory", DataDir::at(&settings.location.data_dir).map_err(AppError::from))?;
    let database = DatabaseServer::of(&settings.database, || Ok(data_dir.database_url()))
        .and_then(|server| server.with_replica(&settings.replica));
    let database = findings.result("PostgreSQL", database);
    let redis_url = url(settings.redis.redis_url.as_ref(), || data_dir.redis_url());
    let shards = first_shards(&settings.pipeline, &redis_url);
    let opened = open_redis(&settings.redis, &redis_url, shards);
    findings.result("Redis", opened)?;
    let advice = other_schema_advice(settings.database.database_url.as_ref(), &data_dir);
    Some(StoreAddresses { database: database?, redis_url, advice })
}

/// Asks both stores.
pub async fn check(settings: &Settings, addresses: StoreAddresses, findings: &mut Findings) {
    let data_dir = DataDir::at(&settings.location.data_dir).ok();
    let runs_here = |has: fn(&DataDir) -> bool| data_dir.as_ref().is_some_and(has);
    let not_yet = "the embedded one does not run; `plaudit serve` starts it";
    let known = if settings.database.database_url.is_some() || runs_here(DataDir::has_postgres) {
        postgresql(settings, &addresses, findings).await
    } else {
        findings.well("PostgreSQL", not_yet);
        None
    };
    if settings.redis.redis_url.is_some() || runs_here(DataDir::has_redis) {
        redis(settings, &addresses, known, findings).await;
    } else {
        findings.well("Redis", not_yet);
    }
}

async fn postgresql(
    settings: &Settings,
    addresses: &StoreAddresses,
    findings: &mut Findings,
) -> Option<Known> {
    let server = &addresses.database;
    let Probe { version, is_encrypted, clock } = findings.result("PostgreSQL", server.probe().await)?;
    let tls = if is_encrypted { "with" } else { "without" };
    findings.well("PostgreSQL", format!("version {version} at {}, {tls} TLS", server.address()));
    if let Some(advice) = clock.advice("PostgreSQL") {
        findings.warning("clock", advice);
    }
    if settings.runs(ProcessRole::Api) && findings.result("pooler", server.check_pooler().await).is_none() {
        return None;
    }
    if settings.database.database_url.is_some() {
        capacity::postgresql(settings, server, findings).await;
    }
    match server.sql.probe_replica().await {
        Some(Ok(())) => findings.well("replica", "answers"),
        Some(Err(error)) => {
            findings.warning("replica", format!("{error}: until it answers, PostgreSQL itself is read"));
        }
        None => {}
    }
    let state = findings.result("rights", server.schema_state().await)?;
    let schema = &settings.database.database_schema;
    if state == SchemaState::Missing {
        findings.well("rights", format!("the schema {schema} does not exist, and may be created"));
        return Some(Known { db: server.sql.for_reading(), installation: None });
    }
    findings.well("rights", format!("tables may be created in the schema {schema}"));
    let migrations = findings.result("migrations", server.migration_state(&addresses.advice).await)?;
    match migrations {
        MigrationState::Empty => findings.well("migrations", "no tables yet; `plaudit serve` creates them"),
        MigrationState::Current => findings.well("migrations", "none is pending"),
        MigrationState::Pending(count) => findings.warning(
            "migrations",
            format!("{count} are pending: `plaudit serve` runs them at its start, `plaudit migrate` now"),
        ),
    }
    let db = server.sql.for_reading();
    let installation = installation::known_installation(&db).await.map_err(AppError::from);
    let installation = findings.result("installation", installation)?;
    if migrations == MigrationState::Current {
        timeline(&db, findings).await?;
    }
    Some(Known { db, installation })
}

fn second(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Whether PostgreSQL was restored, or a standby promoted. `None` if that cannot be read.
async fn timeline(db: &Db, findings: &mut Findings) -> Option<()> {
    let begun = installation::timeline_begun(db).await.map_err(AppError::from);
    match findings.result("timeline", begun)? {
        Some(TimelineBegun { is_new: true, .. }) => findings.warning(
            "timeline",
            "PostgreSQL was restored, or a standby was promoted: `plaudit serve` moves ids and versions on; erase again \
             who was erased since the backup, with `plaudit erase --file`",
        ),
        Some(TimelineBegun { since, from: Some(from), .. }) => findings.well(
            "timeline",
            format!("since {}, when PostgreSQL was restored, or a standby promoted, with the rows of {}", second(since), second(from)),
        ),
        _ => {}
    }
    Some(())
}

async fn redis(
    settings: &Settings,
    addresses: &StoreAddresses,
    known: Option<Known>,
    findings: &mut Findings,
) {
    let url = &addresses.redis_url;
    let shards = known.as_ref().and_then(|known| known.installation.as_ref()).map(|(_, shards)| *shards);
    let opened =
        open_redis(&settings.redis, url, shards.unwrap_or_else(|| first_shards(&settings.pipeline, url)));
    let Some(redis) = findings.result("Redis", opened) else { return };
    let report = check_redis(&redis, url, settings.redis.redis_allow_unsafe).await;
    let Some(report) = findings.result("Redis", report) else { return };
    let tls = if url.starts_with("rediss") { "with" } else { "without" };
    for fact in report.facts {
        findings.well("Redis", format!("{fact}, at {}, {tls} TLS", address(url)));
    }
    for warning in report.warnings {
        findings.warning("Redis", warning);
    }
    if settings.redis.redis_url.is_some() {
        for size in report.sizes {
            findings.warning("memory", size);
        }
        match managed::redis(&address(url)) {
            Some(service) => findings.well("managed", managed::line("Redis", service)),
            None if report.forbids_config => findings.well(
                "managed",
                "Redis forbids CONFIG, as services do that manage it for others: docs/operations/managed-stores.md has rows \
                 for some",
            ),
            None => {}
        }
    }
    let Some(Known { db, installation }) = known else { return };
    let id = installation.as_ref().map(|(id, _)| id.as_str());
    let is_one = until_reachable(|| one_redis::check_start(&redis, &db, id)).await;
    if findings.result("installation", is_one.map_err(|error| redis_error(url, error))).is_some() {
        let text = match installation {
            Some((_, shards)) => format!("{} shards, in both stores", shards.get()),
            None => "new: `plaudit serve` begins it".to_owned(),
        };
        findings.well("installation", text);
    }
}
