//! The files of the repository, and the words of its code.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Folders that are generated, downloaded or too large.
const SKIPPED: &[&str] = &["target", "node_modules", "dist", ".git", ".plaudit"];
/// This check has names of things that do not exist, so its words are excluded.
const THIS: &str = "tests/style/";

pub struct Repository {
    /// Texts by path from the root. Binary files are empty.
    pub files: BTreeMap<String, String>,
    pub words: BTreeSet<String>,
    /// From the reference, which another test compares with the code.
    pub settings: BTreeSet<String>,
    /// As code names them.
    pub crates: BTreeSet<String>,
}

impl Repository {
    /// This one.
    pub fn whole() -> Self {
        let mut files = BTreeMap::new();
        read_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), "", &mut files);
        Self::new(files)
    }

    /// A repository with these paths and texts.
    pub fn of(files: &[(&str, &str)]) -> Self {
        Self::new(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    fn new(files: BTreeMap<String, String>) -> Self {
        let other =
            |path: &str| path.ends_with(".md") || path.starts_with(THIS) || path.starts_with("fuzz/corpus/");
        let code = files.iter().filter(|(path, _)| !other(path));
        let words = code.flat_map(|(_, text)| words(&without_comments(text)).collect::<Vec<_>>()).collect();
        let reference = files.get("docs/reference/settings.md").map_or("", String::as_str);
        let rows = reference.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let settings = rows.map(str::to_owned).collect();
        let manifests = files.iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
        let name = |text: &String| Some(text.split_once("name = \"")?.1.split('"').next()?.replace('-', "_"));
        let crates = manifests.filter_map(|(_, text)| name(text)).collect();
        Self { files, words, settings, crates }
    }

    /// Whether the file or folder exists.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(next, _)| next.starts_with(&folder))
    }

    /// Whether the file has `fn name`, `struct name` or a similar definition.
    pub fn defines(&self, path: &str, name: &str) -> bool {
        let text = self.files.get(path).map_or("", String::as_str);
        let words: Vec<String> = words(text).collect();
        words.windows(2).any(|pair| KEYWORDS.contains(&pair[0].as_str()) && pair[1] == name)
    }
}

const KEYWORDS: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "mod",
    "macro_rules",
    "function",
    "local",
    "class",
    "interface",
    "let",
];

fn read_folder(folder: &Path, name: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let own = entry.file_name().into_string().unwrap();
        let path = if name.is_empty() { own.clone() } else { format!("{name}/{own}") };
        match entry.file_type().unwrap() {
            kind if kind.is_dir() && !SKIPPED.contains(&own.as_str()) => {
                read_folder(&entry.path(), &path, files)
            }
            kind if kind.is_file() => {
                files.insert(path, fs::read_to_string(entry.path()).unwrap_or_default());
            }
            _ => {}
        }
    }
}

pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !inside(c)).filter(|word| !word.is_empty()).map(str::to_owned)
}

/// The text without lines that are only a comment: a name in a comment is no proof that it exists.
fn without_comments(text: &str) -> String {
    let comment = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("//") || line.starts_with("--") || line.starts_with("* ") || line.starts_with("/*")
    };
    text.lines().filter(|line| !comment(line)).collect::<Vec<_>>().join("\n")
}

/// Lines outside of code blocks, with their numbers from 1.
pub fn prose(text: &str) -> Vec<(usize, String)> {
    numbered(text, false).into_iter().map(|(number, line)| (number, line.to_owned())).collect()
}

/// Lines of code blocks, with their numbers from 1.
pub fn fenced(text: &str) -> Vec<(usize, &str)> {
    numbered(text, true)
}

fn numbered(text: &str, wanted: bool) -> Vec<(usize, &str)> {
    let (mut lines, mut inside) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside == wanted {
            lines.push((at + 1, line));
        }
    }
    lines
}
