//! Whether both stores have room for a process of these roles: connections, and memory.

use super::{Findings, managed};
use crate::app::{database::DatabaseServer, stores::sql_connections};
use plaudit_catalogue::settings::Settings;
use plaudit_store::sql::connection::capacity::{Capacity, PoolerLimits};

const MIB: i64 = 1_048_576;
/// PostgreSQL's own default, in MiB.
const DEFAULT_SHARED_BUFFERS: i64 = 128;
/// What docs/operations/deploy.md asks for, in MiB.
const MAX_WAL_SIZE: i64 = 8_192;
/// Sessions of a pooler with which requests work at all.
const FEWEST_SESSIONS: u32 = 2;

/// Of a PostgreSQL of one's own. Reads nothing else than what it says of itself.
pub async fn postgresql(settings: &Settings, server: &DatabaseServer, findings: &mut Findings) {
    let marks = managed::marks();
    let Some(capacity) = findings.result("connections", server.capacity(&marks).await) else { return };
    let service = managed::postgresql(&capacity.marks);
    if let Some(service) = service {
        findings.well("managed", managed::line("PostgreSQL", service));
    }
    let opened = sql_connections(settings);
    let pooled = server.sql.pooler_limits().await;
    let direct = if server.sql.has_pooler() { opened.pipeline } else { opened.requests + opened.pipeline };
    connections(direct, &capacity, findings);
    if let Some(limits) = pooled {
        pooler(opened.requests, &limits, findings);
    }
    if !managed::is_sized(service) {
        memory(&capacity, findings);
    }
}

fn connections(opened: u32, capacity: &Capacity, findings: &mut Findings) {
    let Capacity { connections, limited_by, taken, .. } = capacity;
    let fit = connections / i64::from(opened.max(1));
    let text = format!(
        "a process with these roles opens up to {opened}; PostgreSQL gives {connections} ({limited_by}), of which {taken} \
         are taken"
    );
    if fit == 0 {
        let advice = "raise that limit, or lower database_connections";
        findings.warning("connections", format!("{text}: {advice}"));
    } else {
        findings.well("connections", format!("{text}: enough for {fit} such processes"));
    }
}

fn pooler(opened: u32, limits: &PoolerLimits, findings: &mut Findings) {
    let PoolerLimits { clients, sessions } = limits;
    let text = format!(
        "requests open up to {opened} connections to the pooler, which gives {clients} (max_client_conn) to all clients, and \
         {sessions} transactions at once (default_pool_size)"
    );
    if *clients < opened {
        findings.warning("pooler", format!("{text}: raise max_client_conn, or lower database_connections"));
    } else if *sessions < FEWEST_SESSIONS {
        findings.warning("pooler", format!("{text}: raise default_pool_size to {FEWEST_SESSIONS} or more"));
    } else {
        findings.well("pooler", text);
    }
}

fn memory(capacity: &Capacity, findings: &mut Findings) {
    let (buffers, wal) = (capacity.shared_buffers / MIB, capacity.max_wal_size / MIB);
    let mut advice = Vec::new();
    if buffers <= DEFAULT_SHARED_BUFFERS {
        advice.push("`shared_buffers` to a quarter of the machine's memory".to_owned());
    }
    if wal < MAX_WAL_SIZE {
        advice.push(format!("`max_wal_size` to {MAX_WAL_SIZE} MB or more"));
    }
    let text = format!("PostgreSQL has `shared_buffers` {buffers} MB and `max_wal_size` {wal} MB");
    if advice.is_empty() {
        findings.well("memory", text);
    } else {
        findings.warning("memory", format!("{text}: for millions of rows set {}", advice.join(", and ")));
    }
}
