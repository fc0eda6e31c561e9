//! Lock file of a data directory: `flock`, and a one-line record of the holder:
//! `<process id> <process start, in clock ticks since boot> <listen address> <since>`.

use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use chrono::Utc;

pub(super) fn open(path: &Path) -> io::Result<File> {
    // Not truncated: the record of the current holder must stay.
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

pub(super) fn is_held(path: &Path) -> bool {
    // A shared lock, so that two commands that check at the same time do not block each other.
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Holder of the lock, as recorded in the file.
#[derive(Debug, PartialEq, Eq)]
pub struct Holder {
    pid: u32,
    /// Distinguishes the process from a later one with the same id.
    start_ticks: u64,
    listen: String,
    since: String,
}

impl Holder {
    pub(super) fn this_process(listen: &str) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            start_ticks: start_ticks(pid).unwrap_or_default(),
            listen: listen.to_owned(),
            since: Utc::now().format("%Y-%m-%d %H:%M:%S UTC").to_string(),
        }
    }

    /// `None` while a new holder has not yet written its record.
    pub(super) fn read(path: &Path) -> Option<Self> {
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

    pub(super) fn write(&self, mut file: &File) -> io::Result<()> {
        file.set_len(0)?;
        writeln!(file, "{} {} {} {}", self.pid, self.start_ticks, self.listen, self.since)
    }

    pub(super) fn is_alive(&self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}, since {}", self.pid, self.listen, self.since)
    }
}

/// Start time of a process, in clock ticks since boot; `None` if it has ended.
fn start_ticks(pid: u32) -> Option<u64> {
    const STATE: usize = 0;
    const START: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Fields are counted after the command's name, which is in parentheses and may contain any character.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let is_zombie = matches!(*fields.get(STATE)?, "Z" | "X");
    if is_zombie { None } else { fields.get(START)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    #[test]
    fn a_record_survives_writing_and_reading() {
        let holder = Holder::this_process("[::1]:8080");
        let record = format!("{} {} {} {}\n", holder.pid, holder.start_ticks, holder.listen, holder.since);
        assert_eq!(Holder::parse(&record), Some(holder));
        assert_eq!(Holder::parse(""), None);
    }

    #[test]
    fn a_later_process_with_the_same_id_is_not_the_holder() {
        let holder = Holder::this_process("127.0.0.1:8080");
        assert!(holder.is_alive());
        assert!(!Holder { start_ticks: holder.start_ticks + 1, ..holder }.is_alive());
    }

    #[test]
    fn a_zombie_process_is_not_alive() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while start_ticks(child.id()).is_some() {
            assert!(Instant::now() < deadline, "`true` still runs");
            thread::sleep(Duration::from_millis(20));
        }
        child.wait().unwrap();
    }
}
