//! Redis, PostgreSQL and PgBouncer as people run them themselves: on ports, with the settings of a test.

use std::{
    collections::HashMap,
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Output},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};

use super::{Place, SOON, Server, disk, eventually, server::spawn_tied};

/// Ports of servers of tests. The buses of clusters are [10,000 above](super::redis_cluster).
const FIRST_PORT: u16 = 10_000;
const PORTS: u32 = 10_000;

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

    fn id(&self) -> Pid {
        Pid::from_child(self.0.as_ref().unwrap())
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
        succeeds(&mut initdb);
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

    /// Ends all sessions, and starts on a disk of this size. It is lost with the process.
    pub async fn move_to_small_disk(&mut self, mib: u32) {
        self.running.stop(Signal::INT);
        let command = disk::on_small_disk(&postgres(&self.directory, self.port, &[]), &self.directory, mib);
        self.running = Running::start(command, &log_of(&self.directory), self.port).await;
    }

    pub fn fill_disk(&self) {
        disk::fill(self.running.id(), &self.directory);
    }

    pub fn make_room(&self) {
        disk::make_room(self.running.id(), &self.directory);
    }

    /// `kill -9` of the postmaster; its other processes end after it.
    pub fn kill(&mut self) {
        self.running.stop(Signal::KILL);
    }

    /// Signals the postmaster and all its processes.
    pub fn signal_all(&self, signal: Signal) {
        for pid in self.processes() {
            let _ = kill_process(pid, signal);
        }
    }

    /// Lets it and its sessions write files up to this size only: `unlimited`, or bytes.
    pub fn limit_files(&self, size: &str) {
        for pid in self.processes() {
            let mut prlimit = as_postgres(Path::new("prlimit"));
            // A session may have ended meanwhile.
            let _ = prlimit.args(limits(pid, size)).current_dir("/").status();
        }
    }

    fn processes(&self) -> Vec<Pid> {
        let postmaster = self.running.id();
        let path =
            format!("/proc/{}/task/{}/children", postmaster.as_raw_nonzero(), postmaster.as_raw_nonzero());
        let children = fs::read_to_string(path).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        std::iter::once(postmaster).chain(children).collect()
    }

    /// A standby of this server that streams from it. `settings` as for a start.
    pub async fn standby(&self, name: &str, settings: &[String]) -> Self {
        self.base_backup(name, &["--write-recovery-conf"]);
        self.started_from(name, settings).await
    }

    /// Copies the files of the running server, as `pg_basebackup` does with these options.
    pub fn base_backup(&self, name: &str, options: &[&str]) {
        let directory = self.directory.with_file_name(name);
        let mut copying = as_postgres(&postgres_program("pg_basebackup"));
        let primary = format!(
            "host={} port={} user=admin application_name={name}",
            self.directory.display(),
            self.port
        );
        copying.args(["--checkpoint=fast", "--no-sync", "--dbname", &primary]).args(options);
        copying.arg("--pgdata").arg(&directory).current_dir("/");
        fs::create_dir(&directory).unwrap();
        give_to_postgres(&directory);
        succeeds(&mut copying);
    }

    /// Starts with the files of a base backup.
    pub async fn started_from(&self, name: &str, settings: &[String]) -> Self {
        let (directory, port) = (self.directory.with_file_name(name), free_port());
        let running = Running::start(postgres(&directory, port, settings), &log_of(&directory), port).await;
        Self { running, directory, port, _place: Arc::clone(&self._place) }
    }

    /// The same, and recovers with what was archived here, up to its end.
    pub async fn recovered_from(&self, name: &str, archive: &Path) -> Self {
        let signal = self.directory.with_file_name(name).join("recovery.signal");
        fs::write(&signal, "").unwrap();
        give_to_postgres(&signal);
        let restore = format!("restore_command=cp {}/%f %p", archive.display());
        let recovered = self.started_from(name, &[restore, "archive_mode=off".into()]).await;
        let admin = recovered.admin("postgres").await;
        eventually("the recovery ends", SOON, || async {
            let recovers = sqlx::query_scalar("SELECT pg_is_in_recovery()").fetch_one(&admin).await;
            recovers.is_ok_and(|recovers: bool| !recovers).then_some(())
        })
        .await;
        recovered
    }

    /// A dump of the database `plaudit`, in the format that [`Self::restore`] reads.
    pub async fn dump(&self) -> Vec<u8> {
        let mut dumping = as_postgres(&postgres_program("pg_dump"));
        dumping.args(["--format=custom", "--dbname", &self.url_of("plaudit")]).current_dir("/");
        tokio::task::spawn_blocking(move || succeeds(&mut dumping).stdout).await.unwrap()
    }

    /// Replaces the database `plaudit` by a dump. Nothing else may use it.
    pub async fn restore(&self, dump: &[u8]) {
        self.administer("DROP DATABASE plaudit").await;
        self.administer("CREATE DATABASE plaudit OWNER plaudit").await;
        let file = self.directory.with_file_name("dump");
        fs::write(&file, dump).unwrap();
        let mut restoring = as_postgres(&postgres_program("pg_restore"));
        restoring.args(["--no-owner", "--exit-on-error", "--dbname", &self.url_of("plaudit")]);
        restoring.stdin(fs::File::open(file).unwrap()).current_dir("/");
        succeeds(&mut restoring);
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

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
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
    running: Running,
    directory: PathBuf,
    _place: Arc<Place>,
}

impl OwnRedis {
    /// `port` must be among `flags`, with or without TLS. Dropped, it is killed; started again with the same
    /// port and place, it has its files.
    pub async fn start(place: &Arc<Place>, port: u16, flags: &[&str]) -> Self {
        Self::start_with(Path::new("redis-server"), place, port, &[], flags).await
    }

    /// The same with another program, such as [`valkey`], and environment variables, as `NAME=value`.
    pub async fn start_with(
        program: &Path,
        place: &Arc<Place>,
        port: u16,
        variables: &[&str],
        flags: &[&str],
    ) -> Self {
        let (command, directory) = Self::command(program, place, port, variables, flags);
        Self::run(command, directory, place, port).await
    }

    /// On a disk of this size, which is lost with the process.
    pub async fn start_on_small_disk(place: &Arc<Place>, port: u16, mib: u32, flags: &[&str]) -> Self {
        let (command, directory) = Self::command(Path::new("redis-server"), place, port, &[], flags);
        Self::run(disk::on_small_disk(&command, &directory, mib), directory, place, port).await
    }

    fn command(
        program: &Path,
        place: &Place,
        port: u16,
        variables: &[&str],
        flags: &[&str],
    ) -> (Command, PathBuf) {
        let directory = Self::directory(place, port);
        fs::create_dir_all(&directory).unwrap();
        // A write beyond the limit of a file then fails, as on a full disk, and does not kill.
        let mut command = Command::new("env");
        command.arg("--ignore-signal=XFSZ").args(variables).arg(program);
        command.args(flags).arg("--dir").arg(&directory).args(["--appendonly", "yes", "--save", ""]);
        command.arg("--logfile").arg(directory.join("log")).current_dir("/");
        (command, directory)
    }

    async fn run(command: Command, directory: PathBuf, place: &Arc<Place>, port: u16) -> Self {
        let running = Running::start(command, &directory.join("output"), port).await;
        Self { running, directory, _place: Arc::clone(place) }
    }

    pub fn fill_disk(&self) {
        disk::fill(self.id(), &self.directory);
    }

    pub fn make_room(&self) {
        disk::make_room(self.id(), &self.directory);
    }

    pub fn directory(place: &Place, port: u16) -> PathBuf {
        place.path().join(format!("own-redis-{port}"))
    }

    /// The process is that of `redis-server`.
    pub fn id(&self) -> Pid {
        self.running.id()
    }

    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(self.id(), signal);
    }

    pub fn has_ended(&mut self) -> bool {
        self.running.0.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some())
    }
}

/// A Sentinel that watches one master under the name `plaudit`.
pub struct Sentinel {
    _running: Running,
    pub port: u16,
}

impl Sentinel {
    pub async fn start(place: &Arc<Place>, program: &Path, master: u16) -> Self {
        let port = free_port();
        let settings = format!(
            "port {port}\nsentinel monitor plaudit 127.0.0.1 {master} 1\n\
             sentinel down-after-milliseconds plaudit 500\nsentinel failover-timeout plaudit 5000\n",
        );
        Self::start_with(place, program, port, &settings).await
    }

    /// The same with other settings, which name the port and the master.
    pub async fn start_with(place: &Arc<Place>, program: &Path, port: u16, lines: &str) -> Self {
        let settings = place.path().join(format!("sentinel-{port}.conf"));
        fs::write(&settings, format!("bind 127.0.0.1\n{lines}")).unwrap();
        let mut command = Command::new(program);
        command.arg(&settings).arg("--sentinel").current_dir("/");
        let running = Running::start(command, &place.path().join(format!("sentinel-{port}.log")), port).await;
        Self { _running: running, port }
    }

    /// The value of `redis_url`.
    pub fn url(&self) -> String {
        format!("redis+sentinel://127.0.0.1:{}/plaudit", self.port)
    }

    /// Waits until it knows the replica of the master.
    pub async fn knows_a_replica(&self) {
        eventually("the Sentinel knows the replica", SOON, || async {
            let replicas: Vec<HashMap<String, String>> = self.ask(&["replicas", "plaudit"]).await.ok()?;
            let is_up = replicas
                .iter()
                .any(|replica| replica["flags"] == "slave" && replica["master-link-status"] == "ok");
            is_up.then_some(())
        })
        .await;
    }

    /// Has the replica take the master's place. Waits until Sentinel names it.
    pub async fn fail_over(&self, words: &[&str]) {
        let named =
            async || self.ask::<(String, u16)>(&["get-master-addr-by-name", "plaudit"]).await.unwrap().1;
        let before = named().await;
        self.ask::<String>(&[&["failover", "plaudit"], words].concat()).await.unwrap();
        eventually("Sentinel names the other one", SOON, || async {
            (named().await != before).then_some(())
        })
        .await;
    }

    async fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<T> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd("SENTINEL").arg(words).query_async(&mut connection).await
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

/// HAProxy before API processes, which probes them as Kubernetes does by `ops/kubernetes/plaudit.yaml`, only
/// more often.
pub struct Balancer {
    _running: Running,
    pub url: String,
}

impl Balancer {
    pub async fn start(place: &Arc<Place>, servers: &[&Server]) -> Self {
        let port = free_port();
        let address = |server: &Server| server.url.trim_start_matches("http://").to_owned();
        let servers: String =
            (1..).zip(servers).map(|(n, server)| format!("  server api-{n} {}\n", address(server))).collect();
        let text = format!(
            "global\n  maxconn 500\ndefaults\n  mode http\n  timeout connect 1s\n  timeout check 3s\n  timeout client 75s\n  \
             timeout server 75s\n  timeout tunnel 1h\n  default-server check inter 100ms fall 2 rise 1\nlisten plaudit\n  \
             bind 127.0.0.1:{port}\n  option httpchk GET /readyz\n{servers}",
        );
        let settings = place.path().join(format!("haproxy-{port}.cfg"));
        fs::write(&settings, text).unwrap();
        // Where Debian has it, which is not in the path of everybody.
        let installed = Path::new("/usr/sbin/haproxy");
        let mut command = Command::new(if installed.is_file() { installed } else { Path::new("haproxy") });
        command.args(["-db", "-f"]).arg(settings).current_dir("/");
        let running = Running::start(command, &place.path().join(format!("haproxy-{port}.log")), port).await;
        Self { _running: running, url: format!("http://127.0.0.1:{port}") }
    }
}

/// The one that `make prerequisites-test` built or found, or that `PGBOUNCER` names.
fn pgbouncer() -> PathBuf {
    let built = super::path_of("target/pgbouncer/pgbouncer");
    let named = std::env::var_os("PGBOUNCER").map(PathBuf::from);
    let found =
        named.into_iter().chain([built, "/usr/sbin/pgbouncer".into()]).find(|program| program.is_file());
    found.expect("PgBouncer 1.21 or newer is needed: run `make prerequisites-test`, or name one by PGBOUNCER")
}

/// The Valkey that `make prerequisites-test` got.
pub fn valkey() -> PathBuf {
    let program = super::path_of("target/valkey/redis-server");
    assert!(program.is_file(), "Valkey 9.1 is needed: run `make prerequisites-test`");
    program
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

/// Lets a process write files up to this size only: `unlimited`, or bytes. As on a full disk, more is refused.
pub(super) fn limit_files(pid: Pid, size: &str) {
    assert!(Command::new("prlimit").args(limits(pid, size)).status().unwrap().success(), "prlimit");
}

/// Arguments of `prlimit`: the soft limit only, so that it can be raised again.
fn limits(pid: Pid, size: &str) -> [String; 2] {
    [format!("--pid={}", pid.as_raw_nonzero()), format!("--fsize={size}:")]
}

/// A port that was free a moment ago. Nothing takes it by chance, also while its server is stopped: each call returns
/// another one, and all are below those that Linux gives to connections.
pub fn free_port() -> u16 {
    static NEXT: LazyLock<AtomicU32> = LazyLock::new(|| AtomicU32::new(std::process::id() * 97));
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed) % PORTS;
        let port = FIRST_PORT + number as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
