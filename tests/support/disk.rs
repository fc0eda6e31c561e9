//! A small disk of a server's own, which a test fills.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::{Pid, geteuid};

/// `$0`: the directory, `$1`: MiB, then the command.
const ON_SMALL_DISK: &str = r#"set -e
cp -a "$0" "$0.before"
mount -t tmpfs -o size="$1m" none "$0"
cp -a "$0.before/." "$0"
shift
exec "$@""#;

/// The command with a disk of this size instead of the directory, whose files it keeps. Only the process sees the disk.
pub(super) fn on_small_disk(command: &Command, directory: &Path, mib: u32) -> Command {
    let mut mounting = Command::new("unshare");
    if !geteuid().is_root() {
        mounting.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    mounting.args(["--mount", "sh", "-c", ON_SMALL_DISK]).arg(directory).arg(mib.to_string());
    mounting.arg(command.get_program()).args(command.get_args()).current_dir("/");
    mounting
}

/// Writes until the process has no room in its directory.
pub(super) fn fill(pid: Pid, directory: &Path) {
    let mut filling = File::create(filler(pid, directory)).unwrap();
    let zeros = vec![0; 4096];
    loop {
        match filling.write_all(&zeros) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::StorageFull => break,
            Err(error) => panic!("{error}"),
        }
    }
}

pub(super) fn make_room(pid: Pid, directory: &Path) {
    fs::remove_file(filler(pid, directory)).unwrap();
}

fn filler(pid: Pid, directory: &Path) -> PathBuf {
    let inside = directory.strip_prefix("/").unwrap();
    Path::new("/proc").join(pid.as_raw_nonzero().to_string()).join("root").join(inside).join("filler")
}
