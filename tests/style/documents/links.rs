//! Links: relative links of documents lead to existing files and headings.

use crate::repository::Repository;

/// Relative links of a line that lead nowhere.
pub fn faults(repository: &Repository, page: &str, line: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, _) in line.match_indices("](") {
        let target = line[at + 2..].split([')', ' ']).next().unwrap_or_default();
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) =
            target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
        let path = if path.is_empty() { page.to_owned() } else { resolve(page, path) };
        if !repository.has(&path) {
            faults.push(format!("the link {target} leads to no file"));
        } else if let Some(anchor) = anchor
            && !repository
                .files
                .get(&path)
                .is_some_and(|text| anchors(text).iter().any(|existing| existing == anchor))
        {
            faults.push(format!("the link {target} leads to no heading"));
        }
    }
    faults
}

/// Resolves a path relative to a page's folder.
fn resolve(page: &str, path: &str) -> String {
    let mut segments: Vec<&str> = page.split('/').collect();
    segments.pop();
    for segment in path.split('/') {
        match segment {
            ".." => drop(segments.pop()),
            "." | "" => {}
            name => segments.push(name),
        }
    }
    segments.join("/")
}

/// Anchors of headings, as GitHub generates them.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some(heading) = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
        else {
            continue;
        };
        let is_kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
        let slug =
            heading.to_lowercase().chars().filter(is_kept).collect::<String>().trim().replace(' ', "-");
        let before = anchors.iter().filter(|known| **known == slug || is_numbered(known, &slug)).count();
        anchors.push(if before == 0 { slug } else { format!("{slug}-{before}") });
    }
    anchors
}

fn is_numbered(known: &str, slug: &str) -> bool {
    let number = known.strip_prefix(slug).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}
