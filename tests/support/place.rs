//! Temporary directories: short paths, because they contain sockets, and readable for the user that runs PostgreSQL.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    panic,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    thread,
};

use plaudit_embedded_stores::{DataDir, DataDirLock, EmbeddedServers, Options};
use rustix::fs::statvfs;

use super::program::FEATURES;

const PREFIX: &str = "plaudit-test-";
/// A filesystem in memory.
const MEMORY: &str = "/dev/shm";
/// Free bytes that a run needs there: several times what all tests hold at once.
const MEMORY_BYTES: u64 = 4 << 30;

/// A directory that is removed when dropped, unless its test failed. The next run removes what is left.
pub struct Place(PathBuf);

impl Place {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        if number == 0 {
            remove_leftovers();
            let print = panic::take_hook();
            panic::set_hook(Box::new(move |about| (print(about), print_how_to_repeat()).1));
        }
        let path = base().join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where a data directory may be.
    pub fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// The same with a PostgreSQL that has no tables: a copy of the first one, since `initdb` takes longer than
    /// many tests.
    pub fn data_with_postgres(&self) -> PathBuf {
        static FIRST: OnceLock<Place> = OnceLock::new();
        let first = FIRST.get_or_init(|| {
            let place = Self::new();
            let lock = DataDirLock::take(&DataDir::open(place.data()).unwrap(), "all tests").unwrap();
            EmbeddedServers::start(&lock, Options { redis: false, ..Options::default() }).unwrap().stop();
            place
        });
        DataDir::open(self.data()).unwrap();
        copy_all(&first.data().join("postgres"), &self.data().join("postgres"));
        self.data()
    }
}

/// Copies with owners and modes, which PostgreSQL checks.
pub fn copy_all(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
}

impl Drop for Place {
    fn drop(&mut self) {
        if !thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// The command, and where logs and data of the servers are, for the test of this thread.
fn print_how_to_repeat() {
    let program = env::current_exe().unwrap();
    let program = program.file_stem().unwrap().to_string_lossy();
    let (tests, thread) = (program.split('-').next().unwrap(), thread::current());
    if let Some(name) = thread.name().filter(|name| name.contains("::")) {
        let (base, pid) = (base().display(), std::process::id());
        eprintln!("again: cargo test --features {FEATURES} --test {tests} -- --exact {name}");
        eprintln!("logs and data of servers, until the next run: {base}/{PREFIX}{pid}-*");
    }
}

/// Where the directories are: in memory, or the system's place for temporary files if there is no room, or if `TMPDIR`
/// names a place. Each server has a PostgreSQL of its own with a thousand files, and on a disk more time goes into
/// creating and removing them than into the tests.
fn base() -> &'static Path {
    static BASE: OnceLock<PathBuf> = OnceLock::new();
    BASE.get_or_init(|| {
        let is_roomy =
            || statvfs(MEMORY).is_ok_and(|memory| memory.f_bavail * memory.f_frsize >= MEMORY_BYTES);
        if env::var_os("TMPDIR").is_none() && is_roomy() { PathBuf::from(MEMORY) } else { env::temp_dir() }
    })
}

fn remove_leftovers() {
    for entry in fs::read_dir(base()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next().map(str::to_owned));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
