//! Markdown tables.

use std::fmt::Write;

/// A table whose rows have as many cells as `head`.
pub fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| {
        // Writing into a string does not fail.
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    line(&head.map(str::to_owned));
    line(&head.map(|_| "---".to_owned()));
    for row in rows {
        line(&row.map(|cell| cell.replace('|', "\\|")));
    }
    text
}

pub fn code(text: &str) -> String {
    format!("`{text}`")
}
