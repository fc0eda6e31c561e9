//! The layers hold: a module uses only those that stand below it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Each folder of `src`, with the folders that it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("primitives", &[]),
    ("catalogue", &["primitives"]),
    ("event_log", &["catalogue", "primitives"]),
    ("store", &["event_log", "catalogue", "primitives"]),
    ("hub", &["store", "catalogue", "primitives"]),
    ("reconcile", &["store", "catalogue", "primitives"]),
    ("pipeline", &["reconcile", "store", "event_log", "settings", "catalogue", "primitives"]),
    ("domain", &["hub", "store", "event_log", "settings", "catalogue", "primitives"]),
    ("graphql", &["domain", "hub", "settings", "catalogue", "primitives", "store::tally"]),
    ("http", &["graphql", "domain", "settings", "primitives", "store::tally"]),
    ("seed", &["store", "catalogue", "primitives"]),
    ("settings", &["primitives"]),
    ("app", &["http", "graphql", "domain", "hub", "pipeline", "store", "seed", "settings", "primitives"]),
    (
        "cli",
        &[
            "app",
            "graphql",
            "reconcile",
            "seed",
            "settings",
            "pipeline",
            "store",
            "event_log",
            "catalogue",
            "primitives",
        ],
    ),
];

#[test]
fn no_module_uses_a_layer_above_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (layer, allowed) in LAYERS {
        for file in rust_files(&src.join(layer)) {
            let text = fs::read_to_string(&file).unwrap();
            for used in crate_paths(code_of(&text)) {
                let fits = |below: &&str| used == **below || used.starts_with(&format!("{below}::"));
                if !used.starts_with(layer) && !allowed.iter().any(fits) {
                    wrong.push(format!("{} uses {used}", file.strip_prefix(&src).unwrap().display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_folder_has_its_layer() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders: BTreeSet<String> = fs::read_dir(src)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert_eq!(folders, LAYERS.iter().map(|(layer, _)| (*layer).to_owned()).collect());
}

#[test]
fn the_domain_knows_no_transport_and_no_store_driver() {
    let domain = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/domain");
    for file in rust_files(&domain) {
        let text = fs::read_to_string(&file).unwrap();
        for driver in ["axum::", "async_graphql::", "sqlx::", " ::redis::"] {
            assert!(!code_of(&text).contains(driver), "{} uses {driver}", file.display());
        }
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// What stands before the unit tests.
fn code_of(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

/// Paths used from the crate's root, two segments deep: `store::tally`, also out of `use crate::{…}`.
fn crate_paths(code: &str) -> BTreeSet<String> {
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut paths = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => paths.extend(top_level(group).iter().map(|item| two_segments(item))),
            None => {
                paths.insert(two_segments(rest));
            }
        }
    }
    paths
}

/// Items of a `{…}` group that has just been opened.
fn top_level(group: &str) -> Vec<String> {
    let (mut items, mut depth) = (vec![String::new()], 0);
    for character in group.chars() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(character);
        }
    }
    items.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

fn two_segments(path: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let end = path.find(|c: char| !word(c) && c != ':').unwrap_or(path.len());
    let mut segments = path[..end].split("::").filter(|segment| !segment.is_empty());
    let (first, second) = (segments.next().unwrap_or_default(), segments.next());
    match second {
        Some(second) if second.chars().next().is_some_and(char::is_lowercase) => format!("{first}::{second}"),
        _ => first.to_owned(),
    }
}
