//! Every limit of the house, in one table.
//!
//! Sums are budgets: they only go down. What needs more of one lowers another in the same commit. A sum that is 2 % below
//! its limit fails, too, so that the limit follows it. What weight could be moved into has a limit of its own, so that only
//! deleting counts.

use super::{repository::Repository, sums};

/// A sum of the whole repository.
pub struct Sum {
    pub name: &'static str,
    pub limit: usize,
    pub kind: Kind,
    pub count: fn(&Repository) -> usize,
    /// What to do when it is exceeded.
    pub instead: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    AtMost,
    /// Less than this is a loss.
    AtLeast,
}

const fn at_most(
    name: &'static str,
    limit: usize,
    count: fn(&Repository) -> usize,
    instead: &'static str,
) -> Sum {
    Sum { name, limit, kind: Kind::AtMost, count, instead }
}

const fn at_least(
    name: &'static str,
    limit: usize,
    count: fn(&Repository) -> usize,
    instead: &'static str,
) -> Sum {
    Sum { name, limit, kind: Kind::AtLeast, count, instead }
}

const MERGE: &str = "merge what does one job, or delete what nobody would miss";
const SHORTER: &str = "say it once, in fewer words; what code or its output says needs no document";

pub const SUMS: &[Sum] = &[
    // What a reader of the code carries.
    at_most("lexemes of Rust in src and crates", 515_689, sums::lexemes, MERGE),
    at_most("lines of Lua and SQL", 1_547, sums::lines_of_lua_and_sql, MERGE),
    at_most("lines of TOML and JSON in src and crates", 1_993, sums::lines_of_data, MERGE),
    at_most("lines of scripts", 1_130, sums::lines_of_scripts, MERGE),
    at_most("lines of Rust in tests and benches", 55_754, sums::lines_of_tests, "use a helper that is there"),
    at_least("assertions in tests", 3_866, sums::assertions, "a test must not say less than before"),
    // What a user or operator has to know.
    at_most("settings", 90, sums::settings, "make it a constant, or merge two"),
    at_most("tables", 41, sums::tables, MERGE),
    at_most("Lua scripts", 31, sums::scripts, MERGE),
    at_most("commands", 20, sums::commands, MERGE),
    at_most("metrics", 47, sums::metrics, "add a label to one that is there"),
    at_most("error codes", 12, sums::error_codes, "use a code that is there, with a reason"),
    at_most("reasons of errors", 27, sums::reasons, "use a reason that is there"),
    at_most("words of documents", 41_996, sums::words, SHORTER),
    at_most(
        "words of docs/internals, docs/decisions and docs/results.md",
        14_968,
        sums::inner_words,
        SHORTER,
    ),
    // What makes a listing hard to read.
    at_most(
        "type names that a crate defines twice",
        1,
        sums::homonyms,
        "give each concept a name of its own",
    ),
    at_most(
        "public type names of several crates",
        5,
        sums::shared_names,
        "give each concept a name of its own",
    ),
    at_most("entries of the fullest folder", 21, sums::entries, "make a room of what belongs together"),
    at_most("methods of one type", 32, sums::methods, "make a small type of what has rules of its own"),
    at_most(
        "files that only add methods to a type of another file",
        0,
        sums::foreign,
        "define what the file is about",
    ),
    at_most("lines of Rust above 120 characters without a string", 0, sums::wide_lines, "wrap the line"),
    at_most(
        "lines of documents above 200 characters",
        0,
        sums::long_document_lines,
        "end a line with a sentence",
    ),
    at_most("functions above 60 lines", 6, sums::long_functions, "make a function of each step"),
];

/// Lines of one page, unless it is a list.
pub const PAGE: usize = 200;
/// Characters of one line of a page. A table's row may be longer.
pub const LINE: usize = 400;
/// Characters of one cell of a table.
pub const CELL: usize = 200;
/// Lines and words of the documents that readers start with.
pub const FIRST_PAGES: &[(&str, usize, usize)] =
    &[("README.md", 150, 1_800), ("ARCHITECTURE.md", 200, 3_500)];
/// Pages that are lists, whose length has no limit.
pub const LISTS: &[&str] = &["docs/reference/", "schema/PROTOCOL.md"];
/// Rows of the vocabulary in ARCHITECTURE.md; one of them has two words.
pub const VOCABULARY: usize = 39;
/// Lines of one version in the changelog.
pub const VERSION: usize = 30;
/// Lines of one function.
pub const FUNCTION: usize = 60;
/// The crates of others that the repository uses: a new one is named here, after the one that it replaces is gone.
pub const DEPENDENCIES: &[&str] = &[
    "aho-corasick",
    "async-graphql",
    "async-graphql-axum",
    "async-graphql-value",
    "async-trait",
    "axum",
    "backon",
    "base64",
    "bytes",
    "chrono",
    "clap",
    "clap_complete",
    "clap_mangen",
    "crc",
    "dataloader",
    "fail",
    "failsafe",
    "flate2",
    "foldhash",
    "futures-util",
    "governor",
    "hdrhistogram",
    "hmac",
    "http",
    "http-body-util",
    "humantime",
    "hyper",
    "hyper-util",
    "indicatif",
    "ipnet",
    "jsonwebtoken",
    "libc",
    "libfuzzer-sys",
    "log",
    "lru",
    "metrics",
    "metrics-exporter-prometheus",
    "mimalloc",
    "moka",
    "opentelemetry",
    "opentelemetry-http",
    "opentelemetry-otlp",
    "opentelemetry-proto",
    "opentelemetry_sdk",
    "parking_lot",
    "procfs",
    "proptest",
    "prost",
    "rand",
    "rand_distr",
    "rcgen",
    "redis",
    "reqwest",
    "rust-embed",
    "rustix",
    "rustls",
    "ruzstd",
    "serde",
    "serde_json",
    "sha2",
    "slab",
    "sqlx",
    "stateright",
    "tempfile",
    "thiserror",
    "todc-utils",
    "tokio",
    "tokio-stream",
    "tokio-tungstenite",
    "tokio-util",
    "toml",
    "tower",
    "tower-http",
    "tracing",
    "tracing-subscriber",
    "unicode-normalization",
    "unicode-script",
    "unicode-security",
    "url",
    "uuid",
];
