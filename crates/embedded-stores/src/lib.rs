//! Embedded Redis and PostgreSQL of `plaudit serve`: the real servers, as supervised child processes.
//!
//! - `data_dir`: layout of the files; addresses and secrets that every command reads
//! - `lock`: one plaudit per data directory, also after a `kill -9`; `lock_file`: its record of the holder
//! - `redis`, `postgres`: how each `server` is run; `cluster` creates PostgreSQL's files, `account` is
//!   the user it runs as, `programs` finds what is installed
//! - `supervisor`: keeps one child running; `tether` makes the child end with this process,
//!   `log_file` stores its output
//! - `error`: errors and how to fix them
//!
//! Linux only: it relies on the kernel's parent-death signal.

mod account;
mod cluster;
mod data_dir;
mod error;
mod lock;
mod lock_file;
mod log_file;
mod postgres;
mod programs;
mod redis;
mod server;
mod supervisor;
mod tether;

pub use data_dir::DataDir;
pub use error::{EmbeddedError, Result};
pub use lock::DataDirLock;
pub use lock_file::Holder;

use postgres::Postgres;
use redis::RedisServer;
use supervisor::Supervisor;

/// Which servers to run, and their durability.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub redis: bool,
    pub postgres: bool,
    pub fsync: AppendFsync,
    /// False makes PostgreSQL faster: its data then survives a kill of any process, but not a power
    /// cut. For tests.
    pub durable: bool,
    /// More settings of PostgreSQL, as `name=value`. They win over Plaudit's own.
    pub postgres_settings: &'static [&'static str],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            redis: true,
            postgres: true,
            fsync: AppendFsync::EverySec,
            durable: true,
            postgres_settings: &[],
        }
    }
}

/// When Redis forces its append-only file to disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppendFsync {
    /// Once a second; a power cut can lose the last second.
    EverySec,
    /// Before each reply; no acknowledged write is lost, at the cost of a disk sync per batch.
    Always,
}

impl AppendFsync {
    const fn as_str(self) -> &'static str {
        match self {
            Self::EverySec => "everysec",
            Self::Always => "always",
        }
    }
}

/// A running Redis and PostgreSQL. Each is restarted when it exits unexpectedly, and both end with this
/// process, even after a `kill -9`.
///
/// Dropping it does the same as [`EmbeddedServers::stop`]. Starting and stopping block: in async code
/// call them by `spawn_blocking`.
pub struct EmbeddedServers {
    redis: Option<Supervisor>,
    postgres: Option<Supervisor>,
}

/// Checks that the servers of the options could be started in this directory: their programs are installed, and
/// the disk has room. Changes nothing. Returns the free room in MiB.
///
/// # Errors
/// Names what is missing.
pub fn check(dir: &DataDir, options: &Options) -> Result<u64> {
    let free_mib = dir.room()?;
    if options.redis {
        programs::redis_server()?;
    }
    if options.postgres {
        programs::postgres_for(&dir.postgres_dir())?;
    }
    Ok(free_mib)
}

impl EmbeddedServers {
    /// Starts the selected servers and blocks until they accept connections: some tenths of a second, two
    /// seconds the first time. They listen in [`DataDirLock::data_dir`].
    ///
    /// # Errors
    /// Names the missing program or the inaccessible directory; if a server does not start, contains the
    /// end of its log. No server is left running.
    pub fn start(lock: &DataDirLock, options: Options) -> Result<Self> {
        lock.data_dir().room()?; // the programs are looked for where they are started
        // Redis loads its data while PostgreSQL is being prepared.
        let mut servers = Self { redis: None, postgres: None };
        if options.redis {
            let redis = RedisServer::prepare(lock.data_dir(), options.fsync)?;
            servers.redis = Some(Supervisor::launch(redis, lock.file())?);
        }
        if options.postgres {
            let postgres = Postgres::prepare(lock, &options)?;
            servers.postgres = Some(Supervisor::launch(postgres, lock.file())?);
        }
        for server in servers.all() {
            server.wait_until_ready()?;
        }
        Ok(servers)
    }

    /// Shuts both down cleanly and blocks until they have ended: Redis syncs its file, PostgreSQL writes a
    /// checkpoint. A server that takes longer than ten seconds is killed.
    pub fn stop(self) {
        drop(self);
    }

    fn all(&self) -> impl Iterator<Item = &Supervisor> {
        self.redis.iter().chain(&self.postgres)
    }

    /// Current process of Redis; `None` between an exit and the next start.
    pub fn redis_pid(&self) -> Option<u32> {
        self.redis.as_ref()?.pid()
    }

    /// Current process of the postmaster; `None` between an exit and the next start.
    pub fn postgres_pid(&self) -> Option<u32> {
        self.postgres.as_ref()?.pid()
    }
}

impl Drop for EmbeddedServers {
    fn drop(&mut self) {
        // Stops both in parallel; dropping the supervisors then waits for each.
        for server in self.all() {
            server.begin_stop();
        }
    }
}
