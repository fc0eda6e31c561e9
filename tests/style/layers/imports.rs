//! The import graph of the modules of `src`, read from their source. Re-exports are followed to the module that defines
//! the item. Unit tests are omitted.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use crate::repository::Repository;

/// The path of a module below `src`: `["graphql", "live", "key"]`. A `mod.rs` or `lib.rs` has the path of its folder.
pub type Module = Vec<String>;

/// The modules that each module imports.
pub type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// What the names of the crates in `src` begin with.
const CRATE: &str = "plaudit_";

/// A path in the source of a module.
struct Mention {
    segments: Vec<String>,
    is_reexport: bool,
}

pub fn imports(repository: &Repository) -> Imports {
    let crates: BTreeSet<&str> = repository
        .files
        .keys()
        .filter_map(|path| path.strip_prefix("src/")?.strip_suffix("/Cargo.toml"))
        .collect();
    let mut code = BTreeMap::new();
    for (path, text) in super::rust_files(repository, "src/") {
        let module = module_of(path.trim_start_matches("src/"));
        if !module.iter().any(|name| ["tests", "fuzzing", "main", "build"].contains(&name.as_str())) {
            code.insert(module, code_of(text));
        }
    }
    let modules: BTreeSet<Module> = code.keys().cloned().collect();
    let mentions: BTreeMap<_, _> =
        code.iter().map(|(module, code)| (module, mentions(code, module, &modules))).collect();
    let reexports = reexports(&mentions, &crates);
    let imported = |module: &Module| {
        let paths =
            mentions[module].iter().filter_map(|mention| absolute(module, &mention.segments, &crates));
        let targets = paths.map(|path| defined_in(path, &modules, &reexports));
        targets.filter(|target| target != module && modules.contains(target)).collect()
    };
    modules.iter().map(|module| (module.clone(), imported(module))).collect()
}

fn module_of(file: &str) -> Module {
    let mut names: Module =
        Path::new(file).with_extension("").iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    names.pop_if(|name| name == "mod" || name == "lib");
    names
}

/// The source without comments, unit tests and modules that are declared for tests only.
pub fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            if lines.next().is_some_and(|item| item.trim_end().ends_with(';')) {
                continue;
            }
            break;
        }
        code.push_str(line);
        code.push('\n');
    }
    code
}

fn mentions(code: &str, module: &Module, modules: &BTreeSet<Module>) -> Vec<Mention> {
    let (mut mentions, mut rest) = (Vec::new(), String::new());
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let Some((is_reexport, path)) = use_of(line.trim()) else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let mut path = path.to_owned();
        while !path.contains(';') {
            path.push_str(lines.next().expect("a `use` ends with a semicolon").trim());
        }
        for path in expanded(path.trim_end_matches(';')) {
            let mut segments: Vec<String> = path.split("::").map(|part| part.trim().to_owned()).collect();
            if modules.contains(&[module.as_slice(), &segments[..1]].concat()) {
                segments.insert(0, "self".to_owned());
            }
            mentions.push(Mention { segments, is_reexport });
        }
    }
    mentions.extend(inline_paths(&rest).map(|segments| Mention { segments, is_reexport: false }));
    mentions
}

/// Whether a line begins a `use`, whether that is a `pub use`, and the path.
fn use_of(line: &str) -> Option<(bool, &str)> {
    if let Some(path) = line.strip_prefix("use ") {
        return Some((false, path));
    }
    let (visibility, path) = line.split_once("use ")?;
    let is_visibility = visibility.starts_with("pub") && visibility.ends_with([' ', ')']);
    (is_visibility && visibility.trim().split(' ').count() == 1).then_some((true, path))
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`; names after `as` are omitted.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, group)) = path.split_once('{') else {
        return vec![path.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let items = super::top_level(group);
    items.iter().flat_map(|item| expanded(item)).map(|item| format!("{before}{item}")).collect()
}

/// Paths outside of `use` that begin with `crate::`, `super::` or another crate of `src`.
fn inline_paths(code: &str) -> impl Iterator<Item = Vec<String>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(move |c: char| !is_part(c));
    let begins = |word: &&str| ["crate::", "super::", CRATE].iter().any(|start| word.starts_with(start));
    let paths = words.filter(begins);
    paths.map(|path| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// A path from `src`; `None` for crates outside of it.
fn absolute(module: &Module, segments: &[String], crates: &BTreeSet<&str>) -> Option<Vec<String>> {
    let supers = segments.iter().take_while(|segment| *segment == "super").count();
    let own = module.first().filter(|name| crates.contains(name.as_str()));
    let other = segments[0].strip_prefix(CRATE).filter(|name| crates.contains(name)).map(str::to_owned);
    let base = match segments[0].as_str() {
        "crate" => own.map_or(&[][..], std::slice::from_ref),
        "self" => module.as_slice(),
        "super" => &module[..module.len() - supers],
        _ => std::slice::from_ref(other.as_ref()?),
    };
    let rest = &segments[supers.max(1)..];
    Some(base.iter().chain(rest).filter(|name| *name != "self").cloned().collect())
}

/// The path behind each name that a module re-exports with `pub use`.
fn reexports(
    mentions: &BTreeMap<&Module, Vec<Mention>>,
    crates: &BTreeSet<&str>,
) -> BTreeMap<(Module, String), Vec<String>> {
    let mut reexports = BTreeMap::new();
    for (module, mentions) in mentions {
        for mention in mentions.iter().filter(|mention| mention.is_reexport) {
            let Some(path) = absolute(module, &mention.segments, crates) else { continue };
            if let Some(name) = path.last() {
                reexports.insert(((*module).clone(), name.clone()), path.clone());
            }
        }
    }
    reexports
}

/// The module that defines the item at this path, after re-exports.
fn defined_in(
    mut path: Vec<String>,
    modules: &BTreeSet<Module>,
    reexports: &BTreeMap<(Module, String), Vec<String>>,
) -> Module {
    const DEEPEST: usize = 8;
    for _ in 0..DEEPEST {
        let length = (0..=path.len()).rev().find(|length| modules.contains(&path[..*length])).unwrap_or(0);
        let Some(name) = path.get(length) else { break };
        match reexports.get(&(path[..length].to_vec(), name.clone())) {
            Some(original) if original[..] != path[..=length] => {
                path = [original, &path[length + 1..]].concat();
            }
            _ => {
                path.truncate(length);
                break;
            }
        }
    }
    path
}

/// Cycles: groups of at least two nodes that reach each other.
pub fn cycles<T: Ord + Clone>(arrows: &BTreeMap<T, BTreeSet<T>>) -> Vec<BTreeSet<T>> {
    let reached: BTreeMap<&T, BTreeSet<T>> =
        arrows.keys().map(|from| (from, reached(arrows, from))).collect();
    let cycle = |from: &T| -> BTreeSet<T> {
        let back = |to: &&T| reached.get(to).is_some_and(|targets| targets.contains(from));
        reached[from].iter().filter(back).cloned().collect()
    };
    let cycles: BTreeSet<_> = arrows.keys().map(cycle).filter(|cycle| cycle.len() > 1).collect();
    cycles.into_iter().collect()
}

fn reached<T: Ord + Clone>(arrows: &BTreeMap<T, BTreeSet<T>>, from: &T) -> BTreeSet<T> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from.clone()]);
    while let Some(next) = open.pop() {
        for to in arrows.get(&next).into_iter().flatten() {
            if reached.insert(to.clone()) {
                open.push(to.clone());
            }
        }
    }
    reached
}
