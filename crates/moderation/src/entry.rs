//! One line of a blocklist.

use std::ops::Range;

use super::normalised_text::NormalisedText;

/// One or several words, and whether a match must consist of whole words.
#[derive(Debug)]
pub(super) struct BlocklistEntry {
    normalised: NormalisedText,
    /// `*` in front: the match may begin within a word.
    open_start: bool,
    /// `*` at the end: the match may end within a word.
    open_end: bool,
}

impl BlocklistEntry {
    /// `None` if it has no visible character.
    pub fn parse(line: &str) -> Option<Self> {
        let (line, open_start) = without_star(line.trim(), str::strip_prefix);
        let (line, open_end) = without_star(line, str::strip_suffix);
        let normalised = NormalisedText::new(line);
        let is_visible = !normalised.text().is_empty();
        is_visible.then_some(Self { normalised, open_start, open_end })
    }

    pub fn text(&self) -> &str {
        self.normalised.text()
    }

    /// Whether a hit at this position of a text satisfies the entry's word boundaries.
    pub fn is_match(&self, text: &NormalisedText, hit: Range<usize>) -> bool {
        (self.open_start || !text.is_within_word(hit.start))
            && (self.open_end || !text.is_within_word(hit.end))
            && (self.is_number() || !text.is_number(hit))
    }

    fn is_number(&self) -> bool {
        self.normalised.is_number(0..self.text().len())
    }
}

fn without_star<'a>(line: &'a str, strip: impl Fn(&'a str, char) -> Option<&'a str>) -> (&'a str, bool) {
    strip(line, '*').map_or((line, false), |rest| (rest, true))
}
