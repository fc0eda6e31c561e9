//! Words that the house has retired: each names what to say instead.
//!
//! A word with two meanings, or without one of its own, costs every reader, of documents and of comments of code.

use super::super::repository::{Repository, prose};

/// Documents that people write, and comments of code.
const EVERYWHERE: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "client/README.md",
    "docs/",
    "src/",
    "crates/",
    "lua/",
    "migrations/",
];
/// Pages for those who use or run Plaudit.
const GUIDES: &[&str] =
    &["README.md", "client/README.md", "docs/guide/", "docs/operations/", "docs/quirks.md"];
/// Output of the program.
const GENERATED: &str = "docs/reference/";

/// A word or phrase, where it is retired, and what to say instead.
const RETIRED: &[(&str, &[&str], &str)] = &[
    ("anew", EVERYWHERE, "again"),
    ("bury", EVERYWHERE, "isolate, or make it a dead event"),
    ("to be had", EVERYWHERE, "available"),
    ("vouches", EVERYWHERE, "confirms"),
    ("survivors", EVERYWHERE, "remaining events"),
    ("replication history", EVERYWHERE, "replication id"),
    ("hence", EVERYWHERE, "so"),
    ("those of", EVERYWHERE, "repeat the noun"),
    ("that of", EVERYWHERE, "repeat the noun, or write its genitive"),
    ("whoever", EVERYWHERE, "the user, client or process that"),
    ("mend", EVERYWHERE, "repair or correct"),
    ("mended", EVERYWHERE, "repaired or corrected"),
    ("told", EVERYWHERE, "reported or notified"),
    ("tells", EVERYWHERE, "reports, notifies or shows"),
    ("entry of the log", EVERYWHERE, "event"),
    ("entries of the log", EVERYWHERE, "events"),
    ("history of", EVERYWHERE, "activity: a history is what clients of a test saw"),
    ("history", GUIDES, "activity, or the app's data: a history is what clients of a test saw"),
    ("event of a subscription", EVERYWHERE, "message"),
    ("events of a subscription", EVERYWHERE, "messages"),
    ("pushed event", EVERYWHERE, "message"),
    ("position in the log", EVERYWHERE, "offset"),
];

/// Retired words of the lines, each with path and line.
fn faults_of(path: &str, lines: &[(usize, String)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in lines {
        let text = words_of(line);
        for (word, within, instead) in RETIRED {
            if within.iter().any(|folder| path.starts_with(folder)) && text.contains(&format!(" {word} ")) {
                faults.push(format!("{path}:{number}: \"{word}\" is retired: {instead}"));
            }
        }
    }
    faults
}

/// The line's words in lower case, each between blanks, without what stands in backticks or is the target of a link.
fn words_of(line: &str) -> String {
    let outside: Vec<&str> = line.split('`').step_by(2).collect();
    let text = outside.join(" x ").replace("](", "] ");
    let words = text.split_whitespace().filter(|word| !word.contains(".md") && !word.contains("://"));
    let plain = words.flat_map(|word| word.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-'));
    let plain = plain.filter(|word| !word.is_empty()).map(str::to_lowercase);
    format!(" {} ", plain.collect::<Vec<_>>().join(" "))
}

/// The comments of a file of code.
fn comments(text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim_start()));
    let is_comment = |line: &str| line.starts_with("//") || line.starts_with("--");
    lines.filter(|(_, line)| is_comment(line)).map(|(number, line)| (number, line.to_owned())).collect()
}

fn faults(repository: &Repository) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in &repository.files {
        if path.ends_with(".md") && !path.starts_with(GENERATED) {
            faults.extend(faults_of(path, &prose(text)));
        } else if [".rs", ".lua", ".sql"].iter().any(|ending| path.ends_with(ending)) {
            faults.extend(faults_of(path, &comments(text)));
        }
    }
    faults
}

#[test]
fn no_document_or_comment_has_a_retired_word() {
    let faults = faults(&Repository::whole());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_retired_word_is_found_where_it_is_retired() {
    let found = |path: &str, text: &str| faults(&Repository::of(&[(path, text)])).len();
    assert_eq!(found("docs/guide/page.md", "A reader, whoever it is.\n\nThe History\n"), 2);
    assert_eq!(found("docs/internals/page.md", "Histories are checked; a history is one.\n"), 0);
    assert_eq!(found("docs/page.md", "`whoever` and [a link](history.md)\n\n```\nwhoever\n```\n"), 0);
    assert_eq!(found("docs/reference/page.md", "Whoever asks.\n"), 0);
    assert_eq!(found("src/one.rs", "// It begins anew.\nlet anew = 1;\n"), 1);
    assert_eq!(found("src/one.rs", "/// Its history.\n"), 0);
    assert_eq!(found("lua/one.lua", "-- The survivors are kept.\n"), 1);
}
