//! Names in backticks: files, definitions, settings, metrics, codes and commands must exist.

use crate::repository::{Repository, words};

/// Endings of source files. A name with such an ending is a file, and must be written with its full path.
const SOURCES: &[&str] =
    &[".rs", ".lua", ".sql", ".md", ".graphql", ".ts", ".tsx", ".js", ".mjs", ".toml", ".sh", ".jpg"];
/// Files that the reader creates.
const READERS: &[&str] = &["plaudit.toml"];
/// Variables that are no settings.
const VARIABLES: &[&str] = &["PLAUDIT_BIN", "PLAUDIT_SERVICE_HOST", "PLAUDIT_PORT_80_TCP"];
/// Programs of others, whose arguments are not checked.
const PROGRAMS: &[&str] = &["cargo", "npm", "node", "curl", "kill", "UNLINK"];

/// First parts of dotted names that are no fail points: members of an error, a user of the demo data.
const DOTTED: &[&str] = &["extensions", "mira", "pg_hba"];

/// Words of Redis, PostgreSQL, protocols and packages, which this code may lack.
const FOREIGN: &[&str] = &[
    "Allow",
    "LISTEN",
    "OverlappingFieldsCanBeMerged",
    "truefalse",
    "sun_path",
    "PGPORT",
    "flock",
    "Default_Ignorable_Code_Point",
    "Bidi_Control",
    "__Schema",
    "CollectFields",
    "EventSource",
    "duplicate_table",
    "duplicate_function",
    "persistedDocuments",
    "persistConfig",
];

/// Names of a line that do not exist.
pub fn faults(repository: &Repository, line: &str) -> Vec<String> {
    line.split('`').skip(1).step_by(2).filter_map(|span| fault(repository, span)).collect()
}

/// Settings of an example that do not exist.
pub fn faults_of_a_command(repository: &Repository, line: &str) -> Vec<String> {
    let line = line.split(" # ").next().unwrap_or_default();
    let has_program = line.split_whitespace().any(|word| PROGRAMS.contains(&word));
    let own = line.contains("PLAUDIT_") || line.contains("plaudit ") && !has_program;
    if own { settings(repository, line).into_iter().collect() } else { Vec::new() }
}

fn fault(repository: &Repository, span: &str) -> Option<String> {
    let first = span.split_whitespace().next()?;
    if PROGRAMS.contains(&first) {
        return None;
    }
    if is_pattern(first) {
        return unknown_word(repository, span);
    }
    if is_path(repository, first) {
        return path(repository, first, span[first.len()..].trim());
    }
    let is_source = !first.starts_with('.') && SOURCES.iter().any(|ending| first.ends_with(ending));
    if is_source && !READERS.contains(&first) {
        let at_root = !first.contains('/') && repository.has(first);
        return (!at_root).then(|| format!("`{first}` is not the full path of a file"));
    }
    if let Some(target) = span.strip_prefix("make ") {
        return make(repository, target);
    }
    if let Some(command) = span.strip_prefix("plaudit ") {
        return subcommand(repository, command).or_else(|| settings(repository, span));
    }
    settings(repository, span)
        .or_else(|| metric(repository, span))
        .or_else(|| fail_point(repository, span))
        .or_else(|| unknown_word(repository, span))
}

/// A placeholder, such as `src/domain/<word>.rs`.
fn is_pattern(text: &str) -> bool {
    text.contains(['<', '>', '…', '*', '{'])
}

/// A path from the root: its first segment is an existing folder, and it has a second one.
fn is_path(repository: &Repository, text: &str) -> bool {
    let Some((first, _)) = text.split_once('/') else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    !first.is_empty() && text.chars().all(plain) && repository.has(&format!("{first}/"))
}

fn path(repository: &Repository, path: &str, names: &str) -> Option<String> {
    if !repository.has(path) {
        return Some(format!("there is no `{path}`"));
    }
    let names = names.split([',', ' ']).filter(|name| !name.is_empty());
    let unknown = names.flat_map(|name| name.split("::")).find(|name| !repository.defines(path, name));
    unknown.map(|name| format!("`{path}` does not define `{name}`"))
}

fn make(repository: &Repository, targets: &str) -> Option<String> {
    let makefile = repository.files.get("Makefile").map_or("", String::as_str);
    let name = targets.split_whitespace().next()?;
    let is_target = |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
    (!makefile.lines().any(is_target)).then(|| format!("the Makefile has no target `{name}`"))
}

/// `plaudit serve` is the variant `Serve` of the command line's enum.
fn subcommand(repository: &Repository, command: &str) -> Option<String> {
    let name = command.split_whitespace().next().filter(|name| !is_pattern(name))?;
    let variant = name[..1].to_uppercase() + &name[1..];
    let in_cli = |(path, text): (&String, &String)| {
        path.starts_with("src/cli/") && words(text).any(|word| word == variant)
    };
    (!repository.files.iter().any(in_cli)).then(|| format!("there is no command `plaudit {name}`"))
}

/// The first variable or flag that is neither a setting nor a flag of a command.
fn settings(repository: &Repository, text: &str) -> Option<String> {
    for word in words(text).filter(|word| word.starts_with("PLAUDIT_") && word.len() > "PLAUDIT_".len()) {
        let name = word["PLAUDIT_".len()..].to_lowercase();
        if !repository.settings.contains(&name) && !VARIABLES.contains(&word.as_str()) {
            return Some(format!("`{word}` is no setting"));
        }
    }
    let flags = text.split([' ', '"', '=']).filter_map(|word| word.strip_prefix("--"));
    let of_cli = |name: &str| {
        repository
            .files
            .iter()
            .any(|(path, text)| path.starts_with("src/cli/") && words(text).any(|word| word == name))
    };
    for flag in flags.filter(|flag| !flag.is_empty() && *flag != "help") {
        let name = flag.replace('-', "_");
        if !repository.settings.contains(&name) && !of_cli(&name) {
            return Some(format!("`--{flag}` is no flag"));
        }
    }
    None
}

/// A metric must be a string literal of the code, not only a word.
fn metric(repository: &Repository, span: &str) -> Option<String> {
    let name = span.split(['{', ' ', ':']).next().filter(|name| name.starts_with("plaudit_"))?;
    let quoted = format!("\"{name}\"");
    let exported = |(path, text): (&String, &String)| path.starts_with("src/") && text.contains(&quoted);
    let is_crate = repository.crates.contains(name);
    (!is_crate && !repository.files.iter().any(exported)).then(|| format!("`{name}` is no metric"))
}

/// `fold.before`: two lower-case words with a dot are a fail point, which must be a string literal of the code.
fn fail_point(repository: &Repository, span: &str) -> Option<String> {
    let word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let (first, _) = span.split_once('.').filter(|(first, second)| word(first) && word(second))?;
    if DOTTED.contains(&first) {
        return None;
    }
    let quoted = format!("\"{span}\"");
    let known = |(path, text): (&String, &String)| path.starts_with("src/") && text.contains(&quoted);
    (!repository.files.iter().any(known)).then(|| format!("`{span}` is no fail point"))
}

/// The first name that the code does not have. A span of one word is a name. In longer spans, words with an underscore
/// are names.
fn unknown_word(repository: &Repository, span: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let called = span.split(['(', '!']).next().unwrap_or_default();
    let whole = !called.is_empty() && called.chars().all(is_name);
    let is_example =
        |word: &str| word.rsplit_once('_').is_some_and(|(_, end)| end.chars().all(|c| c.is_ascii_digit()));
    let counts = |word: &String| {
        (whole || word.trim_matches('_').contains('_')) && !word.starts_with(|c: char| c.is_ascii_digit())
    };
    let mut candidates: Vec<String> = words(if whole { called } else { span }).filter(counts).collect();
    candidates.retain(|word| {
        !is_example(word) && !word.starts_with("PLAUDIT_") && !FOREIGN.contains(&word.as_str())
    });
    let unknown = candidates.into_iter().find(|word| !repository.words.contains(word));
    unknown.map(|word| format!("the code has no name `{word}`"))
}
