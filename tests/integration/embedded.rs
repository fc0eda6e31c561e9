//! Embedded Redis and PostgreSQL: data survives stops and kills, and no process is left behind.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use plaudit_embedded_stores::{AppendFsync, DataDir, DataDirLock, EmbeddedServers, Options};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

const HELPER_DATA_DIR: &str = "PLAUDIT_TEST_HELPER_DATA_DIR";

#[test]
fn data_survives_a_stop_and_the_next_start_is_fast() {
    let place = Place::new();
    let mut fresh = Running::start(&place);
    write(&fresh.dir, "first");
    for _ in 0..2 {
        fresh.stop();
        let start = Instant::now();
        fresh = Running::start(&place);
        assert!(start.elapsed() < Duration::from_secs(10), "took {:?}", start.elapsed());
        assert_eq!(read(&fresh.dir), "first");
    }
}

#[test]
fn an_embedded_database_of_another_schema_is_refused_with_the_directory_to_remove() {
    let place = Place::new();
    let running = Running::start(&place);
    let data_dir = running.dir.path().to_owned();
    try_sql(&running.dir, "CREATE TABLE app_user (id bigint)").unwrap();
    running.stop();
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let output = support::plaudit(&data_dir).args(serve).output().unwrap();
    let output_text =
        String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned();
    assert!(!output.status.success(), "{output_text}");
    let advice = format!("remove the data directory {}, and all data with it", data_dir.display());
    assert!(output_text.contains(&advice), "{output_text}");
    assert_eq!(output_text.lines().filter(|line| line.starts_with("plaudit: ")).count(), 1, "{output_text}");
}

#[test]
fn a_stop_ends_both_processes_and_frees_the_directory() {
    let place = Place::new();
    for _ in 0..2 {
        let running = Running::start(&place);
        let (dir, pids) = (running.dir.clone(), running.pids());
        assert!(dir.has_redis() && dir.has_postgres());
        running.stop();
        assert!(pids.into_iter().all(has_ended));
        assert!(!dir.has_redis() && !dir.has_postgres());
    }
}

#[test]
fn a_killed_redis_restarts_with_its_data() {
    let place = Place::new();
    let running = Running::start(&place);
    for round in ["one", "two"] {
        write(&running.dir, round);
        let killed = running.servers.redis_pid().unwrap();
        kill(killed);
        eventually("Redis has a new process", || {
            running.servers.redis_pid().is_some_and(|pid| pid != killed)
        });
        eventually("Redis responds", || try_redis(&running.dir, "GET", &["word"]).is_ok());
        assert_eq!(read(&running.dir), round);
    }
}

#[test]
fn a_killed_postmaster_restarts_with_its_data() {
    let place = Place::new();
    let running = Running::start(&place);
    for round in ["one", "two"] {
        write(&running.dir, round);
        let killed = running.servers.postgres_pid().unwrap();
        kill(killed);
        eventually("PostgreSQL has a new process", || {
            running.servers.postgres_pid().is_some_and(|pid| pid != killed)
        });
        eventually("PostgreSQL responds", || try_sql(&running.dir, "SELECT 'yes'").is_ok());
        assert_eq!(read(&running.dir), round);
    }
}

#[test]
fn servers_end_with_a_killed_parent_and_the_next_start_has_their_data() {
    let place = Place::new();
    for round in ["one", "two"] {
        let mut helper = Helper::start(&place);
        write(&place.open(), round);
        helper.kill();

        let running = Running::start(&place);
        assert!(helper.server_pids().into_iter().all(has_ended), "the old servers still run");
        assert_eq!(read(&running.dir), round);
        running.stop();
    }
}

#[test]
fn a_directory_in_use_is_refused_at_once_and_the_error_names_its_process() {
    let place = Place::new();
    let helper = Helper::start(&place);
    assert!(place.open().has_redis() && place.open().has_postgres());
    for _ in 0..2 {
        let start = Instant::now();
        let error = DataDirLock::take(&place.open(), "127.0.0.1:2").unwrap_err().to_string();
        assert!(start.elapsed() < Duration::from_secs(1));
        assert!(error.contains(&format!("(process {} on 127.0.0.1:1, since 2", helper.pid())), "{error}");
        assert!(error.ends_with("stop it or choose another with --data-dir"), "{error}");
    }
}

#[test]
fn a_kill_while_the_database_is_created_leaves_no_partial_database() {
    let place = Place::new();
    for _ in 0..2 {
        let mut helper = Helper::spawn(&place);
        eventually("initdb runs", || place.path().join("postgres.new/PG_VERSION").exists());
        helper.kill();
    }
    let running = Running::start(&place);
    write(&running.dir, "whole");
    assert_eq!(read(&running.dir), "whole");
    assert!(!place.path().join("postgres.new").exists());
}

#[test]
fn stale_pid_files_of_a_killed_postgres_do_not_prevent_the_next_start() {
    let place = Place::new();
    Running::start(&place).stop();
    for name in ["postmaster.pid", ".s.PGSQL.5432.lock"] {
        // As if this running process had the process id of the killed postmaster.
        fs::write(place.path().join("postgres").join(name), format!("{}\n", std::process::id())).unwrap();
    }
    let running = Running::start(&place);
    write(&running.dir, "here");
    assert_eq!(read(&running.dir), "here");
}

#[test]
fn a_server_that_cannot_start_is_reported_with_the_end_of_its_log() {
    let place = Place::new();
    let lock = place.lock();
    fs::create_dir_all(place.path().join("redis")).unwrap();
    fs::write(place.path().join("redis/appendonlydir"), "not a directory").unwrap();
    let error = EmbeddedServers::start(&lock, OPTIONS).err().unwrap().to_string();
    assert!(
        error.starts_with("Redis does not start: it keeps exiting") && error.contains("append-only dir"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_work_beside_a_server_of_which_one_store_is_embedded() {
    let place = Arc::new(support::Place::new());
    let port = support::free_port();
    let redis = support::OwnRedis::start(&place, port, &["--port", &port.to_string()]).await;
    let redis_url = format!("redis://127.0.0.1:{port}");
    beside_a_server_with(&["--redis-url", &redis_url], "PostgreSQL");
    drop(redis);
    let postgres = support::OwnPostgres::start(&place, "", &[]).await;
    beside_a_server_with(&["--database-url", &postgres.url_of("plaudit")], "Redis");
}

/// `own`: the flag that names one's own store; `embedded`: the other one.
fn beside_a_server_with(own: &[&str], embedded: &str) {
    let mut server = support::Server::start(own);
    let data_dir = server.data_dir().to_owned();
    let run = |command: &[&str]| {
        let output = support::plaudit(&data_dir).args(command).args(own).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    for command in
        [&["seed", "--users", "3", "--notes", "2"][..], &["reconcile"], &["explain", "note_1"], &["check"]]
    {
        let (is_done, said) = run(command);
        assert!(is_done, "{embedded} is embedded, {command:?}: {said}");
    }
    // It needs PostgreSQL only.
    let own_of_database = if embedded == "Redis" { own } else { &[] };
    let exported = support::plaudit(&data_dir).arg("export").args(own_of_database).output().unwrap();
    assert!(exported.status.success() && !exported.stdout.is_empty(), "{exported:?}");
    server.stop();
    let (is_done, said) = run(&["reconcile"]);
    assert!(!is_done && said.contains(&format!("with an embedded {embedded}")), "{said}");
    let (is_done, said) = run(&["check", "--listen", "127.0.0.1:0"]);
    assert!(is_done && said.contains(&format!("{embedded:<16}the embedded one does not run")), "{said}");
}

#[test]
fn redis_runs_with_the_settings_that_counters_rely_on() {
    let place = Place::new();
    let running = Running::start_with(&place, Options { fsync: AppendFsync::Always, ..OPTIONS });
    for (name, expected) in [
        ("appendonly", "yes"),
        ("appendfsync", "always"),
        ("maxmemory-policy", "noeviction"),
        ("save", ""),
        ("set-max-intset-entries", "8192"),
        ("port", "0"),
    ] {
        let reply: Vec<String> = redis_value(&running.dir, "CONFIG", &["GET", name]).unwrap();
        assert_eq!(reply, [name, expected]);
    }
}

/// Not a test: other tests run it in a separate process, which they kill.
#[test]
#[ignore = "started by other tests"]
fn helper_that_runs_the_servers() {
    let Some(path) = env::var_os(HELPER_DATA_DIR) else { return };
    let lock = DataDirLock::take(&DataDir::open(path).unwrap(), "127.0.0.1:1").unwrap();
    let servers = EmbeddedServers::start(&lock, Options::default()).unwrap();
    println!("\nready {} {}", servers.redis_pid().unwrap(), servers.postgres_pid().unwrap());
    let _ = std::io::stdin().read(&mut [0]); // until the parent test ends
}

/// Data of these tests must survive kills of processes, not of the machine.
const OPTIONS: Options = Options {
    redis: true,
    postgres: true,
    fsync: AppendFsync::EverySec,
    durable: false,
    postgres_settings: &[],
};

/// A data directory per test; its name needs quoting.
struct Place(support::Place);

impl Place {
    fn new() -> Self {
        Self(support::Place::new())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("my data")
    }

    fn open(&self) -> DataDir {
        DataDir::open(self.path()).unwrap()
    }

    fn lock(&self) -> DataDirLock {
        DataDirLock::take(&self.open(), "127.0.0.1:3").unwrap()
    }
}

/// Both servers, run by this process. Fields drop in this order: the servers before the lock.
struct Running {
    servers: EmbeddedServers,
    dir: DataDir,
    _lock: DataDirLock,
}

impl Running {
    fn start(place: &Place) -> Self {
        Self::start_with(place, OPTIONS)
    }

    fn start_with(place: &Place, options: Options) -> Self {
        let lock = place.lock();
        let servers = EmbeddedServers::start(&lock, options).unwrap();
        Self { servers, dir: lock.data_dir().clone(), _lock: lock }
    }

    fn pids(&self) -> [u32; 2] {
        [self.servers.redis_pid().unwrap(), self.servers.postgres_pid().unwrap()]
    }

    fn stop(self) {
        self.servers.stop();
    }
}

/// Both servers, run by another process.
struct Helper {
    process: Child,
    server_pids: Vec<u32>,
}

impl Helper {
    fn start(place: &Place) -> Self {
        let mut helper = Self::spawn(place);
        let stdout = BufReader::new(helper.process.stdout.take().unwrap());
        let ready = stdout.lines().map_while(Result::ok).find(|line| line.starts_with("ready ")).unwrap();
        helper.server_pids = ready.split(' ').skip(1).map(|pid| pid.parse().unwrap()).collect();
        helper
    }

    fn spawn(place: &Place) -> Self {
        let module = module_path!().split_once("::").map_or(String::new(), |(_, inner)| format!("{inner}::"));
        let process = Command::new(env::current_exe().unwrap())
            .args([&format!("{module}helper_that_runs_the_servers"), "--exact", "--ignored", "--nocapture"])
            .env(HELPER_DATA_DIR, place.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self { process, server_pids: Vec::new() }
    }

    fn pid(&self) -> u32 {
        self.process.id()
    }

    fn server_pids(&self) -> Vec<u32> {
        self.server_pids.clone()
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Stores a word in both servers.
fn write(dir: &DataDir, word: &str) {
    try_redis(dir, "SET", &["word", word]).unwrap();
    try_sql(dir, "CREATE TABLE IF NOT EXISTS word (word text)").unwrap();
    try_sql(
        dir,
        &format!("WITH deleted AS (DELETE FROM word) INSERT INTO word VALUES ('{word}') RETURNING word"),
    )
    .unwrap();
}

/// The stored word, which must be the same in both servers.
fn read(dir: &DataDir) -> String {
    let from_redis = try_redis(dir, "GET", &["word"]).unwrap();
    let from_postgres = try_sql(dir, "SELECT word FROM word").unwrap();
    assert_eq!(from_redis, from_postgres);
    from_redis
}

fn try_redis(dir: &DataDir, command: &str, arguments: &[&str]) -> redis::RedisResult<String> {
    redis_value(dir, command, arguments)
}

fn redis_value<T: redis::FromRedisValue>(
    dir: &DataDir,
    command: &str,
    arguments: &[&str],
) -> redis::RedisResult<T> {
    let mut connection = redis::Client::open(dir.redis_url())?.get_connection()?;
    redis::cmd(command).arg(arguments).query(&mut connection)
}

/// The first column of the first row, empty without one.
fn try_sql(dir: &DataDir, statement: &str) -> Result<String, sqlx::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = PgConnection::connect(&dir.database_url()).await?;
        let row: Option<String> =
            sqlx::query_scalar(AssertSqlSafe(statement)).fetch_optional(&mut connection).await?;
        Ok(row.unwrap_or_default())
    })
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

/// A zombie has ended as well.
fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.map_or(true, |stat| stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z')))
}

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "not within 20 s: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
