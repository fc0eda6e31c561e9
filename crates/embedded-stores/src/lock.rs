//! One plaudit per data directory.
//!
//! The file `lock` is locked with `flock` and says who holds it, in one line:
//! `<process id> <process start, in clock ticks since boot> <listen address> <since>`.
//! The child servers inherit the locked file, so the lock is free only when the last of them has
//! ended as well. After a `kill -9` this keeps a second Redis away from an append-only file, and a
//! second PostgreSQL from a database, that an orphan still writes.

use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use chrono::Utc;

use super::{
    data_dir::DataDir,
    error::{EmbeddedError, Result},
};

/// How long the servers of a killed plaudit may take to end: PostgreSQL writes a checkpoint first.
const LEFTOVERS_END_WITHIN: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(20);

/// Proof that this process alone runs servers in a data directory. Dropping it frees the directory
/// once the servers, which hold it too, have ended.
#[derive(Debug)]
pub struct DataDirLock {
    dir: DataDir,
    file: Arc<File>,
}

impl DataDirLock {
    pub fn data_dir(&self) -> &DataDir {
        &self.dir
    }

    /// For the children to inherit.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }
}

impl Drop for DataDirLock {
    fn drop(&mut self) {
        // This process may live on: without the record nobody takes it for the holder any more. A
        // failure only delays the next holder.
        let _ = self.file.set_len(0);
    }
}

pub(super) fn take(dir: &DataDir, listen: &str) -> Result<DataDirLock> {
    let path = dir.lock_file();
    let file = open(&path).map_err(EmbeddedError::file("open", &path))?;
    let began = Instant::now();
    while !try_lock(&file).map_err(EmbeddedError::file("lock", &path))? {
        if let Some(holder) = Holder::read(&path).filter(Holder::is_alive) {
            return Err(EmbeddedError::InUse { dir: dir.path().to_owned(), holder });
        }
        if began.elapsed() >= LEFTOVERS_END_WITHIN {
            return Err(EmbeddedError::StillLocked {
                dir: dir.path().to_owned(),
                waited: LEFTOVERS_END_WITHIN,
            });
        }
        thread::sleep(POLL);
    }
    Holder::this_process(listen).write(&file).map_err(EmbeddedError::file("write", &path))?;
    Ok(DataDirLock { dir: dir.clone(), file: Arc::new(file) })
}

pub(super) fn is_held(path: &Path) -> bool {
    // A shared lock, so that two commands that ask at the same time do not see each other.
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn open(path: &Path) -> io::Result<File> {
    // Not truncated: the record of the present holder must stay.
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

/// The process that a lock file names.
#[derive(Debug, PartialEq, Eq)]
pub struct Holder {
    pid: u32,
    /// Tells the process from a later one that got the same number.
    start_ticks: u64,
    listen: String,
    since: String,
}

impl Holder {
    fn this_process(listen: &str) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            start_ticks: start_ticks(pid).unwrap_or_default(),
            listen: listen.to_owned(),
            since: Utc::now().format("%Y-%m-%d %H:%M:%S UTC").to_string(),
        }
    }

    /// `None` for the moment in which a new holder has not written its record yet.
    fn read(path: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(path).ok()?)
    }

    fn parse(record: &str) -> Option<Self> {
        let mut fields = record.trim_end().splitn(4, ' ');
        Some(Self {
            pid: fields.next()?.parse().ok()?,
            start_ticks: fields.next()?.parse().ok()?,
            listen: fields.next()?.to_owned(),
            since: fields.next()?.to_owned(),
        })
    }

    fn write(&self, mut file: &File) -> io::Result<()> {
        file.set_len(0)?;
        writeln!(file, "{} {} {} {}", self.pid, self.start_ticks, self.listen, self.since)
    }

    fn is_alive(&self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}, since {}", self.pid, self.listen, self.since)
    }
}

/// When a process began, in clock ticks since boot; `None` when it has ended.
fn start_ticks(pid: u32) -> Option<u64> {
    const STATE: usize = 0;
    const START: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Fields are counted behind the command's name, which stands in brackets and may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let is_zombie = matches!(*fields.get(STATE)?, "Z" | "X");
    if is_zombie { None } else { fields.get(START)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_at_once_and_names_the_holder() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::open(temp.path()).unwrap();
        let _lock = dir.lock("127.0.0.1:8080").unwrap();
        for _ in 0..2 {
            let error = dir.lock("127.0.0.1:8081").unwrap_err().to_string();
            let holder =
                format!("in use by plaudit (process {} on 127.0.0.1:8080, since ", std::process::id());
            assert!(error.contains(&holder) && error.contains("--data-dir"), "{error}");
        }
    }

    #[test]
    fn a_dropped_lock_can_be_taken_again() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::open(temp.path()).unwrap();
        for _ in 0..2 {
            let lock = dir.lock("127.0.0.1:8080").unwrap();
            assert!(is_held(&dir.lock_file()));
            drop(lock);
        }
    }

    #[test]
    fn a_record_survives_writing_and_reading() {
        let holder = Holder::this_process("[::1]:8080");
        let record = format!("{} {} {} {}\n", holder.pid, holder.start_ticks, holder.listen, holder.since);
        assert_eq!(Holder::parse(&record), Some(holder));
        assert_eq!(Holder::parse(""), None);
    }

    #[test]
    fn a_later_process_with_the_same_number_is_not_the_holder() {
        let holder = Holder::this_process("127.0.0.1:8080");
        assert!(holder.is_alive());
        assert!(!Holder { start_ticks: holder.start_ticks + 1, ..holder }.is_alive());
    }

    #[test]
    fn a_process_that_ended_but_was_not_waited_for_is_not_alive() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        while start_ticks(child.id()).is_some() {
            assert!(Instant::now() < deadline, "`true` still runs");
            thread::sleep(POLL);
        }
        child.wait().unwrap();
    }
}
