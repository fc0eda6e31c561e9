//! Validation of what people write: texts by length, control characters and invisible ones; addresses of images.

use super::invisible::without_invisible;
use crate::{DomainError, DomainResult};

/// Limits of a text.
#[derive(Clone, Copy, Debug)]
pub struct TextRule {
    /// Name of the argument in error messages.
    pub argument: &'static str,
    /// Length in characters (Unicode scalar values), without invisible ones and surrounding white space.
    pub min: usize,
    pub max: usize,
    pub line_breaks: bool,
}

impl TextRule {
    /// A character of UTF-8 has at most four bytes.
    pub const fn max_bytes(&self) -> usize {
        self.max * 4
    }
}

/// The longest address of an image, in bytes.
const MAX_ADDRESS_BYTES: usize = 2_048;

pub const USER_NAME: TextRule = TextRule { argument: "name", min: 1, max: 40, line_breaks: false };
/// The beginning of a name.
pub const USER_PREFIX: TextRule = TextRule { argument: "prefix", ..USER_NAME };
pub const NOTE_TITLE: TextRule = TextRule { argument: "title", min: 1, max: 200, line_breaks: false };
pub const NOTE_BODY: TextRule = TextRule { argument: "body", min: 1, max: 10_000, line_breaks: true };
pub const GROUP_NAME: TextRule = TextRule { argument: "name", min: 1, max: 80, line_breaks: false };
pub const GROUP_DESCRIPTION: TextRule =
    TextRule { argument: "description", min: 0, max: 1_000, line_breaks: true };
pub const GRANT_REASON: TextRule = TextRule { argument: "reason", min: 1, max: 200, line_breaks: false };

pub const SUSPENSION_REASON: TextRule = TextRule { argument: "reason", min: 1, max: 200, line_breaks: false };
pub const DECISION_REASON: TextRule = TextRule { argument: "reason", min: 1, max: 200, line_breaks: false };
pub const REPORT_TEXT: TextRule = TextRule { argument: "text", min: 1, max: 1_000, line_breaks: true };

pub const COMMENT_BODY: TextRule = TextRule { argument: "body", min: 1, max: 1_024, line_breaks: true };

/// Text that satisfies its rule, without invisible characters and surrounding white space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text(String);

impl Text {
    /// # Errors
    /// [`DomainError::BadInput`] naming the rule's argument.
    pub fn parse(text: &str, rule: &TextRule) -> DomainResult<Self> {
        let TextRule { argument, min, max, line_breaks } = *rule;
        let cleaned = without_invisible(text, line_breaks);
        let visible = cleaned.trim();
        let length = visible.chars().count();
        if !(min..=max).contains(&length) {
            let removed = text.chars().count() - cleaned.chars().count();
            let beside = if removed == 0 { String::new() } else { format!(", and {removed} invisible ones") };
            let message = format!("{argument}: must have {min} to {max} characters; it has {length}{beside}");
            return Err(DomainError::bad_input(argument, message));
        }
        match visible.chars().find(|c| !is_allowed(*c, line_breaks)) {
            None => Ok(Self(visible.to_owned())),
            Some(bad) => {
                let message =
                    format!("{argument}: must not contain the control character U+{:04X}", bad as u32);
                Err(DomainError::bad_input(argument, message))
            }
        }
    }

    /// No text.
    pub const fn none() -> Self {
        Self(String::new())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The address of an image, normalized. It is not fetched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageAddress(String);

impl ImageAddress {
    /// # Errors
    /// [`DomainError::BadInput`] naming the argument.
    pub fn parse(argument: &'static str, address: &str) -> DomainResult<Self> {
        parse_address(argument, address, &["https"]).map(Self)
    }

    /// An empty text is no address.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_or_none(argument: &'static str, address: &str) -> DomainResult<Option<Self>> {
        if address.is_empty() { Ok(None) } else { Self::parse(argument, address).map(Some) }
    }

    pub fn into_string(self) -> String {
        self.0
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The address of a page of the app.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageAddress(String);

impl PageAddress {
    /// # Errors
    /// [`DomainError::BadInput`] naming the argument.
    pub fn parse(argument: &'static str, address: &str) -> DomainResult<Self> {
        parse_address(argument, address, &["https", "http"]).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn parse_address(argument: &'static str, address: &str, schemes: &[&str]) -> DomainResult<String> {
    let refused = |why: &str| DomainError::bad_input(argument, format!("{argument}: {why}"));
    if address.len() > MAX_ADDRESS_BYTES {
        return Err(refused(&format!("an address has at most {MAX_ADDRESS_BYTES} bytes")));
    }
    let url = url::Url::parse(address).map_err(|why| refused(&format!("not a valid URL: {why}")))?;
    let has_account = !url.username().is_empty() || url.password().is_some();
    if !schemes.contains(&url.scheme()) || url.host().is_none() || has_account {
        let schemes = schemes.join(" or ");
        return Err(refused(&format!("only {schemes} addresses without user name and password")));
    }
    Ok(url.into())
}

/// U+2028 and U+2029 break lines, too, but some programs that show a text do not know it.
fn is_allowed(c: char, line_breaks: bool) -> bool {
    match c {
        '\n' | '\r' | '\t' => line_breaks,
        '\u{2028}' | '\u{2029}' => false,
        _ => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, rule: &TextRule) -> String {
        Text::parse(text, rule).unwrap_err().to_string()
    }

    #[test]
    fn length_is_counted_in_characters_without_surrounding_white_space() {
        let title = "é".repeat(200);
        assert_eq!(Text::parse(&format!("  {title}\n"), &NOTE_TITLE).unwrap().as_str(), title);
        assert_eq!(
            refused(&"é".repeat(201), &NOTE_TITLE),
            "title: must have 1 to 200 characters; it has 201"
        );
        assert_eq!(refused(" \n ", &NOTE_BODY), "body: must have 1 to 10000 characters; it has 0");
        assert!(Text::parse("", &GROUP_DESCRIPTION).is_ok());
    }

    #[test]
    fn invisible_characters_are_removed_and_do_not_count() {
        assert_eq!(Text::parse("\u{202E}a\u{200B} b \u{200B}", &NOTE_TITLE).unwrap().as_str(), "a b");
        let blank = refused("\u{3164}\u{200B}", &GROUP_NAME);
        assert_eq!(blank, "name: must have 1 to 80 characters; it has 0, and 2 invisible ones");
    }

    #[test]
    fn control_characters_are_rejected_and_line_breaks_allowed_by_rule() {
        assert!(Text::parse("one\ntwo", &NOTE_BODY).is_ok());
        assert_eq!(refused("one\ntwo", &NOTE_TITLE), "title: must not contain the control character U+000A");
        for separator in ["U+2028", "U+2029", "U+0085"] {
            let character = char::from_u32(u32::from_str_radix(&separator[2..], 16).unwrap()).unwrap();
            for rule in [&NOTE_TITLE, &NOTE_BODY] {
                assert!(refused(&format!("a{character}b"), rule).ends_with(separator));
            }
        }
        assert_eq!(refused("nul\0byte", &NOTE_BODY), "body: must not contain the control character U+0000");
    }
}
