//! Lexer: counts the tokens of a document before it is parsed. The parser is far slower, and recurses.
//!
//! Lexical grammar: GraphQL specification, section 2.1. Bytes outside of any token count as one token each; the
//! parser refuses them later. Where the parser accepts tokens without a separator (`truefalse`, `00`, `1-1`), they
//! are counted separately here too.

use std::{borrow::Cow, ops::Range};

use super::error::{CostError, Limit};
use plaudit_catalogue::settings::CostSettings;

/// Most bytes of a name. The engine compares an unknown one with every name of its type, to suggest what was meant.
const MAX_NAME: u32 = 256;

/// Returns the text for the parser and the number of its tokens; for a refused text, the number of tokens read.
///
/// Comments are replaced by spaces, because the parser takes a microsecond for each; positions stay the same.
pub fn count<'a>(text: &'a str, limits: &CostSettings) -> (Result<Cow<'a, str>, CostError>, u64) {
    if let Err(error) = CostError::beyond(Limit::DocumentSize, text.len() as u64, limits.max_document_size) {
        return (Err(error), 0);
    }
    let (mut tokens, mut nesting) = (0_u64, 0_u32);
    let mut lexer = Lexer::new(text);
    for token in &mut lexer {
        tokens += 1;
        let Some((token, length)) = token else { return (Err(CostError::UnterminatedString), tokens) };
        if tokens > limits.max_tokens.into() {
            let maximum = limits.max_tokens.into();
            return (Err(CostError::Beyond { limit: Limit::Tokens, maximum, measured: None }), tokens);
        }
        if is_name(token)
            && let Err(error) = CostError::beyond(Limit::NameSize, length as u64, MAX_NAME)
        {
            return (Err(error), tokens);
        }
        match token {
            b'{' | b'[' | b'(' => nesting += 1,
            b'}' | b']' | b')' => nesting = nesting.saturating_sub(1),
            _ => {}
        }
        if nesting > limits.max_nesting {
            let maximum = limits.max_nesting.into();
            return (Err(CostError::Beyond { limit: Limit::Nesting, maximum, measured: None }), tokens);
        }
    }
    (Ok(blank(text, &lexer.comments)), tokens)
}

/// Fills these ranges with spaces.
fn blank<'a>(text: &'a str, places: &[Range<usize>]) -> Cow<'a, str> {
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for place in places {
        bytes[place.clone()].fill(b' ');
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Yields the first byte and the length of each token; `None` for a block string without its end.
pub struct Lexer<'a> {
    pub rest: &'a [u8],
    /// Bytes of the whole text.
    length: usize,
    comments: Vec<Range<usize>>,
}

impl Iterator for Lexer<'_> {
    type Item = Option<(u8, usize)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_ignored();
        let first = *self.rest.first()?;
        let length = match first {
            b'"' => string_length(self.rest),
            _ if is_name(first) => Some(name_length(self.rest)),
            b'-' | b'0'..=b'9' => Some(number_length(self.rest)),
            b'.' if self.rest.starts_with(b"...") => Some(3),
            _ => Some(1),
        };
        self.rest = &self.rest[length.unwrap_or(self.rest.len())..];
        Some(length.map(|length| (first, length)))
    }
}

impl<'a> Lexer<'a> {
    pub const fn new(text: &'a str) -> Self {
        Self { rest: text.as_bytes(), length: text.len(), comments: Vec::new() }
    }

    /// Skips whitespace, commas, comments and byte order marks.
    pub fn skip_ignored(&mut self) {
        loop {
            let ignored = match self.rest {
                [b' ' | b'\t' | b'\n' | b'\r' | b',', ..] => 1,
                [b'#', ..] => {
                    let length = length_while(self.rest, |byte| byte != b'\n' && byte != b'\r');
                    let begin = self.length - self.rest.len();
                    self.comments.push(begin..begin + length);
                    length
                }
                [0xEF, 0xBB, 0xBF, ..] => 3,
                _ => return,
            };
            self.rest = &self.rest[ignored..];
        }
    }
}

/// Whether a token that begins so is a name.
pub const fn is_name(first: u8) -> bool {
    first == b'_' || first.is_ascii_alphabetic()
}

pub fn length_while(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|byte| !belongs(*byte)).unwrap_or(text.len())
}

fn name_length(text: &[u8]) -> usize {
    let keyword = [&b"true"[..], b"false", b"null"].into_iter().find(|word| text.starts_with(word));
    match keyword {
        Some(word) => word.len(),
        None => length_while(text, |byte| byte == b'_' || byte.is_ascii_alphanumeric()),
    }
}

/// A sign without digits is a token of one byte.
fn number_length(text: &[u8]) -> usize {
    let digits = |from: usize| length_while(&text[from..], |byte| byte.is_ascii_digit());
    let mut end = usize::from(text[0] == b'-');
    end += if text.get(end) == Some(&b'0') { 1 } else { digits(end) };
    if text.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent =
            text.get(end + 1 + sign..).map_or(0, |rest| length_while(rest, |b| b.is_ascii_digit()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// The length with quotes. A string without its closing quote ends with its line.
fn string_length(text: &[u8]) -> Option<usize> {
    if text.starts_with(b"\"\"\"") {
        return block_string_length(text);
    }
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return Some(at + 1),
            b'\n' | b'\r' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    Some(text.len())
}

fn block_string_length(text: &[u8]) -> Option<usize> {
    let mut at = 3;
    while at < text.len() {
        if text[at..].starts_with(b"\\\"\"\"") {
            at += 4;
        } else if text[at..].starts_with(b"\"\"\"") {
            return Some(at + 3);
        } else {
            at += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> u64 {
        let (counted, tokens) = count(text, &CostSettings::of_development());
        counted.unwrap();
        tokens
    }

    fn reason(text: &str) -> &'static str {
        count(text, &CostSettings::of_development()).0.unwrap_err().reason().name()
    }

    #[test]
    fn ignored_characters_are_no_tokens() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("\u{feff} ,,\t\r\n# a comment { ( [ \" \n"), 0);
        assert_eq!(tokens("{ id } # { a b c }"), 3);
    }

    #[test]
    fn names_numbers_spreads_and_punctuation_are_one_token_each() {
        assert_eq!(tokens("{a:_b1(x:-1.5e+3 y:$v)@d{...F}}"), 20);
        assert_eq!(tokens("[Int!]!"), 5);
    }

    #[test]
    fn tokens_without_separators_are_counted_separately() {
        assert_eq!(tokens("truefalsenulltrue"), 4);
        assert_eq!(tokens("000"), 3);
        assert_eq!(tokens("1-1-1"), 3);
        assert_eq!(tokens("-0.50e-1 1e 1. -"), 1 + 2 + 2 + 1);
    }

    #[test]
    fn a_string_is_one_token() {
        for string in [r#""""#, r#""{ ( [ # \" \\""#, "\"\"\"\"\"\"", "\"\"\" { \" \"\" \\\"\"\" \n # \"\"\""]
        {
            assert_eq!(tokens(&format!("a {string} b")), 3, "{string}");
        }
    }

    #[test]
    fn tokens_after_an_unclosed_string_are_counted() {
        assert_eq!(tokens("\"abc\n a b"), 3);
        assert_eq!(tokens("\"abc\\"), 1);
        assert_eq!(reason("{ a(x: [\"\"\" x\" 1 1 1 1]) }"), "UNTERMINATED_STRING");
    }

    #[test]
    fn comments_become_spaces_and_hash_signs_in_strings_stay() {
        let text = "{ a # é { \n b(x: \"# no\", y: \"\"\"\n# no\"\"\") #\r }#";
        let blank = count(text, &CostSettings::of_development()).0.unwrap();
        assert_eq!(blank, "{ a        \n b(x: \"# no\", y: \"\"\"\n# no\"\"\")  \r } ");
        assert!(matches!(count("{ a }", &CostSettings::of_development()).0, Ok(Cow::Borrowed("{ a }"))));
    }

    #[test]
    fn counting_stops_at_the_limit() {
        let limits = CostSettings { max_tokens: 10, ..CostSettings::of_development() };
        assert!(count(&"a ".repeat(10), &limits).0.is_ok());
        let long = "a ".repeat(10_000);
        let (refused, steps) = count(&long, &limits);
        assert_eq!((refused.unwrap_err().reason().name(), steps), ("TOO_MANY_TOKENS", 11));
    }

    #[test]
    fn a_name_has_256_bytes_at_most_and_a_text_any_number() {
        let long = "n".repeat(257);
        assert_eq!(tokens(&format!("{{ {}: id }}", &long[1..])), 5);
        assert_eq!(reason(&format!("{{ {long}: id }}")), "NAME_TOO_LONG");
        assert_eq!(tokens(&format!("{{ a(x: \"{long}\") }} # {long}")), 8);
    }

    #[test]
    fn brackets_of_all_kinds_are_counted_together() {
        let nested = |depth: usize| format!("{}{}", "{[(".repeat(depth), ")]}".repeat(depth));
        assert_eq!(tokens(&nested(10)), 60);
        assert_eq!(reason(&nested(11)), "TOO_DEEPLY_NESTED");
        assert_eq!(reason(&"[".repeat(30_000)), "TOO_DEEPLY_NESTED");
    }

    #[test]
    fn a_long_text_is_refused_without_reading_it() {
        let long = " ".repeat(32_769);
        let (refused, steps) = count(&long, &CostSettings::of_development());
        assert_eq!((refused.unwrap_err().reason().name(), steps), ("DOCUMENT_TOO_LONG", 0));
    }
}
