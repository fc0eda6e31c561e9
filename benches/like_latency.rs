//! Benchmark of latency: the time of a single `likeNote` on an idle server, from the request to the reply with the new
//! count, over HTTP on loopback. Prints percentiles in milliseconds.
//!
//! `cargo measure like_latency`. The server is `target/release/plaudit` with embedded stores.

use crate::support::Outcome;
use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use plaudit_token_auth::{Role, Subject, TokenSecret, TokenSigner};
use serde_json::{Value, json};

const SECRET: &str = "the benchmark's secret, 32 bytes or more";
const WARM_UP: usize = 200;
const LIKES: usize = 2_000;

pub fn main() -> Outcome<()> {
    let place = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir()?;
    let (mut server, url) = start(&place.path().join("data"))?;
    let result = tokio::runtime::Runtime::new()?.block_on(measure(&url));
    rustix::process::kill_process(rustix::process::Pid::from_child(&server), rustix::process::Signal::TERM)?;
    server.wait()?;
    print(&result?);
    Ok(())
}

fn start(data_dir: &std::path::Path) -> Outcome<(Child, String)> {
    let mut child = Command::new(crate::support::program())
        .args(["serve", "--listen", "127.0.0.1:0", "--seed-if-empty", "--log", "warn"])
        .args(["--rate-user-writes", "0", "--rate-address-writes", "0"])
        .arg("--data-dir")
        .arg(data_dir)
        .env("PLAUDIT_JWT_SECRET", SECRET)
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = BufReader::new(child.stdout.take().ok_or("no stdout")?);
    let line = stdout.lines().next().ok_or("the server ended")??;
    let url = line.strip_prefix("listening on ").ok_or(line.clone())?.to_owned();
    Ok((child, url))
}

/// Likes and unlikes one note in turn, one request at a time.
async fn measure(url: &str) -> Outcome<Histogram<u64>> {
    let signer = TokenSigner::hs256(&SECRET.parse::<TokenSecret>()?);
    let token = signer.sign(&"mira.okafor".parse::<Subject>()?, Role::User, Duration::from_secs(600))?;
    let _ = rustls::crypto::ring::default_provider().install_default(); // fails only if a provider is installed
    let client = reqwest::Client::new();
    let mut micros = Histogram::new(3)?;
    for i in 0..WARM_UP + LIKES {
        let mutation = if i % 2 == 0 { "likeNote" } else { "unlikeNote" };
        let query = format!(
            "mutation {{ {mutation}(input: {{ noteId: \"note_1\" }}) {{ changed note {{ likeCount countsVersion viewerHasLiked }} }} }}"
        );
        let start = Instant::now();
        let request =
            client.post(format!("{url}/graphql")).bearer_auth(&token).json(&json!({ "query": query }));
        let reply: Value = request.send().await?.json().await?;
        if i >= WARM_UP {
            micros.record(start.elapsed().as_micros() as u64)?;
        }
        if reply["data"][mutation]["note"]["viewerHasLiked"] != (i % 2 == 0) {
            return Err(reply.to_string().into());
        }
    }
    Ok(micros)
}

fn print(micros: &Histogram<u64>) {
    println!("{} times likeNote on an idle server, milliseconds:", micros.len());
    for quantile in [0.5, 0.9, 0.99, 1.0] {
        println!("  p{:<4} {:.2}", quantile * 100.0, micros.value_at_quantile(quantile) as f64 / 1_000.0);
    }
}
