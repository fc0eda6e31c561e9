//! The server under attack, with its default limits, embedded stores and the demo data.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
    time::Duration,
};

use plaudit_token_auth::{Role, Subject, TokenSecret, TokenSigner};
use tempfile::TempDir;

use crate::support::Outcome;

const SECRET: &str = "the benchmark's secret, 32 bytes or more";

/// Killed when dropped.
pub struct Server {
    child: Child,
    pub url: String,
    _place: TempDir,
}

impl Server {
    pub fn start(settings: &[&str]) -> Outcome<Self> {
        let place = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir()?;
        let program = std::env::var_os("SERVER").unwrap_or_else(|| crate::support::program().into());
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--seed-if-empty", "--log", "error"])
            // The bystander flips as fast as it can measure.
            .args(["--rate-user-writes", "0"])
            .args(settings)
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

    /// CPU time that the process has used; Linux counts in hundredths of a second.
    pub fn cpu(&self) -> Outcome<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(") ").ok_or("no stat")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let ticks = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
        Ok(Duration::from_millis(10 * ticks))
    }

    /// Memory of the process, in bytes. Forgets its peak.
    pub fn memory(&self) -> Outcome<u64> {
        fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")?;
        self.status("VmRSS:")
    }

    /// The most memory since [`Self::memory`].
    pub fn peak_memory(&self) -> Outcome<u64> {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> Outcome<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
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
    Ok(signer.sign(&subject.parse::<Subject>()?, Role::User, Duration::from_mins(60))?)
}
