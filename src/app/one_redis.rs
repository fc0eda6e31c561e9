//! Check that an installation has one Redis, and Redis one installation. Every start makes it, and every
//! command that uses Redis.

use std::time::{Duration, Instant};

use plaudit_store::{
    StoreError, StoreResult,
    redis::{Redis, nodes},
    sql::{
        Db,
        ownership::{
            self,
            sharing::{self, LiveProcess},
        },
    },
};

/// Within this time a live process moves its row in PostgreSQL on, and shows itself before that in its Redis,
/// also in one that has lost all data. Whether it has recovered its shards there makes no difference.
const SHOWN: Duration = Duration::from_secs(6);
const PAUSE: Duration = Duration::from_millis(250);

/// Claims the shards of Redis for this installation, and checks that the processes of the pipeline use the same Redis.
///
/// # Errors
/// [`StoreError::Misconfigured`] if Redis is another installation's, or they use another Redis.
pub async fn claim(redis: &Redis, db: &Db) -> StoreResult<()> {
    nodes::installation::claim_shards(
        redis,
        redis.shards().all(),
        &ownership::installation::installation_id(db).await?,
    )
    .await?;
    check_processes(redis, db).await
}

/// Checks that [`claim`] would succeed, and changes nothing. `installation`: its id, unless it is yet to begin.
///
/// # Errors
/// As [`claim`].
pub async fn check_start(redis: &Redis, db: &Db, installation: Option<&str>) -> StoreResult<()> {
    nodes::installation::check_installation(redis, &[None, installation]).await?;
    if installation.is_some() { check_processes(redis, db).await } else { Ok(()) }
}

/// Checks that this is the Redis that the installation uses, for a command beside its servers. Changes nothing.
///
/// # Errors
/// As [`claim`]; also if no server has claimed the shards.
pub async fn check_command(redis: &Redis, db: &Db) -> StoreResult<()> {
    nodes::installation::check_installation(
        redis,
        &[Some(&ownership::installation::installation_id(db).await?)],
    )
    .await?;
    check_processes(redis, db).await
}

async fn check_processes(redis: &Redis, db: &Db) -> StoreResult<()> {
    let began = Instant::now();
    let first = elsewhere(redis, db).await?;
    let mut last = first.clone();
    while !last.is_empty() {
        if began.elapsed() > SHOWN {
            return refuse(&first, &last);
        }
        tokio::time::sleep(PAUSE).await;
        last = elsewhere(redis, db).await?;
    }
    Ok(())
}

/// Live processes that do not show themselves in this Redis.
async fn elsewhere(redis: &Redis, db: &Db) -> StoreResult<Vec<LiveProcess>> {
    let processes = sharing::live_processes(db).await?;
    if processes.is_empty() {
        return Ok(processes);
    }
    let owners: Vec<&str> = processes.iter().map(|process| process.owner.as_str()).collect();
    let shown = nodes::installation::shows_processes(redis, &owners).await?;
    Ok(processes.into_iter().zip(shown).filter(|(_, is_here)| !is_here).map(|(process, _)| process).collect())
}

/// A process that has moved its row on reached both of its stores meanwhile. Others may have been killed, or
/// have lost Redis.
fn refuse(first: &[LiveProcess], last: &[LiveProcess]) -> StoreResult<()> {
    let has_moved = |now: &&LiveProcess| {
        first.iter().any(|before| before.owner == now.owner && before.alive_until < now.alive_until)
    };
    let Some(process) = last.iter().find(has_moved) else { return Ok(()) };
    Err(StoreError::Misconfigured(format!(
        "the process {} of this installation is not seen on this Redis: give all processes and commands the same redis_url, \
         or stop those that use another Redis first",
        process.process
    )))
}
