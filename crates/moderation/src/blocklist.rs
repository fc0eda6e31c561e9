//! Blocklist moderator: rejects comments that contain a listed word, even if it is disguised.

use std::{fs, path::Path};

use aho_corasick::AhoCorasick;

use super::{Judgement, ModeratorError, Submission, entry::BlocklistEntry, normalised_text::NormalisedText};

const REASON: &str = "it contains a word that is not allowed";

#[derive(Debug)]
pub(super) struct Blocklist {
    /// Finds the normalised forms of all entries in one pass.
    finder: AhoCorasick,
    entries: Vec<BlocklistEntry>,
}

impl Blocklist {
    /// Reads a file with one entry per line: a word or several, matched as whole words. `*` at an end of an
    /// entry also lets it match within a word. Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// The file cannot be read, has no entry, or has an entry without visible characters.
    pub fn load(path: &Path) -> Result<Self, ModeratorError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ModeratorError::Unreadable { path: path.to_owned(), source })?;
        let entries =
            parse(&text).map_err(|line| ModeratorError::InvisibleEntry { path: path.to_owned(), line })?;
        if entries.is_empty() {
            return Err(ModeratorError::EmptyBlocklist { path: path.to_owned() });
        }
        let finder = AhoCorasick::new(entries.iter().map(BlocklistEntry::text))
            .map_err(|source| ModeratorError::HugeBlocklist { path: path.to_owned(), source })?;
        Ok(Self { finder, entries })
    }

    pub fn judge(&self, comment: &Submission) -> Judgement {
        if self.allows(&NormalisedText::new(&comment.text)) {
            Judgement::Approved
        } else {
            Judgement::rejected(REASON)
        }
    }

    fn allows(&self, text: &NormalisedText) -> bool {
        // Overlapping, because a hit inside a longer word may cover one that is a whole word.
        !self
            .finder
            .find_overlapping_iter(text.text())
            .any(|hit| self.entries[hit.pattern()].is_match(text, hit.range()))
    }
}

/// The entries, or the number of the first invalid line.
fn parse(text: &str) -> Result<Vec<BlocklistEntry>, usize> {
    let text = text.trim_start_matches('\u{feff}'); // byte order mark, written by some editors
    let lines = text.lines().zip(1..).filter(|(line, _)| is_entry(line));
    lines.map(|(line, number)| BlocklistEntry::parse(line).ok_or(number)).collect()
}

fn is_entry(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn load(list: impl AsRef<[u8]>) -> Result<Blocklist, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("words");
        fs::write(&path, list).unwrap();
        Blocklist::load(&path)
            .map_err(|error| error.to_string().replace(&path.display().to_string(), "words"))
    }

    fn judge(list: &Blocklist, text: &str) -> Judgement {
        list.judge(&Submission { text: text.to_owned(), images: Vec::new() })
    }

    #[track_caller]
    fn check(list: &str, rejected: &[&str], approved: &[&str]) {
        let list = load(list).unwrap();
        for text in rejected {
            assert_eq!(judge(&list, text), Judgement::rejected(REASON), "{text}");
        }
        for text in approved {
            assert_eq!(judge(&list, text), Judgement::Approved, "{text}");
        }
    }

    #[test]
    fn a_disguised_word_is_found() {
        check(
            "Scam\n",
            &["scam", "SCAM!", "a ｓｃａｍ", "ѕсаm", "s\u{200b}cam", "s\u{301}cám", "_scam_", "sca\u{ad}rn"],
            &["", "scamp", "unscam", "s cam", "sca", "scam2"],
        );
    }

    #[test]
    fn entries_match_whole_words_unless_they_have_a_star() {
        check("ass", &["ass", "an ass.", "(ass)", "ass's", "ass-hat"], &["class", "assume", "grass snake"]);
        check("ass*", &["ass", "assume"], &["class"]);
        check("*ass", &["ass", "class"], &["assume", "classic"]);
        check("*ass*", &["classic"], &["as s"]);
        check("ba*d", &["ba*d"], &["bad", "bald"]);
    }

    #[test]
    fn an_entry_of_several_words_matches_any_white_space_between_them() {
        check("go  away", &["Go\naway!", "go \u{a0}\t away"], &["goaway", "go far away", "ergo away"]);
    }

    #[test]
    fn a_hit_within_a_word_does_not_hide_a_whole_word() {
        check("bad\nbad word\nd w*", &["bad words"], &["badwords"]);
    }

    #[test]
    fn scripts_without_spaces_and_emoji_match_anywhere() {
        check("笨蛋", &["你是笨蛋吗", "笨蛋abc"], &["笨"]);
        check("ばか", &["お前はばかだ"], &["はか"]);
        check("바보", &["너는 바보야"], &["바지"]);
        check("โง่", &["คุณโง่มาก"], &["คุณ"]);
        check("🖕", &["no🖕", "🖕🏽", "a🖕b"], &["👍"]);
        check("bad", &["这bad词"], &["ebad词"]);
    }

    #[test]
    fn letters_with_significant_marks_are_different_letters() {
        check("чай", &["ЧАЙ"], &["чайник"]);
        check("कल", &["कल!"], &["कला", "काल"]);
    }

    #[test]
    fn a_number_does_not_match_a_word_but_may_be_an_entry() {
        check("loo", &["loo", "l0o"], &["100", "it costs 100"]);
        check("1488", &["1488", "(1488)"], &["14880", "1 488"]);
    }

    #[test]
    fn the_reason_does_not_reveal_the_list() {
        let Judgement::Rejected { reason } = judge(&load("hush").unwrap(), "hush") else { panic!() };
        assert!(!reason.contains("hush"), "{reason}");
    }

    #[test]
    fn comments_and_empty_lines_are_ignored() {
        check("\u{feff}# words\r\n\r\n  # more\n spam \r\n", &["spam"], &["words", "more", "#"]);
    }

    #[test]
    fn an_invalid_list_is_refused_with_its_path_and_the_reason() {
        let missing = Blocklist::load(Path::new("absent/words")).unwrap_err().to_string();
        assert!(missing.contains("absent/words") && missing.contains("moderator_blocklist"), "{missing}");
        for (list, message) in [
            (&b"# nothing\n\n"[..], "words has no entry"),
            (b"", "words has no entry"),
            (b"spam\n\n**\n", "line 3 of the blocklist words"),
            ("spam\n\u{200b}\u{301}".as_bytes(), "line 2 of the blocklist words"),
            (b"sp\xffam", "cannot read the blocklist words"),
        ] {
            let error = load(list).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in any::<String>()) {
            judge(&load("a\n*e*\n蛋\n🖕\n11\nb c").unwrap(), &text);
        }

        #[test]
        fn any_entry_is_found_in_itself(entry in "[^\r\n]{1,20}") {
            prop_assume!(is_entry(&entry) && !entry.contains(['*', '\u{feff}']));
            if let Ok(list) = load(&entry) {
                prop_assert_eq!(judge(&list, &entry), Judgement::rejected(REASON));
            }
        }
    }
}
