//! Architecture: imports have no cycles. That no crate uses one above it is ensured by Cargo.

mod imports;

use std::collections::{BTreeMap, BTreeSet};

use super::repository::Repository;

#[test]
fn imports_between_folders_have_no_cycles() {
    let imports = imports::imports(&Repository::whole());
    let folders: BTreeSet<&[String]> =
        imports.keys().flat_map(|module| (0..module.len()).map(|length| &module[..length])).collect();
    let mut found = Vec::new();
    for folder in folders {
        let mut arrows: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
        for (from, targets) in &imports {
            let Some(from) = entry_of(from, folder) else { continue };
            let entries = targets.iter().filter_map(|target| entry_of(target, folder));
            arrows.entry(from).or_default().extend(entries.filter(|entry| *entry != from));
        }
        let cycles = imports::cycles(&arrows);
        if !cycles.is_empty() {
            found.push(format!("{}: {cycles:?}", folder.join("/")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// The entry of `folder` that contains the module.
fn entry_of<'a>(module: &'a [String], folder: &[String]) -> Option<&'a String> {
    module.strip_prefix(folder)?.first()
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

/// Rust files of a folder: path and text.
fn rust_files<'a>(repository: &'a Repository, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = repository.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    all.filter(move |(path, _)| path.starts_with(folder) && path.ends_with(".rs"))
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
