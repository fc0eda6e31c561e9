//! Discovery of the installed Redis and PostgreSQL programs.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::error::{EmbeddedError, Result};

/// Oldest supported major version of PostgreSQL.
const OLDEST_POSTGRES: u32 = 15;
/// Debian and its derivatives install all versions here, outside `PATH`.
const DEBIAN_VERSIONS: &str = "/usr/lib/postgresql";

/// The programs of one PostgreSQL installation.
pub(super) struct PostgresPrograms {
    pub(super) initdb: PathBuf,
    pub(super) postgres: PathBuf,
    pub(super) major: u32,
}

fn find_in_path(program: &str) -> Option<PathBuf> {
    path_dirs().map(|dir| dir.join(program)).find(|path| path.is_file())
}

pub(super) fn redis_server() -> Result<PathBuf> {
    find_in_path("redis-server").ok_or(EmbeddedError::NotInstalled {
        program: "redis-server",
        package: "redis-server",
        setting: "PLAUDIT_REDIS_URL",
    })
}

/// The PostgreSQL that wrote `data`, or the newest one if there is no data yet.
pub(super) fn postgres_for(data: &Path) -> Result<PostgresPrograms> {
    if data.exists() { postgres_of(data) } else { newest_postgres() }
}

/// The newest installed PostgreSQL, 15 or later.
fn newest_postgres() -> Result<PostgresPrograms> {
    let newest = installed_postgres().max_by_key(|programs| programs.major);
    newest.filter(|programs| programs.major >= OLDEST_POSTGRES).ok_or(EmbeddedError::NotInstalled {
        program: "PostgreSQL 15 or newer",
        package: "postgresql",
        setting: "PLAUDIT_DATABASE_URL",
    })
}

/// The PostgreSQL of the major version that wrote `data`: no other one can read its files.
fn postgres_of(data: &Path) -> Result<PostgresPrograms> {
    let major = version_of(data)?;
    installed_postgres()
        .find(|programs| programs.major == major)
        .ok_or_else(|| EmbeddedError::OtherPostgresVersion { dir: data.to_owned(), major })
}

fn version_of(data: &Path) -> Result<u32> {
    let path = data.join("PG_VERSION");
    let text = fs::read_to_string(&path).map_err(EmbeddedError::file("read", &path))?;
    let not_a_number = |e| std::io::Error::new(std::io::ErrorKind::InvalidData, e);
    text.trim().parse().map_err(not_a_number).map_err(EmbeddedError::file("read", path))
}

fn installed_postgres() -> impl Iterator<Item = PostgresPrograms> {
    path_dirs().chain(debian_dirs()).chain(pg_config_dir()).filter_map(|dir| PostgresPrograms::in_dir(&dir))
}

impl PostgresPrograms {
    fn in_dir(dir: &Path) -> Option<Self> {
        let (initdb, postgres) = (dir.join("initdb"), dir.join("postgres"));
        if !initdb.is_file() {
            return None;
        }
        let major = parse_major(&output_of(Command::new(&postgres).arg("--version"))?)?;
        Some(Self { initdb, postgres, major })
    }
}

fn path_dirs() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).collect::<Vec<_>>().into_iter()
}

fn debian_dirs() -> impl Iterator<Item = PathBuf> {
    fs::read_dir(DEBIAN_VERSIONS).into_iter().flatten().flatten().map(|version| version.path().join("bin"))
}

fn pg_config_dir() -> Option<PathBuf> {
    output_of(Command::new("pg_config").arg("--bindir")).map(|dir| dir.trim().into())
}

fn output_of(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// The 15 of `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`.
fn parse_major(version: &str) -> Option<u32> {
    let number = version.split_once("(PostgreSQL) ")?.1;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_releases_and_betas() {
        assert_eq!(parse_major("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n"), Some(15));
        assert_eq!(parse_major("postgres (PostgreSQL) 19beta1\n"), Some(19));
        assert_eq!(parse_major("something else 15"), None);
    }

    #[test]
    fn data_of_a_version_that_is_not_installed_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("PG_VERSION"), "7\n").unwrap();
        let error = postgres_of(temp.path()).err().unwrap().to_string();
        assert!(error.contains("written by PostgreSQL 7") && error.contains("pg_upgrade"), "{error}");
    }
}
