//! Benchmark of a stop with `shutdown_spread`: `SOCKETS` (5,000) sockets of one process, each with a subscription, move to
//! another process on the same stores, while 200 likes per second go on there. Prints how many sockets moved in the
//! busiest second, and the latency of likes before the stop and during it; fails if a socket does not end with the
//! count and version of a query.
//!
//! `cargo measure stop`, with `SOCKETS=5000` and `SPREAD=30`; the spread is in seconds. The stores are embedded, and share the
//! machine with the processes and all clients.

use crate::support::{Outcome, with_stores};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, future::try_join_all, stream};
use plaudit_embedded_stores::{DataDir, Options};
use plaudit_store::sql::{Db, connection::migration};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use sqlx::PgPool;

use crate::sockets::socket::Subscriber;
use crate::support::load::Load;
use crate::support::server::Server;
use crate::support::size::size;

const NOTES: u64 = 1_000;
const USERS: u64 = 200;
/// Sockets that are opened at a time.
const AT_ONCE: usize = 64;
/// Latency is measured this long before the stop.
const USUAL: Duration = Duration::from_secs(30);
/// Time limit for the last value to reach every socket.
const LAST_VALUE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);

pub fn main() -> Outcome<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    let work = async |data: &DataDir| {
        migration::migrate(&Db::for_pipeline(&data.database_url(), 2)?).await?;
        create(data).await?;
        measure(data, size("SOCKETS", 5_000)?, size("SPREAD", 30)?).await
    };
    with_stores(Options::default(), |data, _| tokio::runtime::Runtime::new()?.block_on(work(data)))
}

async fn create(data: &DataDir) -> Outcome<()> {
    let sql = PgPool::connect(&data.database_url()).await?;
    for statement in [
        format!(
            "INSERT INTO app_user (subject, name) SELECT 'auth0|' || i, 'User' FROM generate_series(1, {USERS}) AS i"
        ),
        format!(
            "INSERT INTO note (author_id, title, body)
             SELECT 1 + i % {USERS}, 'A note', 'Text' FROM generate_series(1, {NOTES}) AS i"
        ),
        format!("UPDATE user_counts SET notes = {NOTES} / {USERS}"),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&sql).await?;
    }
    Ok(())
}

async fn measure(data: &DataDir, sockets: u64, spread: u64) -> Outcome<()> {
    let spread_flag = format!("--shutdown-spread={spread}s");
    let limit = ["--sockets-per-address=20000"];
    let mut leaving = Server::start(data, &[&limit[..], &[&spread_flag]].concat())?;
    let staying = Server::start(data, &limit)?;
    let load = Load::new(&staying.url, 1..=USERS, NOTES)?;
    let opening = (0..sockets).map(|socket| Subscriber::open(&leaving.url, note_of(socket)));
    let open: Vec<_> = stream::iter(opening).buffered(AT_ONCE).try_collect().await?;
    let moving: Vec<_> = (0..)
        .zip(open)
        .map(|(socket, open)| tokio::spawn(moved(socket, open, staying.url.clone())))
        .collect();

    load.run(tokio::time::sleep(Duration::from_secs(5))).await?; // caches are filled
    let usual = load.run(tokio::time::sleep(USUAL)).await?;
    crate::support::load::print("usually", &usual);
    leaving.terminate();
    let began = Instant::now();
    let mut status = None;
    let during = load
        .run(async {
            while let Ok(None) = leaving.status().inspect(|ended| status = *ended) {
                tokio::time::sleep(POLL).await;
            }
        })
        .await?;
    println!("  the process ended after {:.1} s", began.elapsed().as_secs_f64());
    if !status.is_some_and(|status| status.success()) {
        return Err(format!("the process ended with {status:?}").into());
    }
    crate::support::load::print("during the stop", &during);
    let ratio = during.value_at_quantile(0.99) as f64 / usual.value_at_quantile(0.99) as f64;
    println!("  p99 during the stop: {ratio:.1} times the usual");

    let mut moved = Vec::new();
    for task in try_join_all(moving).await? {
        moved.push(task?);
    }
    let times: Vec<Duration> = moved.iter().map(|(at, _)| *at - began).collect();
    print_moves(&times, spread);
    ends_right(&staying, moved.into_iter().map(|(_, socket)| socket).collect()).await
}

const fn note_of(socket: u64) -> usize {
    1 + (socket % NOTES) as usize
}

/// Waits until the socket is closed, and opens it again at another server. Returns when it was closed.
async fn moved(number: u64, mut socket: Subscriber, to: String) -> Outcome<(Instant, Subscriber)> {
    socket.closed().await;
    let at = Instant::now();
    Ok((at, Subscriber::open(&to, note_of(number)).await?))
}

fn print_moves(times: &[Duration], spread: u64) {
    let last = times.iter().max().map_or(0.0, Duration::as_secs_f64);
    let mut seconds = vec![0_u64; last as usize + 1];
    for time in times {
        seconds[time.as_secs() as usize] += 1;
    }
    let average = times.len() as f64 / spread as f64;
    let most = seconds.iter().max().copied().unwrap_or(0);
    println!(
        "  {} sockets moved, the last one after {last:.1} s; {average:.0} per second of the spread, {most} in the busiest \
         second, which is {:.2} times that",
        times.len(),
        most as f64 / average
    );
}

/// Every socket has the count and version of a query.
async fn ends_right(server: &Server, sockets: Vec<Subscriber>) -> Outcome<()> {
    let client = reqwest::Client::new();
    let deadline = Instant::now() + LAST_VALUE;
    for (number, socket) in (0..).zip(sockets) {
        let query = format!("{{ note(id: \"note_{}\") {{ likeCount countsVersion }} }}", note_of(number));
        let request =
            client.post(format!("{}/graphql", server.url)).json(&serde_json::json!({ "query": query }));
        let reply: Value = request.send().await?.json().await?;
        let note = &reply["data"]["note"];
        let (Some(likes), Some(version)) = (note["likeCount"].as_u64(), note["countsVersion"].as_u64())
        else {
            return Err(reply.to_string().into());
        };
        while !socket.has(likes, version) {
            if Instant::now() > deadline {
                return Err(format!("socket {number} does not have {likes} likes, version {version}").into());
            }
            tokio::time::sleep(POLL).await;
        }
    }
    println!("  every socket has the last count");
    Ok(())
}
