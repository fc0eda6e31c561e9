//! Unprivileged account for PostgreSQL, which refuses to run as root.

use std::{
    fs, io,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::Path,
    process::Command,
};

use super::error::{EmbeddedError, Result};

const NAME: &str = "postgres";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// The user `postgres` if this process is root; `None` if PostgreSQL can run under the current user.
    pub(super) fn for_postgres() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd").map_err(EmbeddedError::file("read", "/etc/passwd"))?;
        Self::find(&users).ok_or(EmbeddedError::NoPostgresUser).map(Some)
    }

    fn find(users: &str) -> Option<Self> {
        let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let user = fields.into_iter().find(|fields| fields[0] == NAME)?;
        Some(Self { uid: user.get(2)?.parse().ok()?, gid: user.get(3)?.parse().ok()? })
    }

    pub(super) fn run_as(self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    pub(super) fn own(self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }

    /// # Errors
    /// `Unreachable` names the outermost directory that this account may not enter.
    pub(super) fn check_access(self, dir: &Path) -> Result<()> {
        let real = dir.canonicalize().map_err(EmbeddedError::file("locate", dir))?;
        for ancestor in outermost_first(&real) {
            if !self.may_enter(ancestor).map_err(EmbeddedError::file("inspect", ancestor))? {
                return Err(EmbeddedError::Unreachable { closed: ancestor.to_owned() });
            }
        }
        Ok(())
    }

    fn may_enter(self, dir: &Path) -> io::Result<bool> {
        let metadata = fs::metadata(dir)?;
        let execute_bit = if metadata.uid() == self.uid {
            0o100
        } else if metadata.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        Ok(metadata.mode() & execute_bit != 0)
    }
}

fn outermost_first(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().collect::<Vec<_>>().into_iter().rev()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_account_is_found_by_its_exact_name() {
        let users = "root:x:0:0:root:/root:/bin/bash\npostgres2:x:7:7::/:\npostgres:x:101:104:PostgreSQL:/var:/bin/bash\n";
        assert_eq!(Account::find(users), Some(Account { uid: 101, gid: 104 }));
        assert_eq!(Account::find("root:x:0:0:root:/root:/bin/bash\n"), None);
    }

    #[test]
    fn an_inaccessible_parent_directory_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let (closed, inner) = (temp.path().join("closed"), temp.path().join("closed/data"));
        fs::create_dir_all(&inner).unwrap();
        fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let account = Account { uid: 54_321, gid: 54_321 };
        assert!(account.check_access(&inner).is_ok());

        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        let error = account.check_access(&inner).unwrap_err().to_string();
        let expected = format!("may not enter {};", closed.canonicalize().unwrap().display());
        assert!(error.contains(&expected) && error.contains("--data-dir"), "{error}");
    }
}
