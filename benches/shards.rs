//! Benchmark of virtual shards: servers with 2 and 16 of them run side by side and get the same likes over HTTP, in turn.
//! Each like is of another pair of user and note, spread over 2,000 users and 1,000 notes. Prints per like the CPU time of
//! a server and its stores, commands of Redis, round trips and statements of PostgreSQL, and how long a like takes; first
//! the same per second without requests. Ends with the ratio to the first server (goal for 16 shards to 2: 1.05).
//!
//! `cargo measure shards`. `RATE` (1500) likes per second are sent on `CONNECTIONS` (64) for `SECONDS` (10) per turn,
//! `ROUNDS` (3) times; `RATE` 0 sends as many as possible. `SERVERS` (`2 16`) are numbers of shards, each with a binary if
//! it is another one: `2@/path/to/plaudit 16`.

use crate::support::Outcome;
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use futures_util::future::try_join_all;
use plaudit_token_auth::{Role, Subject, TokenSecret, TokenSigner};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::Mutex, time::Instant};

use crate::support::cpu::CpuTimes;
use crate::support::median::median;
use crate::support::size::size;

const SECRET: &str = "the benchmark's secret, 32 bytes or more";
const USERS: u64 = 2_000;
const NOTES: u64 = 1_000;
/// Likes before each measurement: until what is done later than a like has begun, too.
const WARM_UP: Duration = Duration::from_secs(5);
const IDLE: Duration = Duration::from_secs(15);
const LIKE: &str =
    "mutation ($note: ID!) { likeNote(input: { noteId: $note }) { changed note { likeCount } } }";

pub fn main() -> Outcome<()> {
    let _ = rustls::crypto::ring::default_provider().install_default(); // fails only if a provider is installed
    tokio::runtime::Runtime::new()?.block_on(compare())
}

async fn compare() -> Outcome<()> {
    let servers = std::env::var("SERVERS").unwrap_or_else(|_| "2 16".into());
    let servers = servers.split_whitespace().map(Server::start).collect::<Outcome<Vec<_>>>()?;
    let clients = servers.iter().map(|server| Clients::new(&server.url)).collect::<Outcome<Vec<_>>>()?;
    for one in &clients {
        one.like_until(0, |like, _| like >= USERS).await?; // the first like of each user creates the user
    }
    tokio::time::sleep(WARM_UP).await;
    for server in &servers {
        let before = server.used().await?;
        tokio::time::sleep(IDLE).await;
        let used = server.used().await?.since(&before);
        println!("{} without requests, per second: {}", server.name, used.per(IDLE.as_secs()));
    }
    let mut costs: Vec<Vec<f64>> = vec![Vec::new(); servers.len()];
    for _ in 0..size("ROUNDS", 3)? {
        for ((server, clients), costs) in servers.iter().zip(&clients).zip(&mut costs) {
            costs.push(likes(server, clients).await?);
        }
    }
    for (server, of_server) in servers.iter().zip(&costs) {
        let ratios: Vec<f64> = of_server.iter().zip(&costs[0]).map(|(one, first)| one / first).collect();
        println!("{} / the first: {:.2} ({ratios:.2?})", server.name, median(ratios.clone()));
    }
    servers.into_iter().try_for_each(Server::stop)
}

/// Measures a server under likes. Returns the CPU time per like.
async fn likes(server: &Server, clients: &Clients) -> Outcome<f64> {
    let (rate, seconds) = (size("RATE", 1_500)?, Duration::from_secs(size("SECONDS", 10)?));
    let end = Instant::now() + WARM_UP;
    clients.like_until(rate, |_, now| now >= end).await?;
    clients.took.lock().await.clear();
    let (before, begin) = (server.used().await?, clients.next.load(Relaxed));
    let end = Instant::now() + seconds;
    clients.like_until(rate, |_, now| now >= end).await?;
    let (used, likes) = (server.used().await?.since(&before), clients.next.load(Relaxed) - begin);
    let mut took = std::mem::take(&mut *clients.took.lock().await);
    took.sort_unstable();
    let median = took[took.len() / 2].as_micros() as f64 / 1_000.0;
    let per_second = likes / seconds.as_secs();
    println!("{}, {per_second} likes per second of {median:.1} ms: {}", server.name, used.per(likes));
    Ok(used.cpu() / likes as f64)
}

/// What a server has used since its start.
struct Used {
    /// Microseconds by process name.
    cpu: BTreeMap<String, u64>,
    /// Calls in Redis by name, those of scripts included.
    commands: BTreeMap<String, u64>,
    round_trips: u64,
    statements: u64,
}

impl Used {
    fn since(mut self, before: &Self) -> Self {
        let less = |now: &mut BTreeMap<String, u64>, before: &BTreeMap<String, u64>| {
            for (name, value) in now {
                *value -= before.get(name).copied().unwrap_or_default();
            }
        };
        less(&mut self.cpu, &before.cpu);
        less(&mut self.commands, &before.commands);
        self.round_trips -= before.round_trips;
        self.statements -= before.statements;
        self
    }

    fn cpu(&self) -> f64 {
        self.cpu.values().sum::<u64>() as f64
    }

    fn per(&self, count: u64) -> String {
        let per = |used: u64| used as f64 / count as f64;
        let some = |used: &BTreeMap<String, u64>, least: f64| {
            let mut parts: Vec<_> = used.iter().filter(|(_, used)| per(**used) >= least).collect();
            parts.sort_by_key(|(_, used)| std::cmp::Reverse(**used));
            let parts = parts.into_iter().map(|(name, used)| format!("{name} {:.2}", per(*used)));
            parts.collect::<Vec<_>>().join(", ")
        };
        let commands: u64 = self.commands.values().sum();
        format!(
            "{:.1} µs ({}); {:.2} commands of Redis ({}), {:.2} round trips; {:.3} statements",
            self.cpu() / count as f64,
            some(&self.cpu, 0.05),
            per(commands),
            some(&self.commands, 0.01),
            per(self.round_trips),
            per(self.statements),
        )
    }
}

/// Users who like notes: each pair once.
struct Clients {
    url: String,
    http: reqwest::Client,
    tokens: Vec<String>,
    /// Number of the next like.
    next: AtomicU64,
    took: Mutex<Vec<Duration>>,
}

impl Clients {
    fn new(url: &str) -> Outcome<Self> {
        let signer = TokenSigner::hs256(&SECRET.parse::<TokenSecret>()?);
        let token = |user| -> Outcome<String> {
            let subject = format!("user {user}").parse::<Subject>()?;
            Ok(signer.sign(&subject, Role::User, Duration::from_mins(60))?)
        };
        let tokens = (0..USERS).map(token).collect::<Outcome<_>>()?;
        let (url, http) = (format!("{url}/graphql"), reqwest::Client::new());
        Ok(Self { url, http, tokens, next: AtomicU64::new(0), took: Mutex::default() })
    }

    /// Likes on all connections, `rate` per second or as many as possible, until `is_done` for the number of the next
    /// like and the present moment.
    async fn like_until(&self, rate: u64, is_done: impl Fn(u64, Instant) -> bool) -> Outcome<()> {
        let (begun, first) = (Instant::now(), self.next.load(Relaxed));
        let connection = async |_| {
            loop {
                let like = self.next.fetch_add(1, Relaxed);
                if let Some(pause) = (1_000_000 * (like - first)).checked_div(rate) {
                    tokio::time::sleep_until(begun + Duration::from_micros(pause)).await;
                }
                let now = Instant::now();
                if is_done(like, now) {
                    return Outcome::Ok(());
                }
                self.like(like).await?;
                self.took.lock().await.push(now.elapsed());
            }
        };
        let connections = size("CONNECTIONS", 64)?;
        try_join_all((0..connections).map(connection)).await?;
        self.next.fetch_sub(connections, Relaxed); // the numbers at which they ended
        Ok(())
    }

    async fn like(&self, number: u64) -> Outcome<()> {
        let (user, round) = (number % USERS, number / USERS);
        let note = 1 + (user * 31 + round) % NOTES;
        let body = json!({ "query": LIKE, "variables": { "note": format!("note_{note}") } });
        let request = self.http.post(&self.url).bearer_auth(&self.tokens[user as usize]).json(&body);
        let reply: Value = request.send().await?.json().await?;
        if reply["data"]["likeNote"]["changed"] == true { Ok(()) } else { Err(reply.to_string().into()) }
    }
}

/// A server with embedded stores and the demo data, without rate limits; killed when dropped.
struct Server {
    name: String,
    child: Child,
    url: String,
    place: TempDir,
}

impl Server {
    /// `described`: number of shards, `@` and a binary if it is another one.
    fn start(described: &str) -> Outcome<Self> {
        let (shards, binary) = described
            .split_once('@')
            .map_or((described, crate::support::program()), |(shards, program)| (shards, program.as_ref()));
        let place = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir()?;
        let mut child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--seed-if-empty", "--log", "warn"])
            .args(["--virtual-shards", shards])
            .args(["user", "address"].iter().flat_map(|who| {
                ["reads", "writes", "creations"].map(|class| format!("--rate-{who}-{class}=0"))
            }))
            .arg("--data-dir")
            .arg(place.path().join("data"))
            .env("PLAUDIT_JWT_SECRET", SECRET)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
        let line = lines.next().ok_or("the server ended")??;
        std::thread::spawn(move || lines.for_each(drop)); // drains the output, so that the server never blocks on it
        let url = line.strip_prefix("listening on ").ok_or(line.clone())?.to_owned();
        Ok(Self { name: format!("{described} shards"), child, url, place })
    }

    async fn used(&self) -> Outcome<Used> {
        let cpu = CpuTimes::of(u64::from(self.child.id()))?.all();
        let metrics = reqwest::get(format!("{}/metrics", self.url)).await?.text().await?;
        let count = |name: &str| -> u64 {
            let of_callers = metrics.lines().filter(|line| line.starts_with(&format!("{name}_count{{")));
            of_callers.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        Ok(Used {
            cpu,
            commands: self.commands()?,
            round_trips: count("plaudit_redis_seconds"),
            statements: count("plaudit_database_seconds"),
        })
    }

    fn commands(&self) -> Outcome<BTreeMap<String, u64>> {
        let socket = self.place.path().join("data/redis.sock");
        let client = redis::Client::open(format!("redis+unix://{}", socket.display()))?;
        let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut client.get_connection()?)?;
        let calls = |line: &str| {
            let (name, calls) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), calls.split(',').next()?.parse().ok()?))
        };
        Ok(stats.lines().filter_map(calls).collect())
    }

    fn stop(mut self) -> Outcome<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
