//! Size limits of documents: lines, words and table cells.

use crate::limits::{CELL, FIRST_PAGES, LINE, LISTS, PAGE, VERSION, VOCABULARY};

pub fn faults(page: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let length = line.chars().count();
        if length > LINE {
            faults.push(format!("{page}:{}: the line has {length} characters, more than {LINE}", at + 1));
        }
        for cell in cells(line).filter(|cell| cell.chars().count() > CELL) {
            let length = cell.chars().count();
            faults.push(format!("{page}:{}: a cell has {length} characters, more than {CELL}", at + 1));
        }
    }
    let (lines, words) = (text.lines().count(), text.split_whitespace().count());
    let first = FIRST_PAGES.iter().find(|(name, ..)| *name == page);
    let (most_lines, most_words) = first.map_or((PAGE, usize::MAX), |(_, lines, words)| (*lines, *words));
    if lines > most_lines && !LISTS.iter().any(|list| page.starts_with(list)) {
        faults.push(format!("{page}: {lines} lines, more than {most_lines}"));
    }
    if words > most_words {
        faults.push(format!("{page}: {words} words, more than {most_words}"));
    }
    match page {
        "ARCHITECTURE.md" if terms(text) > VOCABULARY => {
            faults.push(format!("{page}: the vocabulary has {} rows, more than {VOCABULARY}", terms(text)));
        }
        "CHANGELOG.md" if longest_version(text) > VERSION => {
            faults
                .push(format!("{page}: a version has {} lines, more than {VERSION}", longest_version(text)));
        }
        _ => {}
    }
    faults
}

fn cells(line: &str) -> impl Iterator<Item = String> {
    let row = line.starts_with('|').then(|| line.replace("\\|", " "));
    row.into_iter().flat_map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>())
}

/// Rows of the table of words.
fn terms(text: &str) -> usize {
    let (_, rest) = text.split_once("## Vocabulary").unwrap_or_default();
    rest.split("\n## ").next().unwrap_or_default().lines().filter(|line| line.starts_with("| **")).count()
}

fn longest_version(text: &str) -> usize {
    text.split("\n## ").skip(1).map(|section| section.lines().count()).max().unwrap_or_default()
}
