//! Benchmark of attacks: whatever one address does within its limits, others hardly notice it.
//!
//! A bystander reads a feed, likes a note and waits for the push of each like, first alone and then during each attack.
//! Attackers are processes of low priority with addresses of their own. Prints the bystander's times and failures, the
//! server's share of the cores and its memory. Goals: p99 at most three times the quiet one and 20 ms more, no failure,
//! and 512 MB of memory beyond the quiet one; during the attack of ten addresses ten times the quiet p99.
//!
//! At the end, honest use that must not notice the limits.
//!
//! `cargo measure attacks`. `SECONDS` (10) each; `ONLY` names one attack; `SERVER` is another build to attack.

mod attacker;
mod bystander;
mod honest;
mod server;

use crate::support::Outcome;
use std::{
    net::Ipv4Addr,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use attacker::Attack;
use bystander::{Bystander, Times};
use honest::Answers;
use server::Server;

/// The first argument of a process that attacks.
const ATTACKER: &str = "attacker";
/// The note that the bystander likes and watches.
const WATCHED: usize = 7;

pub fn main() -> Outcome<()> {
    let _ = rustls::crypto::ring::default_provider().install_default(); // fails only if a provider is installed
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let runtime = tokio::runtime::Runtime::new()?;
    match &arguments[..] {
        [mode, attack, url, address] if mode == ATTACKER => {
            runtime.block_on(Attack::named(attack)?.run(url, address.parse()?))
        }
        _ => runtime.block_on(measure()),
    }
}

async fn measure() -> Outcome<()> {
    let only = std::env::var("ONLY").ok();
    println!("{:<22}{:>26}{:>16}{:>8}{:>8}", "", "p50, p99 in ms: feed", "like", "push", "failed");
    for attack in Attack::ALL.iter().filter(|attack| only.as_ref().is_none_or(|only| only == attack.name())) {
        // A new server each time: what an attack has left in its rates or caches must not change the next one.
        let server = Server::start(attack.settings())?;
        attacker::prepare(&server.url).await?;
        let bystander = Bystander::begin(&server.url, attack.is_about_newcomers()).await?;
        let quiet = bystander.measure(length()?).await?;
        let memory = server.memory()?;
        let attackers = Attackers::start(attack, &server.url)?;
        tokio::time::sleep(Duration::from_secs(1)).await; // until all its clients are connected
        let (cpu, began) = (server.cpu()?, Instant::now());
        let attacked = bystander.measure(length()?).await?;
        let cores = (server.cpu()? - cpu).as_secs_f64() / began.elapsed().as_secs_f64();
        let grown = server.peak_memory()?.saturating_sub(memory) >> 20;
        drop(attackers);
        println!("{:<22}{}", "quiet", quiet.row());
        println!("{:<22}{}  {cores:.2} cores, {grown} MB more", attack.name(), attacked.row());
        println!("{:<22}{}", "", verdict(&quiet, &attacked, attack.addresses()));
    }
    if only.is_none() {
        honest().await?;
    }
    Ok(())
}

async fn honest() -> Outcome<()> {
    let server = Server::start(&[])?;
    show("page of 500 live notes", &honest::page_of_live_notes(&server.url, length()?).await?);
    show("backend of 1,000 users", &honest::backend(&server.url).await?);
    Ok(())
}

fn show(name: &str, Answers { answered, refused }: &Answers) {
    let first = refused.first().map_or("", String::as_str);
    println!("{name:<26}{answered:>8} answered{:>8} refused {first}", refused.len());
}

/// Whether the goals are met.
fn verdict(quiet: &Times, attacked: &Times, addresses: u8) -> String {
    let allowed = |quiet: f64| if addresses == 1 { 3.0 * quiet + 20.0 } else { 10.0 * quiet };
    let missed: Vec<String> = quiet
        .p99()
        .into_iter()
        .zip(attacked.p99())
        .filter(|((_, quiet), (_, attacked))| *attacked > allowed(*quiet))
        .map(|((name, quiet), (_, attacked))| format!("{name} {attacked:.0} > {:.0}", allowed(quiet)))
        .chain((attacked.failed > 0).then(|| format!("{} failed", attacked.failed)))
        .collect();
    if missed.is_empty() { "held".to_owned() } else { format!("missed: {}", missed.join(", ")) }
}

fn length() -> Outcome<Duration> {
    let seconds = std::env::var("SECONDS").ok().map_or(Ok(10), |value| value.parse())?;
    Ok(Duration::from_secs(seconds))
}

/// Processes that attack until this is dropped.
struct Attackers(Vec<Child>);

impl Attackers {
    fn start(attack: &Attack, url: &str) -> Outcome<Self> {
        let program = std::env::current_exe()?;
        let start = |n: u8| {
            let address = Ipv4Addr::new(127, 0, 1, n).to_string();
            Command::new("nice")
                .args(["-n", "19"])
                .arg(&program)
                .args(["attacks", ATTACKER, attack.name(), url, &address])
                .stdout(Stdio::null())
                .spawn()
        };
        Ok(Self((1..=attack.addresses()).map(start).collect::<Result<_, _>>()?))
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        for attacker in &mut self.0 {
            let _ = attacker.kill();
            let _ = attacker.wait();
        }
    }
}
