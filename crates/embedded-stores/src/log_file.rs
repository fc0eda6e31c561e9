//! Log file of a child server.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Readable by its owner only: a database's log may quote users' text.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// The last lines, for an error message; empty if the log cannot be read.
pub(super) fn tail(path: &Path) -> String {
    const LINES: usize = 8;
    let text = read_end(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

fn read_end(path: &Path) -> io::Result<String> {
    const BYTES: u64 = 4096;
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(BYTES)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_long_log_is_its_last_lines() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        let long: String = (1..=1000).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&path, long).unwrap();
        assert!(tail(&path).starts_with("line 993\n") && tail(&path).ends_with("line 1000"));
        assert_eq!(tail(&temp.path().join("absent")), "");
    }
}
