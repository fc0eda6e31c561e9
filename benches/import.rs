//! Benchmark of `plaudit import`: likes of users on notes that exist, the n-th note with about 1/n of the likes of the
//! first one (Zipf's law), in the order of their times as an app's table has them. Prints likes per second, and CPU time
//! per like, of:
//! - `empty`: empty tables, and nothing else at work;
//! - `live`: beside a server that answers 200 likes per second, with rows of earlier likes in the tables; also the
//!   latency of these likes before the import and during it. `ROUNDS` (3) files are imported, each with so many other
//!   likes; ends with the medians.
//!
//! `cargo measure import [empty|live] [LIKES] [ROWS] [RATE]`, by default both with 1,000,000 likes, 10,000,000
//! rows, and the rate that an import has by itself. The stores are embedded and durable, and share the machine with
//! everything else. PostgreSQL has the memory that its documentation advises, since 10,000,000 rows with their indexes do
//! not fit into its default, and no checkpoint comes right before the import: after it each page is written whole once.

use crate::support::{Outcome, with_stores};
use std::{
    collections::HashSet,
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use chrono::DateTime;
use hdrhistogram::Histogram;
use plaudit_embedded_stores::{DataDir, Options};
use plaudit_store::sql::{Db, connection::migration};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use sqlx::PgPool;

use crate::support::cpu::CpuTimes;
use crate::support::load::Load;
use crate::support::median::median;
use crate::support::server::Server;
use crate::support::size::size;

const USERS: u64 = 100_000;
const NOTES: u64 = 50_000;
/// Users who like while the import runs; none of the file.
const LIVE_USERS: u64 = 200;
/// Of the rows that are there before.
const ROWS_PER_USER: u64 = 40;
/// A quarter of 8 GB of memory, and checkpoints half an hour apart: after each one, pages are written whole again.
const POSTGRES_SETTINGS: [&str; 3] = ["shared_buffers=2GB", "max_wal_size=8GB", "checkpoint_timeout=30min"];
/// Latency is measured this long without the import, and while it runs.
const USUAL: Duration = Duration::from_secs(30);

pub fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !["--bench", "import"].contains(&argument.as_str()))
        .collect();
    let number = |at: usize, usual: u64| {
        arguments.get(at).map_or(Ok(usual), |text| text.replace('_', "").parse::<u64>())
    };
    let (likes, rows) = (number(1, 1_000_000)?, number(2, 10_000_000)?);
    let rate = arguments.get(3).map(String::as_str);
    let wanted = arguments.first().map(String::as_str);
    for (case, rows) in [("empty", 0), ("live", rows)] {
        if wanted.is_none_or(|wanted| wanted == case) {
            println!("{case}:");
            import(likes, rows, rate)?;
        }
    }
    Ok(())
}

fn import(likes: u64, rows: u64, rate: Option<&str>) -> Outcome<()> {
    let options = Options { postgres_settings: &POSTGRES_SETTINGS, ..Options::default() };
    let work = async |data: &DataDir, place: &Path| {
        migration::migrate(&Db::for_pipeline(&data.database_url(), 2)?).await?;
        let sql = PgPool::connect(&data.database_url()).await?;
        create(&sql, rows).await?;
        let mut files = Files::new(place);
        match rows {
            0 => alone(data, &files.write(likes)?, likes, rate).await,
            _ => beside_a_server(data, &mut files, likes, rate).await,
        }?;
        check(&sql).await
    };
    with_stores(options, |data, place| tokio::runtime::Runtime::new()?.block_on(work(data, place)))
}

/// The table's own likes are of users whom the file does not name, so that all likes of the file are new.
async fn create(sql: &PgPool, rows: u64) -> Outcome<()> {
    let start = Instant::now();
    let (users, old_users) = (USERS + LIVE_USERS, rows / ROWS_PER_USER);
    for statement in [
        format!(
            "INSERT INTO app_user (subject, name)
             SELECT 'auth0|' || i, 'User' FROM generate_series(1, {users} + {old_users}) AS i"
        ),
        format!(
            "INSERT INTO note (key, author_id, title, body)
             SELECT 'post-' || i, 1 + i % 1000, 'A note', 'Text' FROM generate_series(1, {NOTES}) AS i"
        ),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(statement)).execute(sql).await?;
    }
    tokio::try_join!(old_likes(sql, users, 0, rows / 2), old_likes(sql, users, rows / 2, rows))?;
    for statement in [
        "UPDATE note_counts AS c SET likes = l.likes
         FROM (SELECT target_id, count(*) AS likes FROM note_like GROUP BY 1) AS l WHERE c.id = l.target_id"
            .to_owned(),
        format!(
            "UPDATE user_counts AS u SET notes = {NOTES} / 1000, likes_received = c.likes
             FROM (SELECT author_id, sum(likes) AS likes FROM note_counts GROUP BY 1) AS c WHERE u.id = c.author_id"
        ),
        "VACUUM ANALYZE".to_owned(),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(statement)).execute(sql).await?;
    }
    if rows > 0 {
        println!("  {rows} rows were made in {:.0} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

async fn old_likes(sql: &PgPool, users: u64, from: u64, to: u64) -> sqlx::Result<()> {
    let statement = format!(
        "INSERT INTO note_like (actor_id, target_id, is_on, included, created_at, changed_at, told)
         SELECT {users} + 1 + i / {ROWS_PER_USER}, power({NOTES}, (i * 0.618033988749895) % 1)::bigint,
                true, true, at, at, -1
         FROM generate_series({from}, {to}::bigint - 1) AS i,
              LATERAL (SELECT timestamptz '2019-01-01' + i * interval '1 s') AS time (at)
         ON CONFLICT DO NOTHING"
    );
    sqlx::query(sqlx::AssertSqlSafe(statement)).execute(sql).await.map(drop)
}

/// Files of likes, all of different pairs.
struct Files<'a> {
    place: &'a Path,
    rng: StdRng,
    pairs: HashSet<(u64, u64)>,
}

impl<'a> Files<'a> {
    fn new(place: &'a Path) -> Self {
        Self { place, rng: StdRng::seed_from_u64(1), pairs: HashSet::new() }
    }

    /// The next file.
    fn write(&mut self, likes: u64) -> Outcome<PathBuf> {
        let end = self.pairs.len() as u64 + likes;
        let path = self.place.join(format!("likes-to-{end}.jsonl"));
        let mut out = BufWriter::new(File::create(&path)?);
        while (self.pairs.len() as u64) < end {
            let user = self.rng.random_range(1..=USERS);
            let note = crate::support::load::liked_note(NOTES, &mut self.rng);
            let at = 1_600_000_000_000 + self.pairs.len() as i64 * 97;
            if !self.pairs.insert((user, note)) {
                continue;
            }
            let at = DateTime::from_timestamp_millis(at).ok_or("no time")?;
            let at = at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
            writeln!(
                out,
                r#"{{"type":"like","user":"auth0|{user}","note":"post-{note}","on":true,"at":"{at}"}}"#
            )?;
        }
        out.flush()?;
        Ok(path)
    }
}

async fn alone(data: &DataDir, file: &Path, likes: u64, rate: Option<&str>) -> Outcome<()> {
    // The import waits for shards that were never recovered; a server recovers them, and ends.
    drop(Server::start(data, &[])?);
    let mut import = Import::start(data, file, rate)?;
    import.ended(likes).await.map(drop)
}

/// CPU time of the children of this process that have ended, in microseconds.
fn cpu_of_ended() -> Outcome<u64> {
    let stat = procfs::process::Process::myself()?.stat()?;
    Ok((stat.cutime + stat.cstime) as u64 * 1_000_000 / procfs::ticks_per_second())
}

/// An import that was started, killed if the benchmark fails.
struct Import {
    child: Child,
    start: Instant,
    cpu: CpuTimes,
    /// CPU time of earlier processes that ended.
    ended: u64,
}

impl Import {
    fn start(data: &DataDir, file: &Path, rate: Option<&str>) -> Outcome<Self> {
        let (cpu, ended, start) = (CpuTimes::now()?, cpu_of_ended()?, Instant::now());
        let child = Command::new(crate::support::program())
            .arg("import")
            .arg(file)
            .args(["--redis-url", &data.redis_url(), "--database-url", &data.database_url()])
            .args(rate.map(|rate| format!("--rate={rate}")))
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self { child, start, cpu, ended })
    }

    /// Waits for its end. Returns likes per second.
    async fn ended(&mut self, likes: u64) -> Outcome<f64> {
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        if !status.success() {
            return Err(format!("the import ended with {status}").into());
        }
        let (seconds, cpu) = (self.start.elapsed().as_secs_f64(), self.cpu.since(likes, "like")?);
        let of_import = (cpu_of_ended()? - self.ended) as f64 / likes as f64;
        let rate = likes as f64 / seconds;
        println!("  {likes} likes in {seconds:.2} s: {rate:.0} per second");
        println!("  CPU: the import {of_import:.1} µs per like; others {cpu}");
        Ok(rate)
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn beside_a_server(
    data: &DataDir,
    files: &mut Files<'_>,
    likes: u64,
    rate: Option<&str>,
) -> Outcome<()> {
    let server = Server::start(data, &[])?;
    let load = Load::new(&server.url, USERS + 1..=USERS + LIVE_USERS, NOTES)?;
    load.run(tokio::time::sleep(Duration::from_secs(5))).await?; // caches are filled
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..size("ROUNDS", 3)? {
        let file = files.write(likes)?;
        let usual = load.run(tokio::time::sleep(USUAL)).await?;
        crate::support::load::print("usually", &usual);
        let mut import = Import::start(data, &file, rate)?;
        let mut ended = Ok(0.0);
        let beside = load.run(async { ended = import.ended(likes).await }).await?;
        rates.push(ended?);
        crate::support::load::print("during the import", &beside);
        let p99 = |latency: &Histogram<u64>| latency.value_at_quantile(0.99) as f64;
        ratios.push(p99(&beside) / p99(&usual));
        println!("  p99 during the import: {:.1} times the usual", p99(&beside) / p99(&usual));
    }
    let (rate, ratio) = (median(rates), median(ratios));
    println!("  medians: {rate:.0} per second, and {ratio:.1} times the usual p99");
    Ok(())
}

/// The totals are those of the rows.
async fn check(sql: &PgPool) -> Outcome<()> {
    let wrong: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM note_counts AS c
         LEFT JOIN (SELECT target_id, count(*) AS likes FROM note_like WHERE included GROUP BY 1) AS l
             ON l.target_id = c.id
         WHERE c.likes <> coalesce(l.likes, 0)",
    )
    .fetch_one(sql)
    .await?;
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} notes have a wrong total").into()) }
}
