//! A server on the stores of a benchmark.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, ExitStatus, Stdio},
};

use plaudit_embedded_stores::DataDir;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::Outcome;

pub const SECRET: &str = "the benchmark's secret, 32 bytes or more";

/// Stopped when dropped.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    pub fn start(data: &DataDir, flags: &[&str]) -> Outcome<Self> {
        let mut child = Command::new(crate::support::program())
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn"])
            .args(["--rate-user-writes", "0", "--rate-address-writes", "0"])
            .args(["--redis-url", &data.redis_url(), "--database-url", &data.database_url()])
            .args(flags)
            .env("PLAUDIT_JWT_SECRET", SECRET)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
        let line = lines.next().ok_or("the server ended")??;
        std::thread::spawn(move || lines.for_each(drop)); // so that it never waits for a reader
        let url = line.strip_prefix("listening on ").ok_or(line.clone())?.to_owned();
        Ok(Self { child, url })
    }

    /// Asks it to stop, as a service manager does.
    pub fn terminate(&self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM); // fails if it has ended
    }

    /// Its status, if it has ended.
    pub fn status(&mut self) -> Outcome<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.terminate();
        let _ = self.child.wait();
    }
}
