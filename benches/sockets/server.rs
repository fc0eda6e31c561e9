//! The server under test, as a separate process.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use plaudit_token_auth::{Role, Subject, TokenSecret, TokenSigner};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::Outcome;

/// Settings other than the defaults: limits that would refuse this many sockets or likes of one address are raised.
const FLAGS: &[&str] = &[
    "--reconcile-sample=0",
    "--log=warn",
    "--sockets-per-address=20000",
    "--rate-user-reads=0",
    "--rate-user-writes=0",
    "--rate-address-reads=0",
    "--rate-address-writes=0",
];
const SECRET: &str = "the benchmark's secret, 32 bytes or more";
/// Linux counts CPU in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// Killed when dropped.
pub struct Server {
    child: Child,
    pub url: String,
    _place: Arc<TempDir>,
}

impl Server {
    /// Starts a server with demo data. Another process writes the data, so that its memory does not distort the result.
    pub fn start() -> Outcome<Self> {
        let place =
            Arc::new(tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir()?);
        Self::start_in(&place, &["--seed-if-empty"])?.stop()?;
        Self::start_in(&place, &[])
    }

    fn start_in(place: &Arc<TempDir>, flags: &[&str]) -> Outcome<Self> {
        let program = std::env::var_os("PLAUDIT_BIN").unwrap_or_else(|| crate::support::program().into());
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(FLAGS)
            .args(flags)
            .arg("--data-dir")
            .arg(place.path().join("data"))
            .env("PLAUDIT_JWT_SECRET", SECRET)
            .env_remove("PLAUDIT_BIN")
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
        let line = lines.next().ok_or("the server ended")??;
        std::thread::spawn(move || lines.for_each(drop)); // drains the output, so that the server never blocks on it
        let url = line.strip_prefix("listening on ").ok_or(line.clone())?.to_owned();
        Ok(Self { child, url, _place: Arc::clone(place) })
    }

    pub fn stop(mut self) -> Outcome<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        self.child.wait()?;
        Ok(())
    }

    /// User and system CPU time of the process since its start.
    pub fn cpu(&self) -> Outcome<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(") ").ok_or("no fields")?;
        let mut ticks = 0;
        for field in fields.split(' ').skip(11).take(2) {
            ticks += field.parse::<u32>()?;
        }
        Ok(TICK * ticks)
    }

    pub fn resident_bytes(&self) -> Outcome<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim_end_matches("kB").trim().parse::<u64>()? * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn token(subject: &str) -> Outcome<String> {
    let signer = TokenSigner::hs256(&SECRET.parse::<TokenSecret>()?);
    Ok(signer.sign(&subject.parse::<Subject>()?, Role::User, Duration::from_secs(600))?)
}
