//! Benchmark of virtual shards: likes over HTTP on servers with 2 and 16 of them, in turn. Each like is of another pair of
//! user and note, spread over 2,000 users and 1,000 notes. Prints likes per second, CPU time per like until it is
//! persisted, by process, and the share of a core that is used without requests (the least of three measurements:
//! PostgreSQL vacuums now and then). Ends with the ratio of 16 shards to 2 (goal: 1.15).
//!
//! `cargo bench --bench shards`. `CONNECTIONS` (64) send likes for `SECONDS` (10) per round, `ROUNDS` (3) times.

#[path = "support/cpu.rs"]
mod cpu;

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use futures_util::future::try_join_all;
use plaudit_token_auth::{Role, Subject, TokenSecret, TokenSigner};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use cpu::CpuTimes;

const SECRET: &str = "the benchmark's secret, 32 bytes or more";
const USERS: u64 = 2_000;
const NOTES: u64 = 1_000;
const IDLE: Duration = Duration::from_secs(10);
const LIKE: &str =
    "mutation ($note: ID!) { likeNote(input: { noteId: $note }) { changed note { likeCount } } }";

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let _ = rustls::crypto::ring::default_provider().install_default(); // fails only if a provider is installed
    let runtime = tokio::runtime::Runtime::new()?;
    let mut ratios = Vec::new();
    for round in 1..=size("ROUNDS", 3)? {
        println!("round {round}:");
        let few = runtime.block_on(likes_with(2, round == 1))?;
        let many = runtime.block_on(likes_with(16, round == 1))?;
        ratios.push(many / few);
    }
    ratios.sort_unstable_by(f64::total_cmp);
    println!("16 shards / 2, median: {:.2}", ratios[ratios.len() / 2]);
    Ok(())
}

/// Measures a new server. Returns the CPU time per like.
async fn likes_with(shards: u16, with_idle: bool) -> Outcome<f64> {
    let server = Server::start(shards)?;
    if with_idle {
        println!("  {shards} shards, idle: {}", idle()?);
    }
    let clients = Clients::new(&server.url)?;
    clients.like_until(|like| like >= USERS).await?; // the first like of each user creates the user
    server.persisted().await?;

    let (cpu, end) = (CpuTimes::now()?, Instant::now() + Duration::from_secs(size("SECONDS", 10)?));
    let begin = clients.next.load(Relaxed);
    clients.like_until(|_| Instant::now() >= end).await?;
    let likes = clients.next.load(Relaxed) - begin;
    server.persisted().await?;
    let used = cpu.used()?.values().sum::<u64>() as f64 / likes as f64;
    let per_second = likes / size("SECONDS", 10)?;
    println!("  {shards} shards: {per_second} likes per second, {}", cpu.since(likes, "like")?);
    server.stop()?;
    Ok(used)
}

/// Share of a core, by process.
fn idle() -> Outcome<String> {
    let mut least: Option<(u64, String)> = None;
    for _ in 0..3 {
        let cpu = CpuTimes::now()?;
        std::thread::sleep(IDLE);
        let used = cpu.used()?;
        let percent = |micros: u64| micros as f64 / IDLE.as_micros() as f64 * 100.0;
        let parts: Vec<String> =
            used.iter().map(|(name, used)| format!("{name} {:.1}", percent(*used))).collect();
        let sum = used.values().sum();
        let text = format!("{:.1} % of a core ({})", percent(sum), parts.join(", "));
        if least.as_ref().is_none_or(|(least, _)| sum < *least) {
            least = Some((sum, text));
        }
    }
    Ok(least.map(|(_, text)| text).unwrap_or_default())
}

/// Users who like notes: each pair once.
struct Clients {
    url: String,
    http: reqwest::Client,
    tokens: Vec<String>,
    /// Number of the next like.
    next: AtomicU64,
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
        Ok(Self { url, http, tokens, next: AtomicU64::new(0) })
    }

    /// Likes on all connections, until `is_done` for the number of the next like.
    async fn like_until(&self, is_done: impl Fn(u64) -> bool) -> Outcome<()> {
        let connection = async |_| {
            loop {
                let like = self.next.fetch_add(1, Relaxed);
                if is_done(like) {
                    return Ok::<_, Box<dyn std::error::Error>>(());
                }
                self.like(like).await?;
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
    child: Child,
    url: String,
    _place: TempDir,
}

impl Server {
    fn start(shards: u16) -> Outcome<Self> {
        let place = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir()?;
        let mut child = Command::new(env!("CARGO_BIN_EXE_plaudit"))
            .args(["serve", "--listen", "127.0.0.1:0", "--seed-if-empty", "--log", "warn"])
            .args(["--virtual-shards", &shards.to_string()])
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
        Ok(Self { child, url, _place: place })
    }

    /// Waits until the persister has been behind in no log for two measurements of its lag.
    async fn persisted(&self) -> Outcome<()> {
        let mut measurements = 0;
        while measurements < 2 {
            tokio::time::sleep(Duration::from_millis(1_500)).await; // longer than between two measurements
            let metrics = reqwest::get(format!("{}/metrics", self.url)).await?.text().await?;
            let mut lags = metrics.lines().filter(|line| line.starts_with("plaudit_persist_lag_events{"));
            measurements = if lags.all(|line| line.ends_with(" 0")) { measurements + 1 } else { 0 };
        }
        Ok(())
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

fn size(name: &str, default: u64) -> Outcome<u64> {
    Ok(std::env::var(name).ok().map_or(Ok(default), |value| value.parse())?)
}
