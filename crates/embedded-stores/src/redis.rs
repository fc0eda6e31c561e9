//! Embedded Redis: reachable only by its Unix socket, its data in an append-only file.

use std::{
    fs::DirBuilder,
    io::{self, Read, Write},
    os::unix::{fs::DirBuilderExt, net::UnixStream},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use rustix::process::Signal;

use super::{
    AppendFsync,
    data_dir::DataDir,
    error::{EmbeddedError, Result},
    programs,
    server::Server,
};

pub(super) struct RedisServer {
    program: PathBuf,
    dir: PathBuf,
    socket: PathBuf,
    log: PathBuf,
    fsync: AppendFsync,
}

impl RedisServer {
    pub(super) fn prepare(data: &DataDir, fsync: AppendFsync) -> Result<Self> {
        let program = programs::redis_server()?;
        let dir = data.redis_dir();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)
            .map_err(EmbeddedError::file("create", &dir))?;
        Ok(Self { program, dir, socket: data.redis_socket(), log: data.redis_log(), fsync })
    }
}

impl Server for RedisServer {
    fn name(&self) -> &'static str {
        "Redis"
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--port", "0", "--unixsocketperm", "700", "--unixsocket"]).arg(&self.socket);
        command.arg("--dir").arg(&self.dir);
        command.args(["--daemonize", "no", "--logfile", ""]); // the supervisor redirects its output
        command.args(["--appendonly", "yes", "--save", "", "--appendfsync", self.fsync.as_str()]);
        // Counters and the log must never be evicted.
        command.args(["--maxmemory-policy", "noeviction"]);
        // A membership set that stays an intset costs a tenth of the memory of a table.
        command.args(["--set-max-intset-entries", "8192"]);
        command
    }

    fn is_ready(&self, _pid: u32) -> bool {
        answers_ping(&self.socket).unwrap_or(false)
    }

    fn log(&self) -> &Path {
        &self.log
    }

    /// Redis writes and syncs its append-only file, then exits.
    fn stop_signal(&self) -> Signal {
        Signal::TERM
    }
}

/// False while Redis loads its data and replies `-LOADING`.
fn answers_ping(socket: &Path) -> io::Result<bool> {
    const PONG: &[u8] = b"+PONG\r\n";
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0; PONG.len()];
    stream.read_exact(&mut answer)?;
    Ok(answer == PONG)
}
