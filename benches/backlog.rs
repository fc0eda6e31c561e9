//! Benchmark of a backlog: 200,000 likes of 20,000 users on 10,000 notes are in the logs of two shards when the
//! pipeline starts, folded but not persisted, as after an outage of PostgreSQL. Each becomes an edge row, an inbox
//! entry and a step of the history, and changes three totals. Prints events per second and CPU time per event for two
//! cases:
//! - `popular`: as in a feed, the n-th note has about 1/n of the likes of the first one (Zipf's law);
//! - `spread`: all notes have equally many likes, so few likes of a batch share a note, which is the slowest case.
//!
//! Each case runs with the stream of events and without it.
//!
//! `cargo measure backlog`. The stores are embedded and durable, and share the machine with the pipeline.

use crate::support::{Outcome, with_stores};
use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use futures_util::{StreamExt, TryStreamExt, stream};
use plaudit_catalogue::{
    EdgeKind, Flip,
    primitives::{Id, Offset, ShardCount, ShardId, UserId},
};
use plaudit_embedded_stores::{DataDir, Options};
use plaudit_store::{
    redis::{
        EdgeRow, FlipOutcome, FlipRequest, Redis,
        log::{reading, recovery},
        members::{flip, sets},
    },
    sql::{Db, ownership::shards},
};

use crate::support::cpu::CpuTimes;

const USERS: i64 = 20_000;
const NOTES: i64 = 10_000;
const LIKES_PER_USER: i64 = 10;
/// The default.
const SHARDS: u16 = 2;
/// Likes that are sent to Redis concurrently.
const CONCURRENCY: usize = 256;
/// Limit of each wait.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Chooses the note, from 1 to [`NOTES`], of a user's n-th like. The notes of a user differ.
type Choice = fn(user: i64, like: i64) -> i64;
const CASES: &[(&str, Choice)] = &[("popular", popular), ("spread", spread)];
/// `event_retention`: the stream on, and off.
const STREAMS: &[(&str, &str)] = &[("with events", "7days"), ("without events", "0s")];

pub fn main() -> Outcome<()> {
    let mut cases = CASES.iter().flat_map(|case| STREAMS.iter().map(move |stream| (case, stream)));
    cases.try_for_each(|((name, choice), (stream, retention))| {
        println!("{name}, {stream}:");
        drain(*choice, retention)
    })
}

fn drain(choice: Choice, retention: &str) -> Outcome<()> {
    with_stores(Options::default(), |data, _| {
        tokio::runtime::Runtime::new()?.block_on(measure(data, choice, retention))
    })
}

async fn measure(data: &DataDir, choice: Choice, retention: &str) -> Outcome<()> {
    let shards = ShardCount::new(SHARDS).ok_or("no shards")?;
    let redis = Redis::new(&data.redis_url(), shards)?;
    let db = Db::for_pipeline(&data.database_url(), 2)?;

    // A first pipeline creates the tables and recovers the shards.
    let pipeline = Pipeline::start(data, "10000000", retention)?;
    until("the shards are recovered", || async {
        sets::log_state(&redis, ShardId::first(SHARDS - 1)).await.is_ok()
    })
    .await?;
    pipeline.stop()?;
    create_users_and_notes(&data.database_url()).await?;
    append_likes(&redis, choice).await?;
    fold_all(data, &redis, shards, retention).await?;
    let before = shards::persisted_state(&db).await?.offsets;

    let pipeline = Pipeline::start(data, "10000000", retention)?;
    until("the backlog begins to drain", || async { offsets(&db).await != before }).await?;
    let (start, first, cpu) = (Instant::now(), persisted(&offsets(&db).await), CpuTimes::now()?);
    let mut ends = Vec::new();
    for shard in shards.all() {
        ends.push(reading::log_end(&redis, shard).await?.unwrap_or_default());
    }
    until("the backlog is drained", || async { offsets(&db).await == ends }).await?;
    let (seconds, events) = (start.elapsed().as_secs_f64(), persisted(&ends) - first);
    println!(
        "{events} events of {} persisted in {seconds:.2} s: {:.0} per second",
        persisted(&ends),
        events as f64 / seconds
    );
    println!("CPU until persisted: {}", cpu.since(events, "event")?);
    until("all events are retired", || async { retired(&redis, shards).await == ends }).await?;
    let sql = sqlx::PgPool::connect(&data.database_url()).await?;
    until("no invalidation is left", || async { invalidations(&sql).await == Some(0) }).await?;
    println!(
        "CPU until retired, after {:.2} s: {}",
        start.elapsed().as_secs_f64(),
        cpu.since(events, "event")?
    );
    pipeline.stop()
}

/// Folds all events and persists almost none, as during an outage of PostgreSQL.
async fn fold_all(data: &DataDir, redis: &Redis, shards: ShardCount, retention: &str) -> Outcome<()> {
    let pipeline = Pipeline::start(data, "1", retention)?;
    let mut ends = Vec::new();
    for shard in shards.all() {
        ends.push(reading::log_end(redis, shard).await?.unwrap_or_default());
    }
    let ends = &ends;
    for shard in shards.all() {
        let is_folded = || async move {
            recovery::shard_meta(redis, shard).await.ok().flatten().is_some_and(|meta| meta.folded == *ends)
        };
        until("everything is folded", is_folded).await?;
    }
    pipeline.stop()
}

async fn retired(redis: &Redis, shards: ShardCount) -> Vec<Offset> {
    let mut retired = Vec::new();
    for shard in shards.all() {
        retired.extend(sets::log_state(redis, shard).await.ok().map(|state| state.retired));
    }
    retired
}

async fn invalidations(sql: &sqlx::PgPool) -> Option<i64> {
    sqlx::query_scalar("SELECT count(*) FROM invalidation").fetch_one(sql).await.ok()
}

async fn offsets(db: &Db) -> Vec<Offset> {
    shards::persisted_state(db).await.map_or_else(|_| Vec::new(), |state| state.offsets)
}

fn persisted(offsets: &[Offset]) -> u64 {
    offsets.iter().map(|offset| offset.number).sum()
}

async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) -> Outcome<()> {
    let start = Instant::now();
    while !condition().await {
        if start.elapsed() > TIMEOUT {
            return Err(format!("not within {TIMEOUT:?}: {what}").into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// `plaudit serve --roles pipeline`; killed if the benchmark fails.
struct Pipeline(Child);

impl Pipeline {
    /// Starts a pipeline that persists at most `rate` events per second.
    fn start(data: &DataDir, rate: &str, retention: &str) -> Outcome<Self> {
        let child = Command::new(crate::support::program())
            .args(["serve", "--roles", "pipeline", "--listen", "127.0.0.1:0", "--log", "warn"])
            .args([
                "--virtual-shards",
                &SHARDS.to_string(),
                "--persist-rate",
                rate,
                "--event-retention",
                retention,
            ])
            .args(["--redis-url", &data.redis_url(), "--database-url", &data.database_url()])
            .env("PLAUDIT_JWT_SECRET", "the benchmark's secret, 32 bytes or more")
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self(child))
    }

    fn stop(mut self) -> Outcome<()> {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        if self.0.wait()?.success() { Ok(()) } else { Err("the pipeline exited with an error".into()) }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn create_users_and_notes(url: &str) -> Outcome<()> {
    let sql = sqlx::PgPool::connect(url).await?;
    for insert in [
        format!(
            "INSERT INTO app_user (subject, name) SELECT 'user ' || i, 'User' FROM generate_series(1, {USERS}) AS i"
        ),
        format!(
            "INSERT INTO note (author_id, title, body) SELECT i, 'A note', 'Text' FROM generate_series(1, {NOTES}) AS i"
        ),
        format!("UPDATE user_counts SET notes = 1 WHERE id <= {NOTES}"),
        "ANALYZE".to_owned(),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(insert)).execute(&sql).await?;
    }
    Ok(())
}

/// Appends likes in rounds of all users, so that few likes of a batch have the same user.
async fn append_likes(redis: &Redis, choice: Choice) -> Outcome<()> {
    let row = EdgeRow { is_on: false, persisted: sets::log_state(redis, ShardId::first(0)).await?.retired };
    let pairs = (0..LIKES_PER_USER).flat_map(|round| (1..=USERS).map(move |user| (user, round)));
    let likes = pairs.map(|(user, round)| async move { like(redis, row, user, choice(user, round)).await });
    stream::iter(likes).buffer_unordered(CONCURRENCY).try_collect::<()>().await
}

/// Notes in a scattered order that differs from the order of other users in the batch.
const fn spread(user: i64, like: i64) -> i64 {
    1 + (user * 7_919 + like * 104_729) % NOTES
}

/// Each like of a user is in another range of ranks. The ranges have equal shares of all likes. Users start with
/// different ranges.
fn popular(user: i64, like: i64) -> i64 {
    // Multiples of the golden ratio fill an interval evenly.
    let within = (user as f64 * 0.618_033_988_749_895).fract();
    let range = ((user + like) % LIKES_PER_USER) as f64;
    (NOTES as f64).powf((range + within) / LIKES_PER_USER as f64) as i64
}

async fn like(redis: &Redis, row: EdgeRow, user: i64, note: i64) -> Outcome<()> {
    let (actor, target) = (UserId(Id::try_from(user)?), Id::try_from(note)?);
    let at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as i64;
    let flip =
        Flip { kind: EdgeKind::NoteLike, actor, target, owner: UserId(target), on: true, at, by: None };
    let request = FlipRequest {
        flip,
        limit: 0,
        row: Some(row),
        idempotency_key: None,
        records_off: false,
        renew: None,
    };
    match flip::flip_edge(redis, &request).await? {
        FlipOutcome::Done { changed: true, .. } => Ok(()),
        other => Err(format!("unexpected outcome: {other:?}").into()),
    }
}
