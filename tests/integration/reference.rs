//! Reference pages: the tables of docs/reference are the output of `plaudit docs`.

use support::{printed, text_of};

#[test]
fn the_tables_of_the_reference_pages_agree_with_the_code() {
    for (name, file) in [
        ("settings", "settings.md"),
        ("metrics", "metrics.md"),
        ("limits", "limits.md"),
        ("rights", "rights.md"),
        ("cli", "command-line.md"),
        ("errors", "errors.md"),
    ] {
        let text = text_of(&format!("docs/reference/{file}"));
        let begin = format!("<!-- plaudit docs {name} -->\n\n");
        let (_, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{file} has no {begin}"));
        let (written, _) = rest.split_once("\n<!-- /plaudit docs -->").unwrap();
        let expected = printed(&["docs", name]);
        assert!(
            written == expected,
            "docs/reference/{file} needs what `plaudit docs {name}` prints:\n{expected}"
        );
    }
}
