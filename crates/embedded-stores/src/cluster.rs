//! Creation of PostgreSQL's data directory (`initdb`), atomically: by a rename of a finished draft.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
    process::{Command, Output, Stdio},
};

use rustix::process::Signal;

use super::{
    account::Account,
    data_dir::{DATABASE, DATABASE_USER},
    error::{EmbeddedError, Result},
    lock::DataDirLock,
    programs::PostgresPrograms,
    tether::tether,
};

/// Sorts text by code point and folds case by Unicode, equally on every machine.
const LOCALE: &str = "--locale=C.UTF-8";
/// For systems without that locale: the same order, case folding of ASCII only.
const PLAIN_LOCALE: &str = "--no-locale";

/// How to create a cluster (PostgreSQL's word for a data directory).
pub(super) struct Cluster<'a> {
    pub(super) programs: &'a PostgresPrograms,
    pub(super) account: Option<Account>,
    pub(super) lock: &'a DataDirLock,
    pub(super) durable: bool,
}

impl Cluster<'_> {
    /// If the process is killed, `dir` does not exist; the next call replaces the leftover draft.
    pub(super) fn create(&self, dir: &Path) -> Result<()> {
        let draft = dir.with_extension("new");
        self.make_empty(&draft).map_err(EmbeddedError::file("create", &draft))?;
        self.initdb(&draft)?;
        self.create_database(&draft)?;
        publish(&draft, dir).map_err(EmbeddedError::file("create", dir))
    }

    fn make_empty(&self, draft: &Path) -> io::Result<()> {
        if draft.exists() {
            fs::remove_dir_all(draft)?;
        }
        DirBuilder::new().mode(0o700).create(draft)?;
        self.account.map_or(Ok(()), |account| account.own(draft))
    }

    fn initdb(&self, draft: &Path) -> Result<()> {
        self.initdb_with(LOCALE, draft).or_else(|_| self.initdb_with(PLAIN_LOCALE, draft))
    }

    fn initdb_with(&self, locale: &str, draft: &Path) -> Result<()> {
        let mut command = Command::new(&self.programs.initdb);
        command.arg("--pgdata").arg(draft).args(["--username", DATABASE_USER, "--auth=trust"]);
        command.args(["--encoding=UTF8", locale]);
        if !self.durable {
            command.arg("--no-sync");
        }
        self.run("initdb", command, "", draft)
    }

    /// In single-user mode, so that no server and no client program is needed.
    fn create_database(&self, draft: &Path) -> Result<()> {
        let mut command = Command::new(&self.programs.postgres);
        command.arg("--single").arg("-D").arg(draft);
        command.args(["-c", "exit_on_error=on"]); // otherwise the exit status is 0 even if a statement fails
        if !self.durable {
            command.args(["-c", "fsync=off"]);
        }
        command.arg("postgres");
        self.run("postgres --single", command, &format!("CREATE DATABASE {DATABASE};\n"), draft)
    }

    fn run(&self, program: &'static str, mut command: Command, input: &str, draft: &Path) -> Result<()> {
        command.current_dir(draft); // PostgreSQL reads its working directory, and may lack access to that of plaudit
        if let Some(account) = self.account {
            account.run_as(&mut command);
        }
        tether(&mut command, self.lock.file(), Signal::KILL);
        let failed = |output| EmbeddedError::Setup { program, output };
        let output = feed(command, input).map_err(|e| failed(e.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

fn feed(mut command: Command, input: &str) -> io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // If the program did not read its input, its standard error gives the reason.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output()
}

/// The new name is durable when this returns.
fn publish(draft: &Path, dir: &Path) -> io::Result<()> {
    fs::rename(draft, dir)?;
    dir.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}
