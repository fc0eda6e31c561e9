//! Layout of the data directory, and the addresses at which commands reach the servers in it.
//!
//! ```text
//! lock                    held while a server runs here, see lock.rs
//! owner-id  jwt-secret    created once, then only read
//! redis/  redis.sock  redis.log
//! postgres/  postgres.log     the database's socket lies in postgres/
//! ```

use std::{
    fs::{self, DirBuilder, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::fs::Access;
use uuid::Uuid;

use super::{
    error::{EmbeddedError, Result},
    lock_file,
};

/// `sun_path` of a Unix socket address holds 108 bytes, the last of which is zero.
const LONGEST_SOCKET_PATH: usize = 107;

const MIB: u64 = 1_048_576;
/// Room that the servers need for a start: a segment of PostgreSQL's log is 16 MiB.
const NEEDED_MIB: u64 = 32;
/// Room for a first start, which creates the databases.
const NEEDED_FIRST_MIB: u64 = 128;

/// The database's superuser, without a password: access to the socket's folder is the authentication.
pub(super) const DATABASE_USER: &str = "plaudit";
pub(super) const DATABASE: &str = "plaudit";
/// Part of the socket's name; no TCP port is opened. Fixed, because `PGPORT` would otherwise change it.
pub(super) const POSTGRES_PORT: &str = "5432";
pub(super) const POSTGRES_SOCKET: &str = ".s.PGSQL.5432";

/// Data directory of the embedded servers. Cheap to clone; it does not lock the directory.
#[derive(Clone, Debug)]
pub struct DataDir {
    /// Absolute, because the servers change their working directory.
    path: PathBuf,
}

impl DataDir {
    /// Opens the directory and creates it, with its parents, when it is absent.
    ///
    /// # Errors
    /// `PathTooLong` if the socket paths would exceed the system's limit; `File` if it cannot be created.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let dir = Self::at(path)?;
        dir.create()?;
        Ok(dir)
    }

    /// The directory, which need not exist.
    ///
    /// # Errors
    /// `PathTooLong`, as [`Self::open`].
    pub fn at(path: impl AsRef<Path>) -> Result<Self> {
        let given = path.as_ref();
        let dir = Self { path: std::path::absolute(given).map_err(EmbeddedError::file("locate", given))? };
        dir.check_length()?;
        Ok(dir)
    }

    /// Free room on its disk, or on the disk where it would be created, in MiB.
    ///
    /// # Errors
    /// `NoRoom` for less than the servers need, `NotWritable` if this user may not write there.
    pub(super) fn room(&self) -> Result<u64> {
        let mut place = self.path.as_path();
        while !place.exists() {
            let Some(parent) = place.parent() else { break };
            place = parent;
        }
        if rustix::fs::access(place, Access::WRITE_OK | Access::EXEC_OK).is_err() {
            return Err(EmbeddedError::NotWritable { dir: self.path.clone() });
        }
        let stat = rustix::fs::statvfs(place).map_err(io::Error::from);
        let stat = stat.map_err(EmbeddedError::file("measure", place))?;
        let free_mib = stat.f_bavail.saturating_mul(stat.f_frsize) / MIB;
        // Servers whose files exist start with less than new ones.
        let needed_mib = if self.postgres_dir().exists() { NEEDED_MIB } else { NEEDED_FIRST_MIB };
        if free_mib < needed_mib {
            return Err(EmbeddedError::NoRoom { dir: self.path.clone(), free_mib, needed_mib });
        }
        Ok(free_mib)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a Redis runs here, so that [`Self::redis_url`] can be used. The other store may be elsewhere.
    pub fn has_redis(&self) -> bool {
        lock_file::is_held(&self.lock_file()) && self.redis_socket().exists()
    }

    /// Whether a PostgreSQL runs here, so that [`Self::database_url`] can be used. The other store may be elsewhere.
    pub fn has_postgres(&self) -> bool {
        lock_file::is_held(&self.lock_file()) && self.postgres_socket().exists()
    }

    /// URL of the embedded Redis, for the `redis` crate.
    pub fn redis_url(&self) -> String {
        format!("redis+unix://{}", percent_encoded(&self.redis_socket()))
    }

    /// URL of the embedded database, for `sqlx`.
    pub fn database_url(&self) -> String {
        let socket_dir = percent_encoded(&self.postgres_dir());
        format!("postgres://{DATABASE_USER}@localhost:{POSTGRES_PORT}/{DATABASE}?host={socket_dir}")
    }

    /// Stable id of this directory, created at the first call.
    pub fn owner_id(&self) -> Result<Uuid> {
        let path = self.path.join("owner-id");
        let text = read_or_create(&path, || Uuid::new_v4().to_string())?;
        let not_a_uuid = |e| io::Error::new(io::ErrorKind::InvalidData, e);
        text.parse().map_err(not_a_uuid).map_err(EmbeddedError::file("read", path))
    }

    /// The secret that tokens are signed with: 32 random bytes, as 64 hexadecimal digits.
    pub fn jwt_secret(&self) -> Result<String> {
        read_or_create(&self.path.join("jwt-secret"), || {
            rand::random::<[u8; 32]>().iter().map(|byte| format!("{byte:02x}")).collect()
        })
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }

    pub(super) fn redis_dir(&self) -> PathBuf {
        self.path.join("redis")
    }

    pub(super) fn redis_socket(&self) -> PathBuf {
        self.path.join("redis.sock")
    }

    pub(super) fn redis_log(&self) -> PathBuf {
        self.path.join("redis.log")
    }

    pub(super) fn postgres_dir(&self) -> PathBuf {
        self.path.join("postgres")
    }

    pub(super) fn postgres_log(&self) -> PathBuf {
        self.path.join("postgres.log")
    }

    fn postgres_socket(&self) -> PathBuf {
        self.postgres_dir().join(POSTGRES_SOCKET)
    }

    fn check_length(&self) -> Result<()> {
        let needed = self.postgres_socket().as_os_str().len().max(self.redis_socket().as_os_str().len());
        if needed <= LONGEST_SOCKET_PATH {
            return Ok(());
        }
        Err(EmbeddedError::PathTooLong { dir: self.path.clone(), needed, allowed: LONGEST_SOCKET_PATH })
    }

    fn create(&self) -> Result<()> {
        if self.path.is_dir() {
            return Ok(());
        }
        // If run by root, the user `postgres` must be able to reach its folder. Secret files have a
        // stricter mode.
        let mode = if rustix::process::geteuid().is_root() { 0o755 } else { 0o700 };
        let create = || {
            DirBuilder::new().recursive(true).mode(mode).create(&self.path)?;
            fs::set_permissions(&self.path, Permissions::from_mode(mode)) // independent of the umask
        };
        create().map_err(EmbeddedError::file("create", &self.path))
    }
}

/// Reads a one-line file that only its owner may read, and creates it first when it is absent. All
/// processes that race to create it see the same content, and a kill leaves no half-written file.
fn read_or_create(path: &Path, content: impl FnOnce() -> String) -> Result<String> {
    if !path.exists() {
        create_whole(path, &content()).map_err(EmbeddedError::file("create", path))?;
    }
    let text = fs::read_to_string(path).map_err(EmbeddedError::file("read", path))?;
    Ok(text.trim_end().to_owned())
}

fn create_whole(path: &Path, content: &str) -> io::Result<()> {
    let draft = path.with_extension(Uuid::new_v4().to_string());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    writeln!(file, "{content}")?;
    file.sync_all()?;
    let linked = fs::hard_link(&draft, path); // unlike a rename, never replaces the file of a process that was faster
    fs::remove_file(&draft)?;
    match linked {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn percent_encoded(path: &Path) -> String {
    let encode = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    path.as_os_str().as_bytes().iter().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_id_and_the_secret_are_created_once() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::open(temp.path().join("data")).unwrap();
        let second = DataDir::open(temp.path().join("data")).unwrap();
        assert_eq!(dir.owner_id().unwrap(), second.owner_id().unwrap());
        assert_eq!(dir.jwt_secret().unwrap(), second.jwt_secret().unwrap());
        assert_eq!(dir.jwt_secret().unwrap().len(), 64);
    }

    #[test]
    fn the_secret_is_readable_by_its_owner_only_and_leaves_no_draft() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::open(temp.path()).unwrap();
        dir.jwt_secret().unwrap();
        let mode = fs::metadata(dir.path().join("jwt-secret")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn processes_that_race_for_the_secret_agree_on_one() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::open(temp.path()).unwrap();
        let secrets: Vec<String> = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..8).map(|_| scope.spawn(|| dir.jwt_secret().unwrap())).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        assert!(secrets.iter().all(|secret| *secret == secrets[0]));
    }

    #[test]
    fn a_path_too_long_for_a_socket_address_is_refused_with_the_limit() {
        let temp = tempfile::tempdir().unwrap();
        let error = DataDir::open(temp.path().join("x".repeat(90))).unwrap_err().to_string();
        assert!(error.contains("allows 107") && error.contains("--data-dir"), "{error}");
    }

    #[test]
    fn the_addresses_are_absolute_and_encoded() {
        let dir = DataDir { path: "/srv/my data".into() };
        assert_eq!(dir.redis_url(), "redis+unix:///srv/my%20data/redis.sock");
        assert_eq!(
            dir.database_url(),
            "postgres://plaudit@localhost:5432/plaudit?host=/srv/my%20data/postgres"
        );
    }
}
