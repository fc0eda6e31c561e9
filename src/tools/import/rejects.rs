//! The file of rejected lines: JSON lines with number, reason and text; and the reasons that lines of all types share.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::PathBuf,
};

use serde_json::json;

use super::line::Reason;
use plaudit_catalogue::EntityKind;

/// A rejected line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reject {
    pub number: u64,
    pub reason: Reason,
    /// The line, if it is a text.
    pub text: Option<String>,
}

/// Writes rejected lines. The file exists only if there are any.
pub struct Rejects {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    bytes: u64,
}

impl Rejects {
    /// `bytes`: how much of the file of an import that was interrupted to keep. The rest belongs to lines that are
    /// read again.
    pub fn open(path: PathBuf, bytes: u64) -> io::Result<Self> {
        let mut rejects = Self { path, file: None, bytes };
        if bytes > 0 {
            rejects.file()?;
        } else if rejects.path.exists() {
            std::fs::remove_file(&rejects.path)?;
        }
        Ok(rejects)
    }

    /// Writes rejected lines behind the first `bytes` of the file, and returns its length: of an attempt that failed
    /// nothing stays.
    pub fn replace_from(&mut self, bytes: u64, rejected: &[Reject]) -> io::Result<u64> {
        if self.bytes != bytes {
            self.bytes = bytes;
            self.file = None;
            if bytes == 0 {
                std::fs::remove_file(&self.path)?;
            } else {
                self.file()?;
            }
        }
        self.add(rejected)
    }

    fn add(&mut self, rejected: &[Reject]) -> io::Result<u64> {
        if rejected.is_empty() {
            return Ok(self.bytes);
        }
        let mut written = 0;
        let file = self.file()?;
        for Reject { number, reason, text } in rejected {
            let line = format!("{}\n", json!({ "line": number, "reason": reason, "text": text }));
            file.write_all(line.as_bytes())?;
            written += line.len() as u64;
        }
        file.flush()?;
        self.bytes += written;
        Ok(self.bytes)
    }

    fn file(&mut self) -> io::Result<&mut BufWriter<File>> {
        if self.file.is_none() {
            let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(&self.path)?;
            file.set_len(self.bytes)?;
            file.seek(SeekFrom::End(0))?;
            self.file = Some(BufWriter::new(file));
        }
        self.file.as_mut().ok_or_else(|| io::Error::other("not opened"))
    }
}

pub fn unknown(kind: EntityKind, name: &str) -> Reason {
    format!("there is no {} with the {} {name:?}", kind.name(), kind.key_name())
}

/// It was there once. Of an erased user nobody knows that.
pub fn removed(kind: EntityKind, name: &str) -> Reason {
    match kind {
        EntityKind::User => unknown(kind, name),
        _ => format!("the {} with the key {name:?} was removed", kind.name()),
    }
}

pub fn taken(kind: EntityKind, key: &str) -> Reason {
    format!("another {} has the key {key:?}; a key is never given twice", kind.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_after_the_kept_part_is_written_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.rejects.jsonl");
        let reject = |number| Reject { number, reason: "why".into(), text: Some("{".into()) };
        let mut rejects = Rejects::open(path.clone(), 0).unwrap();
        assert_eq!(rejects.add(&[]).unwrap(), 0);
        assert!(!path.exists());
        let kept = rejects.add(&[reject(1)]).unwrap();
        rejects.add(&[reject(2)]).unwrap();
        drop(rejects);
        let mut rejects = Rejects::open(path.clone(), kept).unwrap();
        rejects.replace_from(kept, &[reject(3), reject(4)]).unwrap();
        rejects.replace_from(kept, &[reject(2)]).unwrap();
        drop(rejects);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[1], r#"{"line":2,"reason":"why","text":"{"}"#);
        Rejects::open(path.clone(), 0).unwrap();
        assert!(!path.exists());
    }
}
