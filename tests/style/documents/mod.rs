//! Documents stay small, and every file, definition, setting and command that they name exists.
//!
//! The checks, and the notation that they need:
//!
//! - **Sizes**: lines, words and table cells ([`sizes`]).
//! - **Links**: relative links lead to an existing file or folder, and anchors to a heading ([`links`]).
//! - **Names**: everything in backticks ([`names`]). A file is named by its full path, a definition by path and
//!   name, as in `src/catalogue/edges.rs EdgeKind`; other names must be words of the code.
//! - **Retired words** ([`retired`]).

mod links;
mod names;
mod retired;
mod sizes;

use super::repository::{self, Repository};

/// Every fault of a page, each with page and line.
fn faults(repository: &Repository, page: &str) -> Vec<String> {
    let text = &repository.files[page];
    let mut faults = sizes::faults(page, text);
    let prose = repository::prose(text);
    faults.extend(
        rows_without_head(&prose)
            .map(|number| format!("{page}:{number}: a row of a table follows no header")),
    );
    for (number, line) in &prose {
        let wrong = links::faults(repository, page, line).into_iter().chain(names::faults(repository, line));
        faults.extend(wrong.map(|fault| format!("{page}:{number}: {fault}")));
    }
    for (number, line) in repository::fenced(text) {
        let wrong = names::faults_of_a_command(repository, line);
        faults.extend(wrong.into_iter().map(|fault| format!("{page}:{number}: {fault}")));
    }
    faults
}

/// The first rows of tables whose second line does not end a header.
fn rows_without_head(prose: &[(usize, String)]) -> impl Iterator<Item = usize> + '_ {
    let row = |at: usize| prose.get(at).filter(|(_, line)| line.starts_with('|'));
    let begins = move |at: &usize| row(*at).is_some() && (*at == 0 || row(*at - 1).is_none());
    let is_head = move |at: usize| {
        row(at + 1).is_some_and(|(_, line)| line.trim_matches(['|', '-', ':', ' ']).is_empty())
    };
    (0..prose.len()).filter(begins).filter(move |at| !is_head(*at)).map(|at| prose[at].0)
}

#[test]
fn documents_are_small_and_name_only_existing_things() {
    let repository = Repository::whole();
    let pages: Vec<&String> = repository.files.keys().filter(|path| path.ends_with(".md")).collect();
    assert!(pages.len() > 40, "there are only {} documents", pages.len());
    let faults: Vec<String> = pages.iter().flat_map(|page| faults(&repository, page)).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Names in the doc comments of a file that do not exist, each with path and line.
fn faults_of_comments(repository: &Repository, path: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, line) in repository.files[path].lines().enumerate() {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else { continue };
        faults.extend(
            names::faults(repository, comment).into_iter().map(|fault| format!("{path}:{}: {fault}", at + 1)),
        );
    }
    faults
}

#[test]
fn doc_comments_name_only_existing_things() {
    let repository = Repository::whole();
    let is_checked = |path: &&String| {
        path.ends_with(".rs")
            && ["src/", "crates/", "tests/", "benches/"].iter().any(|folder| path.starts_with(folder))
            && !path.starts_with("tests/style/")
    };
    let faults: Vec<String> = repository
        .files
        .keys()
        .filter(is_checked)
        .flat_map(|path| faults_of_comments(&repository, path))
        .collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_page_of_docs_is_listed_in_its_table_of_contents() {
    let repository = Repository::whole();
    let missing_in = |folder: &str, contents: &str| {
        let text = &repository.files[contents];
        let own = |path: &&String| path.starts_with(folder) && path.ends_with(".md") && *path != contents;
        let depth = contents.rfind('/').unwrap() + 1;
        let missing = |path: &&String| !text.contains(&format!("({})", &path[depth..]));
        repository.files.keys().filter(own).filter(missing).cloned().collect::<Vec<_>>()
    };
    let mut missing = missing_in("docs/", "docs/README.md");
    missing.retain(|path| !path.starts_with("docs/decisions/"));
    missing.extend(missing_in("docs/decisions/", "docs/decisions/README.md"));
    assert!(missing.is_empty(), "not listed: {missing:#?}");
}

#[test]
fn every_setting_is_on_a_page_that_says_when_to_change_it() {
    let repository = Repository::whole();
    let is_read = |path: &String| path.starts_with("docs/guide/") || path.starts_with("docs/operations/");
    let pages: String =
        repository.files.iter().filter(|(path, _)| is_read(path)).map(|(_, text)| text).cloned().collect();
    let is_named = |setting: &&String| {
        let variable = format!("PLAUDIT_{}", setting.to_uppercase());
        pages.contains(&format!("`{setting}`"))
            || pages.contains(&format!("`{setting} "))
            || pages.contains(&variable)
    };
    assert!(repository.settings.len() > 50, "{} settings", repository.settings.len());
    let unnamed: Vec<&String> = repository.settings.iter().filter(|setting| !is_named(setting)).collect();
    assert!(unnamed.is_empty(), "on no page of docs/guide and docs/operations: {unnamed:?}");
}

#[test]
fn the_page_of_tools_maps_every_scalar_of_the_schema_for_each_tool() {
    let repository = Repository::whole();
    let schema = repository.files["schema/schema.graphql"].lines();
    let scalars: Vec<&str> =
        schema.filter_map(|line| line.strip_prefix("scalar ")?.split(' ').next()).collect();
    let page = &repository.files["docs/guide/your-tools.md"];
    let rows =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "));
    let map: Vec<(&str, &str)> = rows.collect();
    assert_eq!(map.iter().map(|(scalar, _)| *scalar).collect::<Vec<_>>(), scalars);
    for (scalar, kind) in map {
        for form in [
            format!("{scalar}: \"{kind}\""),     // codegen
            format!("{scalar}: {kind};"),        // gql.tada
            format!("\"{scalar}\": \"{kind}\""), // Relay
        ] {
            assert!(page.contains(&form), "the page has no {form}");
        }
    }
}

/// The faults of a page in a small repository.
fn faults_of(page: &str) -> Vec<String> {
    let repository = Repository::of(&[
        (
            "src/catalogue/edges.rs",
            "// obsolete_name\npub enum EdgeKind { NoteLike }\nconst CODE: &str = \"RETRY_LATER\";",
        ),
        ("src/catalogue/settings/groups.rs", "pub redis_log_share: u8,"),
        ("src/cli/mod.rs", "enum Command { Serve }"),
        ("src/catalogue/primitives/fault.rs", "BeforeFold \"fold.before\""),
        ("src/app/metrics.rs", "(Gauge, \"plaudit_sockets\", Unit::Count, \"Open sockets\")"),
        ("tests/integration/likes.rs", "#[test]\nfn a_like_counts_once() {}"),
        ("docs/reference/settings.md", "# Settings\n\n| Setting |\n|---|\n| `redis_log_share` |\n"),
        ("Makefile", "run: web ## Build\n"),
        ("docs/page.md", page),
    ]);
    faults(&repository, "docs/page.md")
}

#[test]
fn names_of_existing_things_are_no_fault() {
    let page = "# A page\n\n\
        `src/catalogue/edges.rs`, `src/catalogue/edges.rs EdgeKind`, `src/catalogue/`, `EdgeKind::NoteLike`,\n\
        `tests/integration/likes.rs a_like_counts_once`, `redis_log_share`, `PLAUDIT_REDIS_LOG_SHARE`,\n\
        `--redis-log-share 50`, `plaudit_sockets`, `RETRY_LATER`, `fold.before`, `plaudit serve`, `make run`, `src/domain/<word>.rs`,\n\
        [here](#a-page), [there](../src/catalogue/edges.rs), [far](https://example.com/none.md)\n\n\
        ```sh\nPLAUDIT_REDIS_LOG_SHARE=5 plaudit serve --redis-log-share 50\n```\n";
    assert_eq!(faults_of(page), Vec::<String>::new());
}

#[test]
fn names_and_links_without_a_target_are_faults() {
    for wrong in [
        "`src/catalogue/edge.rs`",                      // a file
        "`src/catalog/`",                               // a folder
        "`edges.rs`",                                   // a file without its path
        "`catalogue/edges.rs`",                         // the same
        "`src/catalogue/edges.rs Edges`",               // a definition
        "`EdgeKind::Missing`",                          // a variant or method
        "`when_corrected`",                             // a function
        "`obsolete_name`",                              // a name that only a comment has
        "`tests/integration/likes.rs a_like_is_lost`",  // a test
        "`redis_log_part`",                             // a setting
        "`PLAUDIT_REDIS_LOG_PART`",                     // the same, as a variable
        "`--redis-log-part`",                           // the same, as a flag
        "```sh\nplaudit serve --redis-log-part 5\n```", // the same, in an example
        "```sh\nPLAUDIT_REDIS_LOG_PART=5 plaudit serve\n```",
        "`plaudit_socket_count`",             // a metric
        "`TRY_LATER`",                        // an error code
        "`UNAVAILABLE`",                      // the same
        "`fold.never`",                       // a fail point
        "`plaudit sevre`",                    // a command
        "`make walk`",                        // a target of the Makefile
        "[gone](gone.md)",                    // a link
        "[gone](#gone)",                      // an anchor
        "[gone](reference/settings.md#gone)", // an anchor of another page
    ] {
        let faults = faults_of(&format!("# A page\n\n{wrong}\n"));
        assert_eq!(faults.len(), 1, "{wrong}: {faults:#?}");
        assert!(faults[0].starts_with("docs/page.md:"), "{faults:#?}");
    }
}

#[test]
fn a_row_of_a_table_without_a_header_is_a_fault() {
    let table = "| a |\n|---|\n| b |\n";
    assert_eq!(faults_of(&format!("# A page\n\n{table}\n```\n| b |\n```\n")), Vec::<String>::new());
    let faults = faults_of(&format!("# A page\n\n{table}\n| c |\n| d |\n"));
    assert_eq!(faults, ["docs/page.md:7: a row of a table follows no header"]);
}

#[test]
fn long_lines_cells_and_pages_are_faults() {
    let word = |length: usize| "x ".repeat(length / 2);
    for wrong in
        [word(402), format!("| a | b |\n|---|---|\n| {} | short |", word(204)), "a line\n".repeat(210)]
    {
        assert_eq!(faults_of(&format!("# A page\n\n{wrong}\n")).len(), 1, "{}", &wrong[..40]);
    }
}
