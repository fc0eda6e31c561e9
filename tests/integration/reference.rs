//! Reference pages: the tables of docs/reference are the output of `plaudit docs`.

use std::{fs, path::Path};

use plaudit::cli::docs::{DocsArgs, ReferencePage, run};

#[test]
fn the_tables_of_the_reference_pages_agree_with_the_code() {
    for (page, name, file) in [
        (ReferencePage::Settings, "settings", "settings.md"),
        (ReferencePage::Metrics, "metrics", "metrics.md"),
        (ReferencePage::Limits, "limits", "limits.md"),
        (ReferencePage::Rights, "rights", "rights.md"),
        (ReferencePage::Cli, "cli", "command-line.md"),
        (ReferencePage::Errors, "errors", "errors.md"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference").join(file);
        let text = fs::read_to_string(path).unwrap();
        let begin = format!("<!-- plaudit docs {name} -->\n\n");
        let (_, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{file} has no {begin}"));
        let (written, _) = rest.split_once("\n<!-- /plaudit docs -->").unwrap();
        let expected = run(DocsArgs { page });
        assert!(
            written == expected,
            "docs/reference/{file} needs what `plaudit docs {name}` prints:\n{expected}"
        );
    }
}
