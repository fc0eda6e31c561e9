//! Benchmark of sockets: a real server with embedded stores, and this process as all of its clients.
//!
//! 1. Idle: `SOCKETS` (10,000) sockets, each with a subscription to one of 5,000 notes, for `IDLE` (60) seconds. Memory
//!    of the server per socket (goal: 20 KiB), and its CPU time while idle: pings, and what it does without sockets.
//! 2. Latency: `WATCHERS` (500) subscribers of one note with `LIKES` (1,000) likes per second. Time from the
//!    request of a like to each socket (goal: p99 under 75 ms).
//! 3. Deliveries: `SUBSCRIBERS` (2,000) subscribers and the same likes. CPU time of the server per message,
//!    minus that of the same likes without subscribers (goal: 8 µs).
//!
//! In 2 and 3 every socket must end with the count and version of a query, and versions must rise. Each run of likes
//! takes `SECONDS` (9).
//!
//! `cargo measure sockets`; the sizes are environment variables. `ONLY_IDLE=1` ends after 1; `PLAUDIT_BIN` names
//! another build of the server. The clients use a whole core.

mod likes;
mod server;
pub mod socket;

use crate::support::Outcome;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use hdrhistogram::Histogram;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::support::size::size;
use likes::{Like, Likes};
use server::Server;
use socket::Subscriber;

/// Sockets that are opened concurrently.
const CONCURRENCY: usize = 64;
/// Notes of the demo data.
const NOTES: usize = 5_000;
/// Time limit for the last value to reach every socket.
const LAST_VALUE_TIMEOUT: Duration = Duration::from_secs(10);

pub fn main() -> Outcome<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    let server = Server::start()?;
    tokio::runtime::Runtime::new()?.block_on(measure(&server))?;
    server.stop()
}

async fn measure(server: &Server) -> Outcome<()> {
    idle(server, size("SOCKETS", 10_000)?, Duration::from_secs(size("IDLE", 60)? as u64)).await?;
    if std::env::var_os("ONLY_IDLE").is_some() {
        return Ok(());
    }
    let mut likes = Likes::prepare(&server.url, size("LIKES", 1_000)?, size("SECONDS", 9)?).await?;
    let before = server.cpu()?;
    likes.run().await?;
    let alone = server.cpu()? - before;
    println!("likes without subscribers: {:.2} s of the server's CPU", alone.as_secs_f64());
    latency(server, &mut likes, size("WATCHERS", 500)?).await?;
    deliveries(server, &mut likes, size("SUBSCRIBERS", 2_000)?, alone).await
}

async fn idle(server: &Server, sockets: usize, time: Duration) -> Outcome<()> {
    drop(open(server, CONCURRENCY, |socket| 1 + socket % NOTES).await?); // first-use memory is not counted
    let quiet = cpu_during(server, time).await?;
    let memory = server.resident_bytes()?;
    let open = open(server, sockets, |socket| 1 + socket % NOTES).await?;
    let used = server.resident_bytes()?.saturating_sub(memory);
    let busy = cpu_during(server, time).await?;
    println!(
        "{sockets} idle sockets: {:.1} KiB each; {:.0} µs of the server's CPU each per minute, of {:.2} % of a core, \
         without them {:.2} %",
        used as f64 / 1024.0 / sockets as f64,
        60e6 * busy.saturating_sub(quiet).as_secs_f64() / time.as_secs_f64() / sockets as f64,
        100.0 * busy.as_secs_f64() / time.as_secs_f64(),
        100.0 * quiet.as_secs_f64() / time.as_secs_f64(),
    );
    drop(open);
    Ok(())
}

async fn cpu_during(server: &Server, time: Duration) -> Outcome<Duration> {
    let before = server.cpu()?;
    tokio::time::sleep(time).await;
    Ok(server.cpu()? - before)
}

/// Opens sockets and waits for their first messages. `note` chooses the number of the note of each socket.
async fn open(server: &Server, sockets: usize, note: impl Fn(usize) -> usize) -> Outcome<Vec<Subscriber>> {
    let opening = (0..sockets).map(|socket| Subscriber::open(&server.url, note(socket)));
    stream::iter(opening).buffer_unordered(CONCURRENCY).try_collect().await
}

async fn latency(server: &Server, likes: &mut Likes, subscribers: usize) -> Outcome<()> {
    let subscriber_sockets = open(server, subscribers, |_| likes::NOTE).await?;
    let likes = run(likes, &subscriber_sockets).await?;
    let mut micros = Histogram::<u64>::new(3)?;
    for socket in &subscriber_sockets {
        let arrivals = socket.arrivals();
        for Like { sent, version } in &likes {
            // The first message that includes the like. Versions only rise.
            let first = arrivals.partition_point(|arrival| arrival.version < *version);
            let arrival = arrivals.get(first).ok_or("a like did not arrive")?;
            micros.record((arrival.at - *sent).as_micros().try_into()?)?;
        }
    }
    println!("from the like to each of {subscribers} sockets, milliseconds:");
    for quantile in [0.5, 0.9, 0.99, 1.0] {
        println!("  p{:<4} {:.1}", quantile * 100.0, micros.value_at_quantile(quantile) as f64 / 1_000.0);
    }
    Ok(())
}

async fn deliveries(server: &Server, likes: &mut Likes, subscribers: usize, alone: Duration) -> Outcome<()> {
    let subscriber_sockets = open(server, subscribers, |_| likes::NOTE).await?;
    let (before, start) = (server.cpu()?, Instant::now());
    run(likes, &subscriber_sockets).await?;
    let (cpu, duration) = (server.cpu()? - before, start.elapsed());
    // The first message is the initial state.
    let messages: usize = subscriber_sockets.iter().map(|socket| socket.arrivals().len() - 1).sum();
    println!(
        "{messages} messages to {subscribers} sockets, {:.1} per second each: {:.1} µs of the server's CPU per message",
        messages as f64 / subscribers as f64 / duration.as_secs_f64(),
        cpu.saturating_sub(alone).as_secs_f64() * 1e6 / messages as f64,
    );
    Ok(())
}

/// Runs the likes and waits until every socket has the last value.
async fn run(likes: &mut Likes, subscriber_sockets: &[Subscriber]) -> Outcome<Vec<Like>> {
    let done = likes.run().await?;
    let (count, version) = likes.current().await?;
    let start = Instant::now();
    while !subscriber_sockets.iter().all(|socket| socket.has(count, version)) {
        if start.elapsed() > LAST_VALUE_TIMEOUT {
            let without = subscriber_sockets.iter().filter(|socket| !socket.has(count, version)).count();
            return Err(format!("{without} sockets do not have the last value").into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    if subscriber_sockets.iter().any(|socket| !socket.arrivals().is_sorted_by(|a, b| a.version < b.version)) {
        return Err("a version went backwards".into());
    }
    Ok(done)
}
