//! The private Redis and PostgreSQL of `plaudit serve`: the real servers, as child processes.
//!
//! - `data_dir`: what lies where; the addresses and secrets that every command reads
//! - `lock`: one plaudit per data directory, also after a `kill -9`; `lock_file`: who holds it
//! - `redis`, `postgres`: how each `server` is run; `cluster` creates PostgreSQL's files, `account` is
//!   the user it runs as, `programs` finds what is installed
//! - `supervisor`: keeps one child running; `tether` makes the child end with us, `log_file` holds
//!   what it says
//! - `error`: what can go wrong and how to mend it
//!
//! Linux only: that a child ends when its parent is killed is the kernel's doing.

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

/// Which servers to run, and how much they do for durability.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub redis: bool,
    pub postgres: bool,
    pub fsync: AppendFsync,
    /// False makes PostgreSQL faster: its data then survives a kill of any process, but not a power
    /// cut. For tests.
    pub durable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { redis: true, postgres: true, fsync: AppendFsync::EverySec, durable: true }
    }
}

/// When Redis forces its append-only file to disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppendFsync {
    /// Once a second; a power cut may take the last second.
    EverySec,
    /// Before each reply; nothing acknowledged is lost, at the price of a disk sync per batch.
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

/// A running Redis and PostgreSQL. Each is started again when it ends by itself, and both end with
/// this process, however it ends.
///
/// Dropping it does the same as [`EmbeddedServers::stop`]. Starting and stopping block: in async code
/// call them by `spawn_blocking`.
pub struct EmbeddedServers {
    redis: Option<Supervisor>,
    postgres: Option<Supervisor>,
}

impl EmbeddedServers {
    /// Starts what is wanted and blocks until it accepts connections: some tenths of a second, two seconds
    /// the first time. After that both are found by the addresses of [`DataDirLock::data_dir`].
    ///
    /// # Errors
    /// Says which program is missing or which directory is out of reach; a server that does not come
    /// up is reported with the end of its log. Nothing is left running then.
    pub fn start(lock: &DataDirLock, options: Options) -> Result<Self> {
        // Redis loads its data while PostgreSQL is being prepared.
        let mut servers = Self { redis: None, postgres: None };
        if options.redis {
            let redis = RedisServer::prepare(lock.data_dir(), options.fsync)?;
            servers.redis = Some(Supervisor::launch(redis, lock.file())?);
        }
        if options.postgres {
            let postgres = Postgres::prepare(lock, options.durable)?;
            servers.postgres = Some(Supervisor::launch(postgres, lock.file())?);
        }
        for server in servers.all() {
            server.wait_until_ready()?;
        }
        Ok(servers)
    }

    /// Ends both in order and blocks until they have ended: Redis syncs its file, PostgreSQL writes a
    /// checkpoint. Kills what takes longer than ten seconds.
    pub fn stop(self) {
        drop(self);
    }

    fn all(&self) -> impl Iterator<Item = &Supervisor> {
        self.redis.iter().chain(&self.postgres)
    }

    /// Redis's present process; `None` for the moment between an end and the next start.
    pub fn redis_pid(&self) -> Option<u32> {
        self.redis.as_ref()?.pid()
    }

    /// The postmaster's present process; `None` for the moment between an end and the next start.
    pub fn postgres_pid(&self) -> Option<u32> {
        self.postgres.as_ref()?.pid()
    }
}

impl Drop for EmbeddedServers {
    fn drop(&mut self) {
        // Both at once; dropping the supervisors then waits for each.
        for server in self.all() {
            server.begin_stop();
        }
    }
}
