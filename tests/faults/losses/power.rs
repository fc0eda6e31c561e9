//! A power cut: only what was synced to disk is left of a file.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Compiles the library that notes what was synced. Returns its path.
pub fn library(directory: &Path) -> PathBuf {
    let library = directory.join("synced.so");
    let source = support::path_of("tests/faults/losses/synced.c");
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").status();
    assert!(compiled.unwrap().success(), "cc");
    library
}

/// Cuts the files below a directory to what was on disk. Files that were never synced lose everything, but for those
/// that are written before Redis accepts anything.
pub fn cut(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            cut(&path);
        } else if path.to_string_lossy().ends_with(".incr.aof") {
            let synced = fs::read_to_string(PathBuf::from(format!("{}.synced", path.display())));
            let size = synced.map_or(0, |text| text.trim().parse().unwrap());
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(size).unwrap();
        }
    }
}
