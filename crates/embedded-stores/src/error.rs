//! Errors of the data directory and its servers; each message says how to fix the problem.

use std::{io, path::PathBuf, time::Duration};

use super::lock_file::Holder;

pub type Result<T> = std::result::Result<T, EmbeddedError>;

/// Messages for the operator.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// A verb: "read", "create".
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    #[error(
        "the path of the data directory {} is too long: a socket below it would need {needed} bytes \
         and the system allows {allowed}; choose a shorter one with --data-dir", dir.display()
    )]
    PathTooLong { dir: PathBuf, needed: usize, allowed: usize },

    #[error(
        "data directory {} is in use by plaudit ({holder}); stop it or choose another with --data-dir",
        dir.display()
    )]
    InUse { dir: PathBuf, holder: Holder },

    /// The lock is held, but the process that it names is not visible here.
    #[error(
        "data directory {} is still locked after {} s by servers that an earlier plaudit left behind, \
         or by a plaudit in another container; wait for them to end, stop them, or choose another with --data-dir",
        dir.display(), waited.as_secs()
    )]
    StillLocked { dir: PathBuf, waited: Duration },

    #[error(
        "{program} was not found; install it (Debian, Ubuntu: apt install {package}) or set {setting} to use your own"
    )]
    NotInstalled { program: &'static str, package: &'static str, setting: &'static str },

    #[error(
        "{} was written by PostgreSQL {major}, which is not installed here; install that version, \
         or move the data to a new one with pg_upgrade", dir.display()
    )]
    OtherPostgresVersion { dir: PathBuf, major: u32 },

    #[error(
        "PostgreSQL refuses to run as root, and this machine has no user `postgres` to run it as; add one \
         (useradd --system postgres), start plaudit as another user, or set PLAUDIT_DATABASE_URL to use your own"
    )]
    NoPostgresUser,

    #[error(
        "PostgreSQL runs as the user `postgres`, who may not enter {}; choose another place with --data-dir, \
         or grant that user access (chmod o+x {})", closed.display(), closed.display()
    )]
    Unreachable { closed: PathBuf },

    #[error(
        "the disk of the data directory {} has {free_mib} MiB left, and the servers need {needed_mib} to start: make room \
         there, or choose another place with --data-dir", dir.display()
    )]
    NoRoom { dir: PathBuf, free_mib: u64, needed_mib: u64 },

    #[error(
        "the data directory {} cannot be written: give it to the user of Plaudit (chown), or choose another with \
         --data-dir", dir.display()
    )]
    NotWritable { dir: PathBuf },

    #[error("{program} failed while preparing the PostgreSQL data directory:\n{output}")]
    Setup { program: &'static str, output: String },

    #[error("cannot start the thread that runs {server}: {source}")]
    Thread { server: &'static str, source: io::Error },

    #[error("{server} does not start: {reason}; the end of {}:\n{tail}", log.display())]
    DoesNotStart { server: &'static str, reason: String, log: PathBuf, tail: String },
}

impl EmbeddedError {
    /// For `map_err`: names the file that an operation failed on.
    pub(super) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}
