//! One line of a blocklist.

use std::ops::Range;

use super::look::Look;

/// A word or several, and where they may stand.
#[derive(Debug)]
pub(super) struct BlocklistEntry {
    look: Look,
    /// `*` before it: the word may begin before.
    open_start: bool,
    /// `*` behind it: the word may go on.
    open_end: bool,
}

impl BlocklistEntry {
    /// `None` when nothing visible is left of it.
    pub fn parse(line: &str) -> Option<Self> {
        let (line, open_start) = without_star(line.trim(), str::strip_prefix);
        let (line, open_end) = without_star(line, str::strip_suffix);
        let look = Look::of(line);
        let is_visible = !look.text().is_empty();
        is_visible.then_some(Self { look, open_start, open_end })
    }

    pub fn text(&self) -> &str {
        self.look.text()
    }

    /// Whether the entry, found at this place of a text, means what stands there.
    pub fn is_meant(&self, text: &Look, found: Range<usize>) -> bool {
        (self.open_start || !text.is_within_word(found.start))
            && (self.open_end || !text.is_within_word(found.end))
            && (self.is_number() || !text.is_number(found))
    }

    fn is_number(&self) -> bool {
        self.look.is_number(0..self.text().len())
    }
}

fn without_star<'a>(line: &'a str, strip: impl Fn(&'a str, char) -> Option<&'a str>) -> (&'a str, bool) {
    strip(line, '*').map_or((line, false), |rest| (rest, true))
}
