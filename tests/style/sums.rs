//! How each sum is counted.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    limits::{FUNCTION, Kind, Sum},
    repository::Repository,
    rust::{self, Items},
};

/// What is wrong with a sum of this value.
pub fn fault(sum: &Sum, value: usize) -> Option<String> {
    let Sum { name, limit, instead, .. } = sum;
    let (worse, better) = match sum.kind {
        Kind::AtMost => (value > *limit, value * 100 <= limit * 98),
        Kind::AtLeast => (value < *limit, value * 100 >= limit * 102),
    };
    if worse {
        let side = if sum.kind == Kind::AtMost { "at most" } else { "at least" };
        return Some(format!("{name}: {value}, {side} {limit}: {instead}"));
    }
    (better && value != *limit)
        .then(|| format!("{name}: {value}, the limit is {limit}: set it to {value} in tests/style/limits.rs"))
}

/// Rust of `src` and `crates` without the files of unit tests: path and text.
fn sources(repository: &Repository) -> impl Iterator<Item = (&str, &str)> {
    let of_tests =
        |path: &str| path.ends_with("/tests.rs") || path.split('/').any(|folder| folder == "tests");
    files(repository, &["src/", "crates/"], &[".rs"]).filter(move |(path, _)| !of_tests(path))
}

fn files<'a>(
    repository: &'a Repository,
    folders: &'a [&str],
    endings: &'a [&str],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = repository.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    all.filter(move |(path, _)| {
        folders.iter().any(|folder| path.starts_with(folder))
            && endings.iter().any(|ending| path.ends_with(ending))
    })
}

/// Lines that are neither empty nor a comment.
fn code_lines<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> usize {
    let is_code =
        |line: &&str| !line.is_empty() && !["--", "#", "//"].iter().any(|mark| line.starts_with(mark));
    files.map(|(_, text)| text.lines().map(str::trim).filter(is_code).count()).sum()
}

pub fn lexemes(repository: &Repository) -> usize {
    sources(repository).map(|(_, text)| rust::lexemes(text).len()).sum()
}

pub fn lines_of_lua_and_sql(repository: &Repository) -> usize {
    code_lines(files(repository, &["lua/", "migrations/", "src/", "crates/"], &[".lua", ".sql"]))
}

pub fn lines_of_data(repository: &Repository) -> usize {
    code_lines(files(repository, &["src/", "crates/"], &[".toml", ".json"]))
}

pub fn lines_of_scripts(repository: &Repository) -> usize {
    code_lines(files(repository, &["scripts/"], &[".mjs", ".js", ".sh", ".py"]))
}

pub fn lines_of_tests(repository: &Repository) -> usize {
    files(repository, &["tests/", "benches/"], &[".rs"]).map(|(_, text)| text.lines().count()).sum()
}

pub fn assertions(repository: &Repository) -> usize {
    let asserts = |word: &String| {
        ["assert", "assert_eq", "assert_ne", "assert_matches", "eventually"].contains(&word.as_str())
            || word.starts_with("prop_assert")
            || word.starts_with("expect_")
    };
    let tests = files(repository, &["tests/", "benches/"], &[".rs"]);
    tests.map(|(_, text)| super::repository::words(text).filter(asserts).count()).sum()
}

pub fn settings(repository: &Repository) -> usize {
    repository.settings.len()
}

pub fn tables(repository: &Repository) -> usize {
    let creates = |line: &&str| line.starts_with("CREATE TABLE") || line.starts_with("CREATE UNLOGGED TABLE");
    files(repository, &["migrations/"], &[".sql"]).map(|(_, text)| text.lines().filter(creates).count()).sum()
}

pub fn scripts(repository: &Repository) -> usize {
    files(repository, &["lua/"], &[".lua"]).filter(|(path, _)| path.matches('/').count() == 1).count()
}

/// Lines of a page that begin so.
fn lines_with(repository: &Repository, page: &str, begin: &str) -> usize {
    let text = repository.files.get(page).map_or("", String::as_str);
    text.lines().filter(|line| line.starts_with(begin)).count()
}

pub fn commands(repository: &Repository) -> usize {
    lines_with(repository, "docs/reference/command-line.md", "## plaudit ")
}

pub fn metrics(repository: &Repository) -> usize {
    lines_with(repository, "docs/reference/metrics.md", "| `plaudit_")
}

pub fn error_codes(repository: &Repository) -> usize {
    lines_with(repository, "docs/reference/errors.md", "| `")
}

/// Those that the protocol's tables of `extensions.reason` name.
pub fn reasons(repository: &Repository) -> usize {
    let text = repository.files.get("schema/PROTOCOL.md").map_or("", String::as_str);
    let tables = text.split("| `extensions.reason` |").skip(1);
    let rows = tables.flat_map(|table| table.lines().skip(2).take_while(|line| line.starts_with("| `")));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect::<BTreeSet<_>>().len()
}

/// Documents that people write: no reference, which is output, no protocol and no changelog.
fn documents(repository: &Repository) -> impl Iterator<Item = (&str, &str)> {
    let other =
        ["docs/reference/", "client/reference/", "schema/PROTOCOL.md", "CHANGELOG.md", "README.zh-CN.md"];
    files(repository, &[""], &[".md"])
        .filter(move |(path, _)| !other.iter().any(|other| path.starts_with(other)))
}

pub fn words(repository: &Repository) -> usize {
    documents(repository).map(|(_, text)| text.split_whitespace().count()).sum()
}

pub fn inner_words(repository: &Repository) -> usize {
    let inner = ["docs/internals/", "docs/results.md", "docs/decisions/"];
    let inner = documents(repository).filter(|(path, _)| inner.iter().any(|inner| path.starts_with(inner)));
    inner.map(|(_, text)| text.split_whitespace().count()).sum()
}

pub fn long_document_lines(repository: &Repository) -> usize {
    let long = |line: &&str| line.chars().count() > 200 && !line.trim_start().starts_with('|');
    documents(repository).map(|(_, text)| text.lines().filter(long).count()).sum()
}

fn items(repository: &Repository) -> impl Iterator<Item = (&str, Items)> {
    sources(repository).map(|(path, text)| (path, rust::items(&rust::lexemes(text))))
}

/// The folder of the crate that a file belongs to.
fn crate_of<'a>(repository: &Repository, path: &'a str) -> &'a str {
    let mut folder = path;
    while let Some((above, _)) = folder.rsplit_once('/') {
        folder = above;
        if repository.files.contains_key(&format!("{folder}/Cargo.toml")) {
            return folder;
        }
    }
    ""
}

pub fn homonyms(repository: &Repository) -> usize {
    let mut names: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (path, items) in items(repository) {
        let of = crate_of(repository, path);
        items.types.into_iter().for_each(|defined| *names.entry((of, defined.name)).or_default() += 1);
    }
    names.values().filter(|count| **count > 1).count()
}

pub fn shared_names(repository: &Repository) -> usize {
    let mut crates: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (path, items) in items(repository) {
        let of = crate_of(repository, path);
        for defined in items.types.into_iter().filter(|defined| defined.is_public) {
            crates.entry(defined.name).or_default().insert(of);
        }
    }
    crates.values().filter(|crates| crates.len() > 1).count()
}

pub fn entries(repository: &Repository) -> usize {
    let mut entries: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, _) in files(repository, &["src/", "crates/", "tests/integration/"], &[".rs"]) {
        let mut rest = path;
        while let Some((folder, _)) = rest.rsplit_once('/') {
            entries.entry(folder).or_default().insert(rest);
            rest = folder;
        }
    }
    entries.remove("crates");
    entries.values().map(BTreeSet::len).max().unwrap_or_default()
}

/// Methods of the type that has the most. A trait that one type implements is but another place for methods of that type.
pub fn methods(repository: &Repository) -> usize {
    let all: Vec<Items> = items(repository).map(|(_, items)| items).collect();
    let types = || all.iter().flat_map(|items| &items.types);
    let traits: BTreeSet<&str> =
        types().filter(|defined| defined.is_trait).map(|defined| defined.name.as_str()).collect();
    let mut implementors: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let impls = || all.iter().flat_map(|items| &items.impls);
    for (name, of) in impls().filter_map(|of| Some((of.for_trait.as_deref()?, of.of.as_str()))) {
        implementors.entry(name).or_default().insert(of);
    }
    let counts = |of: &&rust::Impl| match of.for_trait.as_deref() {
        Some(name) => traits.contains(name) && implementors[name].len() == 1,
        None => true,
    };
    let mut methods: BTreeMap<&str, usize> = BTreeMap::new();
    impls().filter(counts).for_each(|of| *methods.entry(&of.of).or_default() += of.methods);
    methods.values().copied().max().unwrap_or_default()
}

pub fn foreign(repository: &Repository) -> usize {
    let is_foreign = |items: &Items| {
        items.types.is_empty() && !items.has_free && items.impls.iter().any(|of| of.for_trait.is_none())
    };
    items(repository).filter(|(_, items)| is_foreign(items)).count()
}

pub fn wide_lines(repository: &Repository) -> usize {
    let is_wide = |line: &&str| line.chars().count() > 120 && !line.contains('"');
    sources(repository).map(|(_, text)| text.lines().filter(is_wide).count()).sum()
}

pub fn long_functions(repository: &Repository) -> usize {
    items(repository)
        .flat_map(|(_, items)| items.functions)
        .filter(|function| function.lines > FUNCTION)
        .count()
}

/// The crates of others that any manifest names.
pub fn dependencies(repository: &Repository) -> BTreeSet<String> {
    let manifests = repository.files.iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
    let mut names = BTreeSet::new();
    for (_, text) in manifests {
        let sections = text
            .split("\n[")
            .filter(|section| section.split(']').next().is_some_and(|head| head.ends_with("dependencies")));
        let lines =
            sections.flat_map(|section| section.lines().skip(1)).filter(|line| !line.contains("path = "));
        let named = lines.filter_map(|line| line.split_once('=')?.0.trim().split('.').next());
        names.extend(
            named
                .filter(|name| !name.starts_with(['#', ' ']) && !name.starts_with("plaudit"))
                .map(str::to_owned),
        );
    }
    names
}
