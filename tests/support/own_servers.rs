//! Redis, PostgreSQL and PgBouncer as people run them themselves: on ports, with the settings of a test.

use std::{
    collections::HashMap,
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::Arc,
};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};

use super::{Place, SOON, eventually, server::spawn_tied};

/// A process that ends with this value.
struct Running(Option<Child>);

impl Running {
    /// `command` is a program with arguments only.
    async fn start(command: Command, log: &Path, port: u16) -> Self {
        let mut running = Self(Some(spawn_tied(command, None, log)));
        eventually("the server accepts connections", SOON, || {
            let ended = running.0.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some());
            assert!(!ended, "the server ended: {}", fs::read_to_string(log).unwrap_or_default());
            std::future::ready(TcpStream::connect(("127.0.0.1", port)).ok().map(drop))
        })
        .await;
        running
    }

    fn stop(&mut self, signal: Signal) {
        if let Some(mut child) = self.0.take() {
            let _ = kill_process(Pid::from_child(&child), signal);
            let _ = child.wait();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop(Signal::KILL);
    }
}

/// A PostgreSQL with a role and a database `plaudit`. The administrator comes by its Unix socket.
pub struct OwnPostgres {
    running: Running,
    directory: PathBuf,
    pub port: u16,
    _place: Arc<Place>,
}

impl OwnPostgres {
    /// `hba`: lines of `pg_hba.conf` for connections to its port; `settings`: such as `ssl=on`.
    pub async fn start(place: &Arc<Place>, hba: &str, settings: &[String]) -> Self {
        let directory = place.path().join("own-postgres");
        fs::create_dir(&directory).unwrap();
        give_to_postgres(&directory);
        let mut initdb = as_postgres(&postgres_program("initdb"));
        initdb.arg("--pgdata").arg(&directory).args(["--username=admin", "--auth=trust", "--no-sync"]);
        initdb.args(["--encoding=UTF8", "--locale=C.UTF-8"]).current_dir("/");
        let output = initdb.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let hba = format!("local all all trust\nlocal replication all trust\n{hba}\n");
        fs::write(directory.join("pg_hba.conf"), hba).unwrap();
        let port = free_port();
        let running = Running::start(postgres(&directory, port, settings), &log_of(&directory), port).await;
        let postgres = Self { running, directory, port, _place: Arc::clone(place) };
        postgres.administer("CREATE ROLE plaudit LOGIN").await;
        postgres.administer("CREATE DATABASE plaudit OWNER plaudit").await;
        postgres
    }

    /// Ends all sessions, and starts with these settings.
    pub async fn restart(&mut self, settings: &[String]) {
        self.running.stop(Signal::INT);
        let command = postgres(&self.directory, self.port, settings);
        self.running = Running::start(command, &log_of(&self.directory), self.port).await;
    }

    /// `kill -9` of the postmaster; its other processes end after it.
    pub fn kill(&mut self) {
        self.running.stop(Signal::KILL);
    }

    /// A standby of this server that streams from it. `settings` as for a start.
    pub async fn standby(&self, name: &str, settings: &[String]) -> Self {
        let directory = self.directory.with_file_name(name);
        let mut copying = as_postgres(&postgres_program("pg_basebackup"));
        let primary = format!(
            "host={} port={} user=admin application_name={name}",
            self.directory.display(),
            self.port
        );
        copying.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--dbname", &primary]);
        copying.arg("--pgdata").arg(&directory).current_dir("/");
        fs::create_dir(&directory).unwrap();
        give_to_postgres(&directory);
        let output = copying.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let port = free_port();
        let running = Running::start(postgres(&directory, port, settings), &log_of(&directory), port).await;
        Self { running, directory, port, _place: Arc::clone(&self._place) }
    }

    /// Ends the recovery of a standby: it is the primary from now on.
    pub async fn promote(&self) {
        self.administer("SELECT pg_promote()").await;
    }

    /// By its Unix socket, without a password.
    pub fn url_of(&self, user: &str) -> String {
        let directory = self.directory.display();
        format!("postgres://{user}@localhost:{}/plaudit?host={directory}", self.port)
    }

    /// The administrator's connections to a database.
    pub async fn admin(&self, database: &str) -> PgPool {
        let url = self.url_of("admin").replace("/plaudit?", &format!("/{database}?"));
        eventually("PostgreSQL lets the administrator in", SOON, || async {
            PgPoolOptions::new().max_connections(2).connect(&url).await.ok()
        })
        .await
    }

    /// Runs the commands that a refused start names, between backticks.
    pub async fn run_what_is_said(&self, said: &str) {
        for command in said.split('`').nth(1).unwrap().split_terminator(';') {
            self.administer(command).await;
        }
    }

    /// Runs one statement as the administrator, in the database `postgres`.
    pub async fn administer(&self, statement: &str) {
        let admin = self.admin("postgres").await;
        sqlx::query(AssertSqlSafe(statement.to_owned())).execute(&admin).await.unwrap();
        admin.close().await;
    }
}

fn postgres(directory: &Path, port: u16, settings: &[String]) -> Command {
    let mut command = as_postgres(&postgres_program("postgres"));
    command.arg("-D").arg(directory);
    let directory = format!("unix_socket_directories={}", directory.display());
    let port = format!("port={port}");
    let own = ["listen_addresses=127.0.0.1", &port, &directory, "fsync=off", "shared_buffers=32MB"];
    for setting in own.into_iter().chain(settings.iter().map(String::as_str)) {
        command.args(["-c", setting]);
    }
    command.current_dir("/");
    command
}

/// A Redis on a port.
pub struct OwnRedis {
    _running: Running,
    _place: Arc<Place>,
}

impl OwnRedis {
    /// `port` must be among `flags`, as `--port` or `--tls-port`. Dropped, it is killed; started again with the same
    /// port and place, it has its files.
    pub async fn start(place: &Arc<Place>, port: u16, flags: &[&str]) -> Self {
        let directory = place.path().join(format!("own-redis-{port}"));
        fs::create_dir_all(&directory).unwrap();
        let mut command = Command::new("redis-server");
        command.args(flags).arg("--dir").arg(&directory).args(["--appendonly", "yes", "--save", ""]);
        command.arg("--logfile").arg(directory.join("log")).current_dir("/");
        let running = Running::start(command, &directory.join("output"), port).await;
        Self { _running: running, _place: Arc::clone(place) }
    }
}

/// A Sentinel that watches one master under the name `plaudit`.
pub struct Sentinel {
    _running: Running,
    pub port: u16,
}

impl Sentinel {
    pub async fn start(place: &Arc<Place>, master: u16) -> Self {
        let port = free_port();
        let settings = place.path().join(format!("sentinel-{port}.conf"));
        let text = format!(
            "port {port}\nbind 127.0.0.1\nsentinel monitor plaudit 127.0.0.1 {master} 1\n\
             sentinel down-after-milliseconds plaudit 500\nsentinel failover-timeout plaudit 5000\n",
        );
        fs::write(&settings, text).unwrap();
        let mut command = Command::new("redis-server");
        command.arg(&settings).arg("--sentinel").current_dir("/");
        let running = Running::start(command, &place.path().join(format!("sentinel-{port}.log")), port).await;
        Self { _running: running, port }
    }

    /// Waits until it knows the replica of the master.
    pub async fn knows_a_replica(&self) {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        eventually("the Sentinel knows the replica", SOON, || async {
            let mut connection = client.get_multiplexed_async_connection().await.ok()?;
            let mut ask = redis::cmd("SENTINEL");
            let replicas: Vec<HashMap<String, String>> =
                ask.arg("replicas").arg("plaudit").query_async(&mut connection).await.ok()?;
            let is_up = replicas
                .iter()
                .any(|replica| replica["flags"] == "slave" && replica["master-link-status"] == "ok");
            is_up.then_some(())
        })
        .await;
    }
}

/// A PgBouncer in transaction mode before a PostgreSQL.
pub struct PgBouncer {
    running: Running,
    directory: PathBuf,
    pub port: u16,
}

impl PgBouncer {
    /// Before the PostgreSQL on this port; `settings`: lines of its section `[pgbouncer]`.
    pub async fn start(place: &Arc<Place>, postgres: u16, settings: &str) -> Self {
        let port = free_port();
        let directory = place.path().join(format!("own-pgbouncer-{port}"));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("users"), "\"plaudit\" \"\"\n").unwrap();
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={postgres}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {}/users\nadmin_users = plaudit\n\
             pool_mode = transaction\n{settings}\n",
            directory.display(),
        );
        fs::write(directory.join("pgbouncer.ini"), text).unwrap();
        let running = Self::run(&directory, port).await;
        Self { running, directory, port }
    }

    /// `kill -9`, and a new process.
    pub async fn restart(&mut self) {
        self.running.stop(Signal::KILL);
        self.running = Self::run(&self.directory, self.port).await;
    }

    async fn run(directory: &Path, port: u16) -> Running {
        let mut command = as_postgres(&pgbouncer());
        command.arg(directory.join("pgbouncer.ini")).current_dir("/");
        Running::start(command, &directory.join("log"), port).await
    }

    pub fn url(&self) -> String {
        format!("postgres://plaudit@127.0.0.1:{}/plaudit", self.port)
    }

    /// A command of its console.
    pub async fn command(&self, command: &str) {
        let console = format!("postgres://plaudit@127.0.0.1:{}/pgbouncer", self.port);
        let options: sqlx::postgres::PgConnectOptions = console.parse().unwrap();
        let options = options.extra_float_digits(None::<i8>);
        let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(command.to_owned())).execute(&mut connection).await.unwrap();
    }
}

/// The one that `scripts/prerequisites.sh test` built or found, or that `PGBOUNCER` names.
fn pgbouncer() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pgbouncer/pgbouncer");
    let named = std::env::var_os("PGBOUNCER").map(PathBuf::from);
    let found =
        named.into_iter().chain([built, "/usr/sbin/pgbouncer".into()]).find(|program| program.is_file());
    found.expect("PgBouncer 1.21 or newer is needed: run `make prerequisites-test`, or name one by PGBOUNCER")
}

/// The newest of those that Debian installs, or the one in the path.
fn postgres_program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|version| Some((version.file_name().to_str()?.parse::<u32>().ok()?, version.path())))
        .max();
    newest.map_or_else(|| name.into(), |(_, path)| path.join("bin").join(name))
}

/// PostgreSQL and PgBouncer refuse to run as root.
fn as_postgres(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if geteuid().is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    // The kernel forgets the signal when the user changes.
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

/// Makes a file or directory that of the user that runs PostgreSQL, and of nobody else.
pub(super) fn give_to_postgres(path: &Path) {
    let mode = if path.is_dir() { 0o700 } else { 0o600 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    if !geteuid().is_root() {
        return;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find(|line| line.starts_with("postgres:")).unwrap();
    let ids: Vec<u32> = line.split(':').skip(2).take(2).map(|id| id.parse().unwrap()).collect();
    chown(path, Some(ids[0]), Some(ids[1])).unwrap();
}

fn log_of(directory: &Path) -> PathBuf {
    directory.with_extension("log")
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
