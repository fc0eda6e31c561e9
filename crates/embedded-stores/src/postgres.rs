//! Embedded PostgreSQL: reachable only by its Unix socket, created at the first start.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::Signal;

use super::{
    Options,
    account::Account,
    cluster::Cluster,
    data_dir::{POSTGRES_PORT, POSTGRES_SOCKET},
    error::{EmbeddedError, Result},
    lock::DataDirLock,
    programs::{self, PostgresPrograms},
    server::Server,
};

pub(super) struct Postgres {
    programs: PostgresPrograms,
    account: Option<Account>,
    dir: PathBuf,
    log: PathBuf,
    settings: Vec<&'static str>,
}

impl Postgres {
    /// Creates the database files when they are absent, which takes about a second.
    pub(super) fn prepare(lock: &DataDirLock, options: &Options) -> Result<Self> {
        let data = lock.data_dir();
        let dir = data.postgres_dir();
        let account = Account::for_postgres()?;
        if let Some(account) = account {
            account.check_access(data.path())?;
        }
        let programs = programs::postgres_for(&dir)?;
        if dir.exists() {
            remove_stale_pid_files(&dir)?;
        } else {
            Cluster { programs: &programs, account, lock, durable: options.durable }.create(&dir)?;
        }
        let mut settings = SETTINGS.to_vec();
        settings.extend(if options.durable { &[] } else { NOT_DURABLE });
        settings.extend(options.postgres_settings); // of two with one name, PostgreSQL takes the later one
        Ok(Self { programs, account, dir, log: data.postgres_log(), settings })
    }
}

/// Removes the pid files that a killed PostgreSQL left. It would refuse to start if one of the ids
/// now belongs to another process, as is common after a restart of a container. Removing them is
/// safe: the lock proves that all its processes have ended.
fn remove_stale_pid_files(dir: &Path) -> Result<()> {
    for name in ["postmaster.pid", &format!("{POSTGRES_SOCKET}.lock")] {
        let path = dir.join(name);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(EmbeddedError::file("remove", path)(e));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Server for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.programs.postgres);
        command.current_dir(&self.dir).arg("-D").arg(&self.dir).args(["-p", POSTGRES_PORT]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        if let Some(account) = self.account {
            account.run_as(&mut command);
        }
        command
    }

    /// Reads the state that the postmaster keeps in its pid file, as `pg_ctl --wait` does.
    fn is_ready(&self, pid: u32) -> bool {
        let status = fs::read_to_string(self.dir.join("postmaster.pid")).unwrap_or_default();
        let lines: Vec<&str> = status.lines().map(str::trim_end).collect();
        lines.first() == Some(&pid.to_string().as_str()) && lines.get(7) == Some(&"ready")
    }

    fn log(&self) -> &Path {
        &self.log
    }

    /// "Fast shutdown": disconnect all clients, write a checkpoint, exit. Also used when plaudit was killed:
    /// the checkpoint under load takes half a second, the replay that it avoids one to three.
    fn stop_signal(&self) -> Signal {
        Signal::INT
    }
}

const SETTINGS: &[&str] = &[
    "listen_addresses=",
    "unix_socket_directories=.", // the data directory, which only PostgreSQL's user may enter
    "unix_socket_permissions=0700",
    "max_connections=100",
    "shared_buffers=128MB",
    "wal_compression=lz4",
];

/// A commit then survives a kill of any process, but not a crash of the machine.
const NOT_DURABLE: &[&str] = &["fsync=off", "full_page_writes=off"];
