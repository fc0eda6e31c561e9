//! What PostgreSQL and a pooler give: connections, memory, and whether somebody else manages the server.

use std::collections::HashMap;

use sqlx::{ConnectOptions, Connection, Row};

use super::server::{SqlServer, in_time};
use crate::{StoreError, StoreResult};

/// What PostgreSQL gives to the user of the connection.
#[derive(Debug)]
pub struct Capacity {
    /// The lowest limit of connections, and what sets it.
    pub connections: i64,
    pub limited_by: String,
    /// How many of the connections under that limit are taken, the one that asks included.
    pub taken: i64,
    /// Bytes.
    pub shared_buffers: i64,
    /// Bytes.
    pub max_wal_size: i64,
    /// The asked names that are roles or functions there.
    pub marks: Vec<String>,
}

/// What PgBouncer gives to one user of one database.
#[derive(Debug)]
pub struct PoolerLimits {
    /// Connections of all clients.
    pub clients: u32,
    /// Transactions at once.
    pub sessions: u32,
}

const ASK: &str = "
    WITH of_role AS (SELECT rolconnlimit, rolsuper, rolname FROM pg_roles WHERE rolname = current_user),
         of_database AS (SELECT datconnlimit, datname FROM pg_database WHERE datname = current_database()),
         taken AS (SELECT count(*) AS of_all, count(*) FILTER (WHERE usename = current_user) AS of_role,
                          count(*) FILTER (WHERE datname = current_database()) AS of_database
                   FROM pg_stat_activity WHERE backend_type = 'client backend'),
         limits AS (
             SELECT current_setting('max_connections')::bigint - CASE WHEN rolsuper THEN 0
                        ELSE current_setting('superuser_reserved_connections')::bigint
                             + coalesce(current_setting('reserved_connections', true)::bigint, 0) END AS most,
                    'max_connections' AS by, of_all AS taken
             FROM of_role, taken
             UNION ALL SELECT rolconnlimit, 'CONNECTION LIMIT of the role ' || rolname, taken.of_role
             FROM of_role, taken WHERE rolconnlimit >= 0 AND NOT rolsuper
             UNION ALL SELECT datconnlimit, 'CONNECTION LIMIT of the database ' || datname, taken.of_database
             FROM of_database, of_role, taken WHERE datconnlimit >= 0 AND NOT rolsuper)
    SELECT most, by, taken, pg_size_bytes(current_setting('shared_buffers')),
           pg_size_bytes(current_setting('max_wal_size')),
           ARRAY(SELECT mark FROM unnest($1::text[]) AS mark
                 WHERE EXISTS (SELECT FROM pg_roles WHERE rolname = mark) OR to_regproc(mark) IS NOT NULL)
    FROM limits ORDER BY most LIMIT 1";

impl SqlServer {
    /// What PostgreSQL gives. `marks`: names of roles and functions by which managed services are known.
    pub async fn capacity(&self, marks: &[&str]) -> StoreResult<Capacity> {
        in_time(async {
            let mut connection = self.pipeline_options().connect().await?;
            let row = sqlx::query_as(ASK).bind(marks).fetch_one(&mut connection).await?;
            connection.close().await?;
            let (connections, limited_by, taken, shared_buffers, max_wal_size, marks) = row;
            Ok(Capacity { connections, limited_by, taken, shared_buffers, max_wal_size, marks })
        })
        .await
    }

    /// What the pooler gives; `None` if there is none, if it is no PgBouncer, or if its console is closed to this user.
    pub async fn pooler_limits(&self) -> Option<PoolerLimits> {
        if !self.has_pooler() {
            return None;
        }
        let asked = in_time(async {
            let mut console = self.request_options().database("pgbouncer").connect().await?;
            let rows = sqlx::raw_sql("SHOW CONFIG").fetch_all(&mut console).await?;
            let pair = |row: &sqlx::postgres::PgRow| Some((row.try_get(0).ok()?, row.try_get(1).ok()?));
            let settings: HashMap<String, String> = rows.iter().filter_map(pair).collect();
            let number = |name: &str| settings.get(name).and_then(|value| value.parse().ok());
            match (number("max_client_conn"), number("default_pool_size")) {
                (Some(clients), Some(sessions)) => Ok(PoolerLimits { clients, sessions }),
                _ => Err(StoreError::Unexpected("SHOW CONFIG has no limits".to_owned())),
            }
        });
        asked.await.ok()
    }
}
