//! Table `pipeline_process`: who runs the pipeline; and who owns which shard.

use std::time::Duration;

use crate::{StoreResult, sql::Db};

/// How the shards are shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sharing {
    /// Whether this process was counted by the others before it asked.
    pub was_member: bool,
    /// Names under which live processes own shards, this one included, in order.
    pub members: Vec<String>,
    /// By shard.
    pub leases: Vec<LeaseState>,
}

/// State of a shard's lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LeaseState {
    /// Never taken, or released.
    Free,
    /// Its owner has not renewed it.
    Expired,
    /// Also by a reshard, whose leases do not expire.
    Owned(String),
}

/// The owner of a shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardOwner {
    /// The name under which it owns shards.
    pub owner: String,
    /// Host and process id.
    pub process: String,
    /// When it took the shard, in UTC.
    pub since: String,
}

/// A process of the pipeline that has moved its row on in time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveProcess {
    /// The name under which it owns shards.
    pub owner: String,
    /// Host and process id.
    pub process: String,
    /// Unix time in milliseconds.
    pub alive_until: i64,
}

/// The processes that run the pipeline.
pub async fn live_processes(db: &Db) -> StoreResult<Vec<LiveProcess>> {
    let query = sqlx::query_as(
        "SELECT owner, name, (extract(epoch FROM alive_until) * 1000)::bigint
         FROM pipeline_process WHERE alive_until > clock_timestamp() ORDER BY name",
    );
    let rows: Vec<(String, String, i64)> = db.run(query.fetch_all(&db.pool())).await?;
    let process = |(owner, process, alive_until)| LiveProcess { owner, process, alive_until };
    Ok(rows.into_iter().map(process).collect())
}

/// Counts this process among those that run the pipeline, for `life` from now on, and reads how the shards
/// are shared. The others are notified when it comes.
pub async fn join_pipeline(db: &Db, owner: &str, name: &str, life: Duration) -> StoreResult<Sharing> {
    let leases = db.leases();
    // Those that are being renewed are skipped: two processes that both return cannot wait for each other.
    let text = "WITH before AS (
             SELECT FROM pipeline_process WHERE owner = $1 AND alive_until > clock_timestamp()
         ), gone AS (
             DELETE FROM pipeline_process WHERE owner IN (
                 SELECT owner FROM pipeline_process WHERE owner <> $1 AND alive_until < clock_timestamp()
                 FOR UPDATE SKIP LOCKED)
         ), joined AS (
             INSERT INTO pipeline_process (owner, name, alive_until)
             VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
             ON CONFLICT (owner) DO UPDATE SET name = excluded.name, alive_until = excluded.alive_until
         )
         SELECT EXISTS (SELECT FROM before),
                ARRAY (SELECT owner FROM pipeline_process
                       WHERE owner <> $1 AND alive_until > clock_timestamp()),
                ARRAY (SELECT owner FROM shard ORDER BY id),
                ARRAY (SELECT coalesce(lease_until > clock_timestamp(), true) FROM shard ORDER BY id),
                CASE WHEN NOT EXISTS (SELECT FROM before) THEN pg_notify('shards', '')::text END";
    let query = sqlx::query_as(text).bind(owner).bind(name).bind(life.as_millis() as i64);
    type Row = (bool, Vec<String>, Vec<Option<String>>, Vec<bool>, Option<String>);
    let (was_member, mut members, owners, valid, _): Row =
        leases.run(query.fetch_one(&leases.pool())).await?;
    members.push(owner.to_owned());
    members.sort_unstable();
    let state = |(owner, is_valid): (Option<String>, bool)| match owner {
        None => LeaseState::Free,
        Some(owner) if is_valid => LeaseState::Owned(owner),
        Some(_) => LeaseState::Expired,
    };
    Ok(Sharing { was_member, members, leases: owners.into_iter().zip(valid).map(state).collect() })
}

/// Whether somebody else runs the pipeline, and would take the shards of this process.
pub async fn has_other_pipeline(db: &Db, owner: &str) -> StoreResult<bool> {
    let others = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pipeline_process WHERE owner <> $1 AND alive_until > clock_timestamp())",
    );
    db.run(others.bind(owner).fetch_one(&db.pool())).await
}

/// The others count this process no more. It still owns its shards.
pub async fn leave_pipeline(db: &Db, owner: &str) -> StoreResult<()> {
    let leases = db.leases();
    let left = sqlx::query(
        "WITH gone AS (DELETE FROM pipeline_process WHERE owner = $1 RETURNING owner)
         SELECT pg_notify('shards', '') FROM gone",
    )
    .bind(owner);
    leases.run(left.execute(&leases.pool())).await.map(drop)
}

/// Owner of each shard; `None` if it has none or its lease has expired.
pub async fn shard_owners(db: &Db) -> StoreResult<Vec<Option<ShardOwner>>> {
    let query = sqlx::query_as(
        "SELECT CASE WHEN s.lease_until > now() THEN s.owner END, p.name,
                to_char(s.owned_since AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')
         FROM shard AS s LEFT JOIN pipeline_process AS p ON p.owner = s.owner ORDER BY s.id",
    );
    type Row = (Option<String>, Option<String>, Option<String>);
    let rows: Vec<Row> = db.run(query.fetch_all(&db.pool())).await?;
    let owner = |(owner, process, since): Row| {
        let owner = owner?;
        let process = process.unwrap_or_else(|| owner.clone());
        Some(ShardOwner { owner, process, since: since.unwrap_or_default() })
    };
    Ok(rows.into_iter().map(owner).collect())
}
