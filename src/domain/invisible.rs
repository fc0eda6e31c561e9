//! Removal of invisible characters from texts: they hide words from readers and moderators, reorder what follows, or
//! make one name look like another.
//!
//! Removed are the `Default_Ignorable_Code_Point`s and the `Bidi_Control`s of Unicode 16 (`DerivedCoreProperties.txt`,
//! `PropList.txt`), apart from those that a script or an emoji needs where they stand:
//!
//! - joiners (U+200C, U+200D) between two characters beyond ASCII: Persian, Indic scripts, emoji sequences
//! - variation selectors after a character that can have variants: symbols, Han, and digits of keycaps
//! - tags after a black flag, as in the flags of regions (UTS #51)
//! - the marks U+200E and U+200F in texts of several lines, which writers of Hebrew and Arabic set by hand

/// Removes invisible characters. `keeps_marks`: whether the text may have marks of direction.
pub fn without_invisible(text: &str, keeps_marks: bool) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut in_flag = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let before = cleaned.chars().next_back();
        let is_needed = match c {
            '\u{200C}' | '\u{200D}' => {
                let next = rest.peek().copied();
                before.is_some_and(|c| is_shown(c) || is_variation_selector(c)) && next.is_some_and(is_shown)
            }
            '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => before.is_some_and(has_variants),
            '\u{E0020}'..='\u{E007F}' => in_flag,
            '\u{200E}' | '\u{200F}' => keeps_marks,
            _ => !is_invisible(c),
        };
        in_flag = c == '\u{1F3F4}' || (in_flag && is_tag(c));
        if is_needed {
            cleaned.push(c);
        }
    }
    cleaned
}

/// Whether it is beyond ASCII and is shown.
fn is_shown(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && !is_invisible(c)
}

fn has_variants(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*') || is_shown(c)
}

const fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

const fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0020}'..='\u{E007F}')
}

/// In the order of the code points.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{00AD}' // soft hyphen
            | '\u{034F}' // combining grapheme joiner
            | '\u{061C}' // Arabic letter mark
            | '\u{115F}'..='\u{1160}' // Hangul fillers
            | '\u{17B4}'..='\u{17B5}' // Khmer inherent vowels
            | '\u{180B}'..='\u{180F}' // Mongolian selectors
            | '\u{200B}'..='\u{200F}' // zero width space, joiners, marks of direction
            | '\u{202A}'..='\u{202E}' // embeddings and overrides of direction
            | '\u{2060}'..='\u{206F}' // word joiner, isolates of direction, deprecated formats
            | '\u{3164}' // Hangul filler
            | '\u{FE00}'..='\u{FE0F}' // variation selectors
            | '\u{FEFF}' // byte order mark
            | '\u{FFA0}' // half width Hangul filler
            | '\u{FFF0}'..='\u{FFF8}' // unassigned
            | '\u{1BCA0}'..='\u{1BCA3}' // shorthand formats
            | '\u{1D173}'..='\u{1D17A}' // musical formats
            | '\u{E0000}'..='\u{E0FFF}' // tags, more variation selectors
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> String {
        without_invisible(text, false)
    }

    #[test]
    fn what_hides_reorders_or_imitates_is_removed() {
        for (given, shown) in [
            ("a\u{200B}nn", "ann"),
            ("ann\u{200E}", "ann"),
            ("\u{202E}nna", "nna"),
            ("\u{2066}ann\u{2069}", "ann"),
            ("an\u{200D}n", "ann"),
            ("a\u{FE0F}nn", "ann"),
            ("ann\u{E0061}\u{E007F}", "ann"),
            ("\u{3164}\u{115F}\u{FFA0}", ""),
            ("so\u{00AD}ft", "soft"),
            ("\u{FEFF}ann", "ann"),
        ] {
            assert_eq!(name(given), shown, "{given:?}");
        }
        assert_eq!(without_invisible("\u{202E}a\u{200F}", true), "a\u{200F}");
    }

    #[test]
    fn scripts_and_emoji_keep_what_they_need() {
        for text in [
            "می\u{200C}خواهم",
            "क\u{094D}\u{200D}ष",
            "👩\u{200D}💻",
            "❤\u{FE0F}\u{200D}🔥",
            "1\u{FE0F}\u{20E3}",
            "☂\u{FE0E}",
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            "葛\u{E0100}",
            "e\u{0301}",
            "日本語 and ASCII",
        ] {
            assert_eq!(name(text), text);
        }
    }

    proptest! {
        #[test]
        fn removing_twice_removes_no_more(text in "[a\u{200B}-\u{200F}\u{202E}\u{FE0F}👩💻🏴\u{E0061}\u{E007F} é1]{0,12}") {
            let once = name(&text);
            prop_assert_eq!(name(&once), once);
        }

        #[test]
        fn ordinary_text_stays_as_it_is(text in "[ -~äöüßéñ中文字漢αβγабв]{0,40}") {
            prop_assert_eq!(name(&text), text);
        }
    }
}
