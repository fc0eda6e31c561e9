//! The server under test, as a separate process.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use plaudit_embedded_stores::DataDir;
use plaudit_token_auth::{Role, Subject, TokenSecret, TokenSigner};
use rustix::process::{Pid, Signal, kill_process};

use super::{Outcome, bare};

const SECRET: &str = "the benchmark's secret, 32 bytes or more";
/// Linux counts CPU in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// Killed when dropped.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    /// A server on the stores of this directory, without rate limits.
    pub fn start(data: &DataDir, flags: &[&str]) -> Outcome<Self> {
        let mut command = Command::new(crate::support::program());
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--reconcile-sample", "0"])
            .args(["--redis-url", &data.redis_url(), "--database-url", &data.database_url()])
            .args(["user", "address"].iter().flat_map(|who| {
                ["reads", "writes", "creations"].map(|class| format!("--rate-{who}-{class}=0"))
            }))
            .args(flags)
            .env("PLAUDIT_JWT_SECRET", SECRET);
        Self::spawn(command)
    }

    /// A server that only answers the bytes of `{ __typename }`.
    pub fn start_bare() -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("plans").env(bare::VARIABLE, "");
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Outcome<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
        let line = lines.next().ok_or("the server ended")??;
        std::thread::spawn(move || lines.for_each(drop)); // drains the output, so that the server never blocks on it
        let url = line.strip_prefix("listening on ").ok_or(line.clone())?.to_owned();
        Ok(Self { child, url })
    }

    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
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
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A token of a user of the demo data, who may also moderate.
pub fn token() -> Outcome<String> {
    let signer = TokenSigner::hs256(&SECRET.parse::<TokenSecret>()?);
    Ok(signer.sign(&"mira.okafor".parse::<Subject>()?, Role::Moderator, Duration::from_mins(60))?)
}
