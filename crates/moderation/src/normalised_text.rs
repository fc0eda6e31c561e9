//! Normalisation of text by its appearance (UTS 39): texts that look the same become equal.

use std::ops::Range;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_script::{Script, UnicodeScript};
use unicode_security::confusable_detection::skeleton;

/// A text without case, width, accents and invisible characters, in which each character is replaced by the
/// prototype of its lookalikes. For comparison only: `m` becomes `rn`.
#[derive(Debug)]
pub(super) struct NormalisedText {
    text: String,
    /// For each byte of `text`, the character that it was derived from.
    sources: Vec<char>,
}

impl NormalisedText {
    pub fn new(text: &str) -> Self {
        let mut normalised = Self { text: String::with_capacity(text.len()), sources: Vec::new() };
        for source in text.nfkc() {
            if source.is_whitespace() {
                normalised.push_space();
            } else {
                normalised.push(&appearance(source), source);
            }
        }
        normalised.drop_last_space();
        normalised
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether this position is inside a word, and not at a word boundary.
    pub fn is_within_word(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.sources.get(before));
        let after = self.sources.get(at);
        before
            .zip(after)
            .is_some_and(|(before, after)| is_word_character(*before) && is_word_character(*after))
    }

    /// Whether the part was written with digits only, although it may look like letters: `100` and `loo`.
    pub fn is_number(&self, part: Range<usize>) -> bool {
        self.sources.get(part).is_some_and(|sources| sources.iter().all(|source| source.is_numeric()))
    }

    fn push(&mut self, text: &str, source: char) {
        self.text.push_str(text);
        self.sources.resize(self.text.len(), source);
    }

    fn push_space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.push(" ", ' ');
        }
    }

    fn drop_last_space(&mut self) {
        self.text.truncate(self.text.trim_end().len());
        self.sources.truncate(self.text.len());
    }
}

/// Compares both cases, because some lookalikes exist in one case only: `В` looks like `B`, `в` unlike `b`.
fn appearance(c: char) -> String {
    // By way of the capital, ß becomes ss, and both small sigmas become the same.
    let small: String = c.to_uppercase().flat_map(char::to_lowercase).collect();
    let as_small = prototype(&small);
    if as_small.is_ascii() {
        return as_small;
    }
    let as_capital = prototype(&small.to_uppercase());
    if as_capital.is_ascii() { as_capital } else { as_small }
}

/// Applied twice, because the first prototype may be a capital whose small letter has another prototype.
fn prototype(text: &str) -> String {
    bare_skeleton(&bare_skeleton(text))
}

fn bare_skeleton(text: &str) -> String {
    skeleton(text).filter(|c| !is_optional_mark(*c)).nfc().flat_map(char::to_lowercase).collect()
}

/// Whether it is a mark that does not change the letter. In other scripts, marks are vowels, for example.
fn is_optional_mark(c: char) -> bool {
    const VOICED: [char; 2] = ['\u{3099}', '\u{309a}']; // が is not か
    let has_optional_marks =
        matches!(c.script(), Script::Inherited | Script::Cyrillic | Script::Hebrew | Script::Arabic);
    is_combining_mark(c) && has_optional_marks && !VOICED.contains(&c)
}

/// Whether a character belongs to words that are separated by spaces or punctuation.
fn is_word_character(c: char) -> bool {
    (c.is_alphanumeric() || is_combining_mark(c)) && !is_unspaced(c.script())
}

/// Scripts without spaces between words; Korean has them, but joins particles to its words.
const fn is_unspaced(script: Script) -> bool {
    matches!(
        script,
        Script::Han
            | Script::Hiragana
            | Script::Katakana
            | Script::Bopomofo
            | Script::Hangul
            | Script::Thai
            | Script::Lao
            | Script::Khmer
            | Script::Myanmar
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normalised(text: &str) -> String {
        NormalisedText::new(text).text().to_owned()
    }

    #[track_caller]
    fn same(texts: &[&str]) {
        for text in texts {
            assert_eq!(normalised(text), normalised(texts[0]), "{text} and {}", texts[0]);
        }
    }

    #[test]
    fn case_and_width_are_ignored() {
        same(&["straße", "STRASSE", "Straẞe"]);
        same(&["σίσυφος", "ΣΊΣΥΦΟΣ"]);
        same(&["spam", "ＳＰＡＭ", "ｓｐａｍ", "𝓼𝓹𝓪𝓶", "Ⓢⓟⓐⓜ"]);
        same(&["idiot", "İDIOT", "ıdiot"]);
        same(&["ガ", "ｶﾞ", "カ\u{3099}"]);
    }

    #[test]
    fn accents_and_invisible_characters_are_ignored() {
        same(&["cafe", "café", "cafe\u{301}", "c\u{336}a\u{353}f\u{489}e\u{20dd}"]);
        same(&["spam", "s\u{200b}p\u{200d}a\u{ad}m\u{feff}", "\u{202e}spam\u{2066}", "sp\u{fe0f}am"]);
        same(&["so rt", "so\u{a0}\n\t rt", " so\u{3000}rt \u{200b} "]);
    }

    #[test]
    fn lookalikes_of_other_scripts_are_the_same_in_either_case() {
        same(&["scope", "ѕсоре", "ЅСОРЕ"]);
        same(&["BAD", "ВАD", "вad", "ΒΑD"]);
        same(&["modern", "rnodern", "моdern", "MODERN", "rnodem"]);
        same(&["hello", "hell0", "he11o", "HE11O"]);
    }

    #[test]
    fn different_letters_with_similar_encodings_stay_different() {
        assert_ne!(normalised("か"), normalised("が"));
        assert_ne!(normalised("각"), normalised("가"));
        assert_ne!(normalised("कि"), normalised("कु"));
        assert_ne!(normalised("bad"), normalised("bed"));
    }

    #[test]
    fn a_letter_looks_the_same_in_every_case() {
        for c in '\0'..=char::MAX {
            let (small, capital) = (c.to_lowercase().to_string(), c.to_uppercase().to_string());
            if small != capital && small.to_uppercase() == capital {
                assert_eq!(normalised(&small), normalised(&capital), "{c}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_normalised_with_a_source_for_each_byte(text in any::<String>(), at: usize) {
            let normalised = NormalisedText::new(&text);
            prop_assert_eq!(normalised.text.len(), normalised.sources.len());
            normalised.is_within_word(at);
            normalised.is_number(at..at);
        }
    }
}
