//! What must hold for any bytes at all: one function per fuzz target. `make fuzz` looks for bytes that break
//! it; the tests replay those that were found interesting, from `fuzz/corpus/<name>`.
//!
//! To add a target: a function beside the code that it tries, a line in [`TARGETS`], a file in
//! `fuzz/fuzz_targets` with its `[[bin]]` in `fuzz/Cargo.toml`, and some seeds.

use crate::{
    event_log::fuzzing::events,
    graphql::fuzzing::{cursors, guard, ids},
    http::socket::fuzzing::messages,
};

/// Panics if the bytes break what must hold.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: &[(&str, Target)] =
    &[("guard", guard), ("ids", ids), ("cursors", cursors), ("events", events), ("messages", messages)];

/// Tries the bytes on one of [`TARGETS`]; unknown names are none.
pub fn run(name: &str, bytes: &[u8]) {
    for (_, target) in TARGETS.iter().filter(|(target, _)| *target == name) {
        target(bytes);
    }
}
