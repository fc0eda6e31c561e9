//! Benchmark of membership: whether a like costs more for a user with 100,000 likes than for one with 10. Prints the
//! microseconds that Redis spends in the script, for a like, a repeated like, an unlike and a repeated unlike of new
//! notes.
//!
//! `cargo measure membership`. The stores are embedded; the script is called as by requests.

use crate::support::{Outcome, with_stores};
use std::{
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use plaudit_catalogue::{
    EdgeKind, Flip,
    primitives::{Id, ShardCount, ShardId, UserId},
};
use plaudit_embedded_stores::{DataDir, Options};
use plaudit_store::redis::{
    FlipOutcome, FlipRequest, Redis, SET_CAP,
    members::{flip, sets},
};
use redis::aio::MultiplexedConnection;

use crate::support::median::median;

/// Ids of the two users, which belong to the same shard.
const SMALL: i64 = 2;
const LARGE: i64 = 4;
const ROUNDS: usize = 20;
const CALLS: i64 = 200;
const STEPS: [(&str, bool, bool); 4] =
    [("like", true, true), ("again", true, false), ("unlike", false, true), ("again", false, false)];

pub fn main() -> Outcome<()> {
    let work = async |data: &DataDir| {
        let redis = Redis::new(&data.redis_url(), ShardCount::new(2).ok_or("no shards")?)?;
        recover(data, &redis).await?;
        measure(&data.redis_url(), &redis).await
    };
    let options = Options { durable: false, ..Options::default() };
    print(&with_stores(options, |data, _| tokio::runtime::Runtime::new()?.block_on(work(data)))?);
    Ok(())
}

/// Lets a pipeline recover the shards, and ends it, so that Redis runs only the measured calls.
async fn recover(data: &DataDir, redis: &Redis) -> Outcome<()> {
    let mut child = Command::new(crate::support::program())
        .args(["serve", "--roles", "pipeline", "--listen", "127.0.0.1:0", "--log", "warn"])
        .args(["--redis-url", &data.redis_url(), "--database-url", &data.database_url()])
        .env("PLAUDIT_JWT_SECRET", "the benchmark's secret, 32 bytes or more")
        .stdout(Stdio::null())
        .spawn()?;
    let start = Instant::now();
    while sets::log_state(redis, ShardId::first(0)).await.is_err()
        && start.elapsed() < Duration::from_secs(20)
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)?;
    if child.wait()?.success() { Ok(()) } else { Err("the server exited with an error".into()) }
}

/// Microseconds per call of the small and of the large user, for each step.
async fn measure(url: &str, redis: &Redis) -> Outcome<[[f64; 2]; STEPS.len()]> {
    let mut info = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    let users = [(SMALL, 10), (LARGE, 100_000)];
    for (user, likes) in users {
        cache_likes(redis, user, likes).await?;
    }
    let mut rounds: [[Vec<f64>; 2]; STEPS.len()] = Default::default();
    for round in 0..=ROUNDS {
        for (step, (_, on, changes)) in STEPS.iter().enumerate() {
            for (column, (user, _)) in users.iter().enumerate() {
                let () = redis::cmd("CONFIG").arg("RESETSTAT").query_async(&mut info).await?;
                for call in 0..CALLS {
                    let target = 100_001 + round as i64 * CALLS + call;
                    flip(redis, *user, target, *on, *changes).await?;
                }
                // The first round warms up.
                if round > 0 {
                    rounds[step][column].push(micros_per_call(&mut info).await?);
                }
            }
        }
    }
    Ok(rounds.map(|columns| columns.map(median)))
}

/// Caches the set that a load would cache for a user with this many likes.
async fn cache_likes(redis: &Redis, user: i64, likes: i64) -> Outcome<()> {
    let user = UserId(Id::try_from(user)?);
    let lowest = 1.max(100_001 - likes).max(100_001 - SET_CAP as i64);
    let targets: Vec<Id> = (lowest..=100_000).map(Id::try_from).collect::<Result<_, _>>()?;
    let before = sets::log_state(redis, redis.shard_of(user.0)).await?;
    let truncated = likes > targets.len() as i64;
    let kind = EdgeKind::NoteLike;
    if sets::install_members(redis, user, kind, before, before.retired, &targets, truncated).await? {
        Ok(())
    } else {
        Err("the shard changed during the load".into())
    }
}

async fn flip(redis: &Redis, user: i64, target: i64, on: bool, changes: bool) -> Outcome<()> {
    let (actor, target) = (UserId(Id::try_from(user)?), Id::try_from(target)?);
    let at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as i64;
    let flip = Flip { kind: EdgeKind::NoteLike, actor, target, owner: actor, on, at, by: None };
    let request =
        FlipRequest { flip, limit: 0, row: None, idempotency_key: None, records_off: false, renew: None };
    match flip::flip_edge(redis, &request).await? {
        FlipOutcome::Done { changed, .. } if changed == changes => Ok(()),
        other => Err(format!("unexpected outcome: {other:?}").into()),
    }
}

async fn micros_per_call(info: &mut MultiplexedConnection) -> Outcome<f64> {
    let stats: String = redis::cmd("INFO").arg("commandstats").query_async(info).await?;
    let line = stats.lines().find(|line| line.starts_with("cmdstat_evalsha:")).ok_or("no calls")?;
    let value = line.split("usec_per_call=").nth(1).and_then(|rest| rest.split(',').next());
    Ok(value.ok_or("no time")?.parse()?)
}

fn print(micros: &[[f64; 2]; STEPS.len()]) {
    println!("the script of flips, microseconds in Redis, median of {ROUNDS} rounds of {CALLS} calls:");
    println!("  {:<8}{:>10}{:>15}{:>8}", "", "10 likes", "100,000 likes", "ratio");
    for ((step, ..), [small, large]) in STEPS.iter().zip(micros) {
        println!("  {step:<8}{small:>10.1}{large:>15.1}{:>8.2}", large / small);
    }
}
