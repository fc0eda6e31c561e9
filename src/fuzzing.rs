//! Fuzz targets: one function each, which must hold for any bytes. `make fuzz` searches for bytes that break it; the
//! tests replay the corpus in `fuzz/corpus/<name>`.
//!
//! To add a target: a function beside the code that it tests, a line in [`TARGETS`], a file in
//! `fuzz/fuzz_targets` with its `[[bin]]` in `fuzz/Cargo.toml`, and some seeds.

use crate::http::socket::fuzzing::messages;
use plaudit_catalogue::event_log::fuzzing::events;
use plaudit_graphql::fuzzing::{cursors, guard, ids};

type Target = fn(&[u8]);

/// All targets by their names. Each panics if the bytes break a property.
pub const TARGETS: &[(&str, Target)] =
    &[("guard", guard), ("ids", ids), ("cursors", cursors), ("events", events), ("messages", messages)];

/// Runs one of [`TARGETS`] on the bytes; does nothing for an unknown name.
pub fn run(name: &str, bytes: &[u8]) {
    for (_, target) in TARGETS.iter().filter(|one| one.0 == name) {
        target(bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn every_property_holds_for_the_fuzz_corpus() {
        let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
        for (name, _) in TARGETS {
            let target = fs::read_to_string(fuzz.join(format!("fuzz_targets/{name}.rs"))).unwrap();
            assert!(target.contains(&format!("run(\"{name}\"")), "{name}");
            let corpus: Vec<_> = fs::read_dir(fuzz.join("corpus").join(name)).unwrap().flatten().collect();
            assert!((5..100).contains(&corpus.len()), "{name}: {}", corpus.len());
            for path in corpus.iter().map(fs::DirEntry::path) {
                println!("{path:?}"); // printed when the test fails
                run(name, &fs::read(path).unwrap());
            }
        }
    }
}
