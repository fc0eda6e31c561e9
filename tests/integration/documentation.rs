//! Documents stay small, and name only what exists.
//!
//! What is checked, and how a document has to write it:
//!
//! - **Sizes**: lines, words and table cells ([`sizes`]).
//! - **Links**: relative ones lead to a file or folder, and their anchors to a heading ([`links`]).
//! - **Names**: everything in backticks ([`names`]). A file is named by its whole path, a definition by path and
//!   name, as in `src/catalogue/edges.rs EdgeKind`; other names must be words of the code.

mod links;
mod names;
mod repository;
mod sizes;

use std::path::Path;

use repository::Repository;

/// Every fault of a page, each with the page and the line.
fn faults(repository: &Repository, page: &str) -> Vec<String> {
    let text = &repository.files[page];
    let mut faults = sizes::faults(page, text);
    for (number, line) in repository::prose(text) {
        let wrong =
            links::faults(repository, page, &line).into_iter().chain(names::faults(repository, &line));
        faults.extend(wrong.map(|fault| format!("{page}:{number}: {fault}")));
    }
    for (number, line) in repository::fenced(text) {
        let wrong = names::faults_of_a_command(repository, line);
        faults.extend(wrong.into_iter().map(|fault| format!("{page}:{number}: {fault}")));
    }
    faults
}

#[test]
fn documents_are_small_and_name_only_what_exists() {
    let repository = Repository::read(Path::new(env!("CARGO_MANIFEST_DIR")));
    let pages: Vec<&String> = repository.files.keys().filter(|path| path.ends_with(".md")).collect();
    assert!(pages.len() > 40, "only {} documents were found", pages.len());
    let faults: Vec<String> = pages.iter().flat_map(|page| faults(&repository, page)).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_page_of_docs_is_listed_in_its_table_of_contents() {
    let repository = Repository::read(Path::new(env!("CARGO_MANIFEST_DIR")));
    let listed = |folder: &str, contents: &str| {
        let text = &repository.files[contents];
        let own = |path: &&String| path.starts_with(folder) && path.ends_with(".md") && *path != contents;
        let depth = contents.rfind('/').unwrap() + 1;
        let missing = |path: &&String| !text.contains(&format!("({})", &path[depth..]));
        repository.files.keys().filter(own).filter(missing).cloned().collect::<Vec<_>>()
    };
    let mut missing = listed("docs/", "docs/README.md");
    missing.retain(|path| !path.starts_with("docs/decisions/"));
    missing.extend(listed("docs/decisions/", "docs/decisions/README.md"));
    assert!(missing.is_empty(), "not listed: {missing:#?}");
}

/// A repository of three files and one page, and the faults of the page.
fn faults_of(page: &str) -> Vec<String> {
    let repository = Repository::of(&[
        (
            "src/catalogue/edges.rs",
            "// obsolete_name\npub enum EdgeKind { NoteLike }\nconst CODE: &str = \"RETRY_LATER\";",
        ),
        ("src/settings/groups.rs", "pub redis_log_share: u8,"),
        ("src/cli/mod.rs", "enum Command { Serve }"),
        ("src/primitives/fault.rs", "BeforeFold \"fold.before\""),
        ("src/app/metrics.rs", "(Gauge, \"plaudit_sockets\", Unit::Count, \"Open sockets\")"),
        ("tests/integration/likes.rs", "#[test]\nfn a_like_counts_once() {}"),
        ("docs/reference/settings.md", "# Settings\n\n| Setting |\n|---|\n| `redis_log_share` |\n"),
        ("Makefile", "run: web ## Build\n"),
        ("docs/page.md", page),
    ]);
    faults(&repository, "docs/page.md")
}

#[test]
fn what_exists_is_no_fault() {
    let page = "# A page\n\n\
        `src/catalogue/edges.rs`, `src/catalogue/edges.rs EdgeKind`, `src/catalogue/`, `EdgeKind::NoteLike`,\n\
        `tests/integration/likes.rs a_like_counts_once`, `redis_log_share`, `PLAUDIT_REDIS_LOG_SHARE`,\n\
        `--redis-log-share 50`, `plaudit_sockets`, `RETRY_LATER`, `fold.before`, `plaudit serve`, `make run`, `src/domain/<word>.rs`,\n\
        [here](#a-page), [there](../src/catalogue/edges.rs), [far](https://example.com/none.md)\n\n\
        ```sh\nPLAUDIT_REDIS_LOG_SHARE=5 plaudit serve --redis-log-share 50\n```\n";
    assert_eq!(faults_of(page), Vec::<String>::new());
}

#[test]
fn what_does_not_exist_is_a_fault_whatever_it_is() {
    for wrong in [
        "`src/catalogue/edge.rs`",                      // a file
        "`src/catalog/`",                               // a folder
        "`edges.rs`",                                   // a file without its path
        "`catalogue/edges.rs`",                         // the same
        "`src/catalogue/edges.rs Edges`",               // a definition
        "`EdgeKind::Missing`",                          // a variant or method
        "`when_corrected`",                             // a function
        "`obsolete_name`",                              // what only a comment names
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
fn what_is_too_large_is_a_fault() {
    let word = |length: usize| "x ".repeat(length / 2);
    for wrong in [word(402), format!("| {} | short |", word(204)), "a line\n".repeat(210)] {
        assert_eq!(faults_of(&format!("# A page\n\n{wrong}\n")).len(), 1, "{}", &wrong[..40]);
    }
}
