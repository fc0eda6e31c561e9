//! Architecture: a module uses only layers below it, and imports have no cycles. Cargo ensures that other crates do not
//! use the server, because the server depends on them.

mod imports;

use std::collections::{BTreeMap, BTreeSet};

use super::repository::Repository;
use imports::code_of;

/// Each folder of `src`, with the folders that it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("primitives", &[]),
    ("catalogue", &["primitives"]),
    ("event_log", &["catalogue", "primitives"]),
    ("store", &["event_log", "catalogue", "primitives"]),
    ("hub", &["store", "catalogue", "primitives"]),
    ("reconcile", &["store", "catalogue", "primitives"]),
    ("pipeline", &["reconcile", "store", "event_log", "settings", "catalogue", "primitives"]),
    ("domain", &["hub", "reconcile", "store", "event_log", "settings", "catalogue", "primitives"]),
    ("graphql", &["domain", "hub", "settings", "catalogue", "primitives", "store::tally"]),
    ("http", &["graphql", "domain", "settings", "primitives", "store::tally"]),
    ("seed", &["store", "catalogue", "primitives"]),
    ("import", &["domain", "pipeline", "store", "event_log", "catalogue", "primitives"]),
    ("settings", &["primitives"]),
    ("app", &["http", "graphql", "domain", "hub", "pipeline", "store", "seed", "settings", "primitives"]),
    (
        "cli",
        &[
            "app",
            "graphql",
            "import",
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
    let repository = Repository::whole();
    let mut wrong = Vec::new();
    for (layer, allowed) in LAYERS {
        for (file, text) in rust_files(&repository, &format!("src/{layer}/")) {
            for used in crate_paths(&code_of(text)) {
                let fits = |below: &&str| used == **below || used.starts_with(&format!("{below}::"));
                if !used.starts_with(layer) && !allowed.iter().any(fits) {
                    wrong.push(format!("{file} uses {used}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_folder_has_its_layer() {
    let repository = Repository::whole();
    let inside = repository.files.keys().filter_map(|path| path.strip_prefix("src/")?.split_once('/'));
    let folders: BTreeSet<String> = inside.map(|(folder, _)| folder.to_owned()).collect();
    assert_eq!(folders, LAYERS.iter().map(|(layer, _)| (*layer).to_owned()).collect());
}

/// Folders whose entries must not import each other in a cycle.
const ACYCLIC: &[&[&str]] = &[&[], &["graphql"], &["pipeline"]];

#[test]
fn imports_between_folders_have_no_cycles() {
    let imports = imports::imports(&Repository::whole());
    for folder in ACYCLIC {
        let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, targets) in &imports {
            let Some(from) = entry_of(from, folder) else { continue };
            let entries = targets.iter().filter_map(|target| entry_of(target, folder));
            arrows.entry(from.clone()).or_default().extend(entries.filter(|entry| *entry != from));
        }
        let cycles = imports::cycles(&arrows);
        assert!(cycles.is_empty(), "in src/{}: {cycles:#?}", folder.join("/"));
    }
}

/// The entry of `folder` that contains the module.
fn entry_of(module: &[String], folder: &[&str]) -> Option<String> {
    module.iter().zip(folder).all(|(name, part)| name == part).then(|| module.get(folder.len()).cloned())?
}

#[test]
fn imports_between_files_have_no_cycles() {
    let mut imports = imports::imports(&Repository::whole());
    for (module, targets) in &mut imports {
        // A `mod.rs` re-exports items of its folder's files, and they may use what it defines.
        targets.retain(|target| !target.starts_with(module) && !module.starts_with(target));
    }
    let cycles: Vec<Vec<String>> = imports::cycles(&imports)
        .iter()
        .map(|cycle| cycle.iter().map(|module| module.join("/")).collect())
        .collect();
    assert!(cycles.is_empty(), "{cycles:#?}");
}

#[test]
fn the_import_graph_follows_groups_and_reexports() {
    let repository = Repository::of(&[
        ("src/a/mod.rs", "mod deep;\npub use deep::Thing;\n"),
        (
            "src/a/deep.rs",
            "pub struct Thing;\n// use crate::b::Never;\n#[cfg(test)]\nmod tests { use crate::b; }\n",
        ),
        ("src/b.rs", "use std::fs;\nuse crate::{\n    a::{self, Thing as Other},\n    c,\n};\n"),
        ("src/c.rs", "fn f() -> super::a::Thing { crate::b::f() }\n"),
    ]);
    let module = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
    let of = |path: &str| {
        imports::imports(&repository)[&module(path)].iter().map(|to| to.join("/")).collect::<Vec<_>>()
    };
    assert_eq!(of("a"), ["a/deep"]);
    assert!(of("a/deep").is_empty());
    assert_eq!(of("b"), ["a", "a/deep", "c"]);
    assert_eq!(of("c"), ["a/deep", "b"]);
    assert_eq!(imports::cycles(&imports::imports(&repository)), [[module("b"), module("c")].into()]);
}

#[test]
fn the_domain_uses_no_transport_and_no_store_driver() {
    let repository = Repository::whole();
    for (file, text) in rust_files(&repository, "src/domain/") {
        for driver in ["axum::", "async_graphql::", "sqlx::", " ::redis::"] {
            assert!(!code_of(text).contains(driver), "{file} uses {driver}");
        }
    }
}

/// Rust files of a folder: path and text.
fn rust_files<'a>(repository: &'a Repository, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = repository.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    all.filter(move |(path, _)| path.starts_with(folder) && path.ends_with(".rs"))
}

/// Paths used from the crate's root, as two segments: `store::tally`, also from `use crate::{…}`.
fn crate_paths(code: &str) -> BTreeSet<String> {
    let code: String = code.lines().collect();
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
