//! The program under test, as a process.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, OnceLock, mpsc},
    thread,
    time::Duration,
};

use plaudit_embedded_stores::DataDir;
use plaudit_token_auth::{Role, Subject, TokenSecret, TokenSigner};

use rustix::process::{Pid, Signal, kill_process};

use super::{Client, Place, SOON, Socket, Stores, eventually};

/// Signs the tokens of tests.
pub const SECRET: &str = "the integration tests' secret, 32 bytes or more";
const START_TIMEOUT: Duration = Duration::from_secs(240);

/// A running `plaudit serve`. Killed when dropped.
pub struct Server {
    child: Option<Child>,
    data_dir: PathBuf,
    flags: Vec<String>,
    /// Whether the server gets the secret that signs the tokens of tests.
    has_secret: bool,
    /// The server's limit of open files; `None`: that of the tests.
    open_files: Option<u32>,
    /// The program, if it is not the one under test.
    program: Option<PathBuf>,
    /// Whether the running process may end at a fail point.
    has_fail_points: bool,
    pub url: String,
    /// Whether its clients [retry](Client::retrying), because the requests of other tests may keep them waiting.
    clients_retry: bool,
    /// What the server printed on stdout since it was started.
    printed: Arc<Mutex<String>>,
    /// The directory lives as long as the server.
    place: Option<Arc<Place>>,
}

impl Server {
    /// The server shared by all tests that neither kill it nor need their own settings.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| {
            let mut server = Self::start(&[]);
            server.clients_retry = true;
            server
        })
    }

    /// A server with its own embedded stores.
    pub fn start(flags: &[&str]) -> Self {
        let place = Arc::new(Place::new());
        Self::start_in(&data_in(&place, flags), flags, Some(place))
    }

    /// A server on stores that the test runs itself.
    pub fn start_on(stores: &Stores, flags: &[&str]) -> Self {
        let urls = ["--redis-url", stores.redis_url(), "--database-url", stores.database_url()];
        Self::start_in(stores.data_dir(), &[&urls[..], flags].concat(), None)
    }

    /// A server without a secret; its flags set how tokens are verified.
    pub fn start_without_secret(flags: &[&str]) -> Self {
        let place = Arc::new(Place::new());
        let mut server = Self::stopped_in(&data_in(&place, flags), flags, Some(place.clone()));
        server.has_secret = false;
        server.start_again();
        server
    }

    /// A server that may have this many files open.
    pub fn start_with_files(open_files: u32, flags: &[&str]) -> Self {
        let place = Arc::new(Place::new());
        let mut server = Self::stopped_in(&data_in(&place, flags), flags, Some(place.clone()));
        server.open_files = Some(open_files);
        server.start_again();
        server
    }

    /// Another build of the program.
    pub fn start_program(program: &Path, flags: &[&str]) -> Self {
        let place = Arc::new(Place::new());
        let mut server = Self::stopped_in(&data_in(&place, flags), flags, Some(place.clone()));
        server.program = Some(program.to_owned());
        server.start_again();
        server
    }

    fn start_in(data_dir: &Path, flags: &[&str], place: Option<Arc<Place>>) -> Self {
        let mut server = Self::stopped_in(data_dir, flags, place);
        server.start_again();
        server
    }

    fn stopped_in(data_dir: &Path, flags: &[&str], place: Option<Arc<Place>>) -> Self {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let (data_dir, url) = (data_dir.to_owned(), String::new());
        Self {
            child: None,
            data_dir,
            flags,
            has_secret: true,
            open_files: None,
            program: None,
            has_fail_points: false,
            url,
            clients_retry: false,
            printed: Arc::default(),
            place,
        }
    }

    /// Starts the same server again, on the same data.
    pub fn start_again(&mut self) {
        assert!(self.try_start(&[]), "the server did not start; its log:\n{}", self.log());
    }

    /// The same with environment variables. False if the server ended before it was ready.
    pub fn try_start(&mut self, variables: &[(&str, &str)]) -> bool {
        let mut command = match &self.program {
            Some(program) => of_tests(program, &self.data_dir),
            None => plaudit(&self.data_dir),
        };
        command
            .arg("serve")
            .args(["--listen", "127.0.0.1:0"])
            .env("PLAUDIT_LOG", "warn,plaudit=info")
            .args(&self.flags);
        if !self.has_secret {
            command.env_remove("PLAUDIT_JWT_SECRET");
        } else if self.place.is_some() {
            // By default with the generated secret only, which tests cannot sign with.
            for tool in ["DEMO", "GRAPHIQL", "INTROSPECTION", "DEV_TOKEN"] {
                command.env(format!("PLAUDIT_{tool}"), "true");
            }
        }
        let points =
            variables.iter().find(|(name, _)| *name == "FAILPOINTS").map_or("", |(_, points)| points);
        self.has_fail_points = !points.is_empty();
        // Metrics are rendered for each request, so that a test reads what is so now. A text that could not be judged is
        // judged again soon.
        let points = format!("metrics.kept=return(0);moderator.retry=return(10);{points}");
        command.envs(variables.iter().copied()).env("FAILPOINTS", points);
        let mut child = spawn_tied(command, self.open_files, &self.log_file());
        self.printed = Arc::default();
        let address = wait_for_address(&mut child, &self.printed);
        self.child = Some(child);
        let Some(url) = address else {
            self.kill();
            return false;
        };
        self.url = url;
        true
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some())
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The lines that the server printed since it was started; more may follow.
    pub fn printed(&self) -> String {
        self.printed.lock().unwrap().clone()
    }

    /// SIGSTOP: the process exists but does nothing, as on a stalled machine.
    pub fn stall(&self) {
        signal(self.child.as_ref().unwrap(), Signal::STOP);
    }

    /// Ends a stall.
    pub fn wake(&self) {
        signal(self.child.as_ref().unwrap(), Signal::CONT);
    }

    /// Sends SIGTERM, and does not wait.
    pub fn begin_stop(&self) {
        signal(self.child.as_ref().unwrap(), Signal::TERM);
    }

    /// Sends SIGTERM, and waits until the process has exited with success, or at a fail point that it was started with.
    pub fn stop(&mut self) {
        let mut child = self.child.take().unwrap();
        signal(&child, Signal::TERM);
        let status = child.wait().unwrap();
        let is_at_fail_point = self.has_fail_points && status.signal() == Some(Signal::ABORT.as_raw());
        let is_expected = status.success() || is_at_fail_point;
        assert!(is_expected, "the server ended with {status}; its log:\n{}", self.log());
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// Resident memory of the process.
    pub fn memory_bytes(&self) -> usize {
        let status = format!("/proc/{}/status", self.child.as_ref().unwrap().id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    }

    /// The answer to `GET` of this path.
    pub async fn get(&self, path: &str) -> reqwest::Response {
        reqwest::get(format!("{}{path}", self.url)).await.unwrap()
    }

    /// Waits until `/status` says that all is right now, or that something is not.
    pub async fn until_status_is(&self, status: u16) {
        eventually("the process says how it is", SOON, || async {
            (self.get("/status").await.status() == status).then_some(())
        })
        .await;
    }

    /// One value of `/metrics`.
    pub async fn metric(&self, series: &str) -> f64 {
        *self.metrics().await.get(series).unwrap_or_else(|| panic!("no {series}"))
    }

    /// The values of `/metrics` by series: name and labels.
    pub async fn metrics(&self) -> HashMap<String, f64> {
        let text = self.metrics_text().await;
        let series = text.lines().filter(|line| !line.starts_with('#'));
        series
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
            .collect()
    }

    pub async fn metrics_text(&self) -> String {
        let answer = self.get("/metrics").await;
        assert_eq!(answer.status(), 200);
        answer.text().await.unwrap()
    }

    fn log_file(&self) -> PathBuf {
        self.data_dir.with_extension("log")
    }

    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// A command of the program with this server's data directory.
    pub fn command(&self) -> Command {
        plaudit(&self.data_dir)
    }

    /// The stores that the server embeds.
    pub fn stores(&self) -> Stores {
        Stores::of(&DataDir::open(&self.data_dir).unwrap())
    }

    /// A client without a token.
    pub fn anonymous(&self) -> Client {
        self.client_with(None)
    }

    /// A client of the user with this subject.
    pub fn client(&self, subject: &str) -> Client {
        self.client_with(Some(token(subject)))
    }

    /// A client with a role.
    pub fn client_as(&self, role: Role, subject: &str) -> Client {
        self.client_with(Some(token_as(role, subject)))
    }

    fn client_with(&self, token: Option<String>) -> Client {
        let client = Client::new(&self.url, token);
        if self.clients_retry { client.retrying() } else { client }
    }

    /// A WebSocket of the user with this subject.
    pub async fn socket(&self, subject: &str) -> Socket {
        Socket::open(&self.url, Some(token(subject))).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            println!("the server's log:\n{}", self.log());
        }
        drop(self.place.take());
    }
}

/// The data directory of a server with these flags.
fn data_in(place: &Place, flags: &[&str]) -> PathBuf {
    let has_own_postgres = !flags.contains(&"--database-url");
    if has_own_postgres { place.data_with_postgres() } else { place.data() }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// For reqwest, which panics without a crypto provider.
pub(super) fn use_ring() {
    // Fails only when a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The program with this data directory, and no settings from this process's environment.
pub fn plaudit(data_dir: &Path) -> Command {
    of_tests(super::program(), data_dir)
}

fn of_tests(program: &Path, data_dir: &Path) -> Command {
    use_ring();
    let mut command = Command::new(program);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PLAUDIT_")) {
        command.env_remove(name);
    }
    command.env("PLAUDIT_DATA_DIR", data_dir).env("PLAUDIT_JWT_SECRET", SECRET).env("NO_COLOR", "1");
    // Many tests write totals that differ from rows. Tests of reconciliation set these by flags.
    command.env("PLAUDIT_RECONCILE_SAMPLE", "0").env("PLAUDIT_RECONCILE_AT", "off");
    // Tests view a note again and again. Tests of the window set it by a flag.
    command.env("PLAUDIT_VIEW_WINDOW", "0s");
    // Tests send requests without pause. Tests of rate limits set them by flags.
    for rate in ["READS", "WRITES", "CREATIONS"] {
        command
            .env(format!("PLAUDIT_RATE_USER_{rate}"), "0")
            .env(format!("PLAUDIT_RATE_ADDRESS_{rate}"), "0");
    }
    command.current_dir(std::env::temp_dir());
    command
}

/// The one line by which `plaudit serve` refuses to start with these flags.
pub fn refused_start(flags: &[&str]) -> String {
    let place = Place::new();
    let mut command = plaudit(&place.path().join("data"));
    command.arg("serve").args(["--listen", "127.0.0.1:0"]).args(flags);
    let began = std::time::Instant::now();
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}: {text}", began.elapsed());
    let is_refusal = |line: &&str| line.starts_with("plaudit: ") || line.starts_with("error: ");
    let lines: Vec<&str> = text.lines().filter(is_refusal).collect();
    let [line] = lines[..] else { panic!("not one line: {text}") };
    line.to_owned()
}

pub fn token(subject: &str) -> String {
    token_as(Role::User, subject)
}

pub fn token_as(role: Role, subject: &str) -> String {
    signed(role, subject, Duration::from_secs(3600))
}

/// A token that expires after `life`.
pub fn token_for(subject: &str, life: Duration) -> String {
    signed(Role::User, subject, life)
}

fn signed(role: Role, subject: &str, life: Duration) -> String {
    let signer = TokenSigner::hs256(&SECRET.parse::<TokenSecret>().unwrap());
    signer.sign_named(&subject.parse::<Subject>().unwrap(), Some(subject), role, life).unwrap()
}

/// Starts a process that the kernel kills when this process ends. The kernel watches the thread that started it, so
/// that thread never ends.
pub(super) fn spawn_tied(command: Command, open_files: Option<u32>, log: &Path) -> Child {
    type Order = (Command, mpsc::Sender<Child>);
    static ORDERS: OnceLock<mpsc::Sender<Order>> = OnceLock::new();
    let orders = ORDERS.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in receiver {
                reply.send(command.spawn().unwrap()).unwrap();
            }
        });
        sender
    });
    let mut tied = Command::new("setpriv");
    tied.args(["--pdeathsig", "KILL"]);
    if let Some(files) = open_files {
        tied.args(["prlimit", &format!("--nofile={files}")]);
    }
    tied.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => tied.env(name, value),
            None => tied.env_remove(name),
        };
    }
    tied.current_dir(command.get_current_dir().unwrap());
    let log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    tied.stdout(Stdio::piped()).stderr(log);
    let (reply, child) = mpsc::channel();
    orders.send((tied, reply)).unwrap();
    child.recv().unwrap()
}

/// Waits until the server prints its address; a thread reads stdout until it ends.
fn wait_for_address(child: &mut Child, printed: &Arc<Mutex<String>>) -> Option<String> {
    let stdout = BufReader::new(child.stdout.take()?);
    let (sender, address) = mpsc::channel();
    let printed = Arc::clone(printed);
    thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            *printed.lock().unwrap() += &format!("{line}\n");
            if let Some(url) = line.strip_prefix("listening on ") {
                let _ = sender.send(url.to_owned());
            }
        }
    });
    address.recv_timeout(START_TIMEOUT).ok()
}
