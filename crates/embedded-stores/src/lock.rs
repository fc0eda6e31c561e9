//! Exclusive lock of a data directory: at most one plaudit runs servers in it.
//!
//! The child servers inherit the locked file, so the lock is free only when the last of them has
//! ended, too. After a `kill -9` it prevents a second Redis or PostgreSQL from using files that an orphan
//! still writes.

use std::{
    fs::File,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    data_dir::DataDir,
    error::{EmbeddedError, Result},
    lock_file::{self, Holder},
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
    /// Makes this process the only one that runs servers in the directory, until the lock is dropped.
    ///
    /// `listen` is this process's address; it appears in the error of another process that tries to use the directory.
    /// Blocks up to `LEFTOVERS_END_WITHIN` while the servers of a killed plaudit end.
    ///
    /// # Errors
    /// `InUse` names the running holder; `StillLocked` if leftover servers did not end in time.
    pub fn take(dir: &DataDir, listen: &str) -> Result<Self> {
        let path = dir.lock_file();
        let file = lock_file::open(&path).map_err(EmbeddedError::file("open", &path))?;
        let start = Instant::now();
        while !lock_file::try_lock(&file).map_err(EmbeddedError::file("lock", &path))? {
            if let Some(holder) = Holder::read(&path).filter(Holder::is_alive) {
                return Err(EmbeddedError::InUse { dir: dir.path().to_owned(), holder });
            }
            if start.elapsed() >= LEFTOVERS_END_WITHIN {
                return Err(EmbeddedError::StillLocked {
                    dir: dir.path().to_owned(),
                    waited: LEFTOVERS_END_WITHIN,
                });
            }
            thread::sleep(POLL);
        }
        Holder::this_process(listen).write(&file).map_err(EmbeddedError::file("write", &path))?;
        Ok(Self { dir: dir.clone(), file: Arc::new(file) })
    }

    pub fn data_dir(&self) -> &DataDir {
        &self.dir
    }

    /// Inherited by the children.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }
}

impl Drop for DataDirLock {
    fn drop(&mut self) {
        // This process may continue to run; without the record it no longer counts as the holder. A
        // failure only delays the next holder.
        let _ = self.file.set_len(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_at_once_and_names_the_holder() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::open(temp.path()).unwrap();
        let _lock = DataDirLock::take(&dir, "127.0.0.1:8080").unwrap();
        for _ in 0..2 {
            let error = DataDirLock::take(&dir, "127.0.0.1:8081").unwrap_err().to_string();
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
            let lock = DataDirLock::take(&dir, "127.0.0.1:8080").unwrap();
            assert!(lock_file::is_held(&dir.lock_file()));
            drop(lock);
        }
    }
}
