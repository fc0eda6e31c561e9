//! Validation of text that people write: length and control characters.

use super::{DomainError, DomainResult};

/// Limits of a text.
#[derive(Clone, Copy, Debug)]
pub struct TextRule {
    /// Name of the argument in error messages.
    pub argument: &'static str,
    /// Length in characters (Unicode scalar values), without surrounding white space.
    pub min: usize,
    pub max: usize,
    pub line_breaks: bool,
}

pub const NOTE_TITLE: TextRule = TextRule { argument: "title", min: 1, max: 200, line_breaks: false };
pub const NOTE_BODY: TextRule = TextRule { argument: "body", min: 1, max: 10_000, line_breaks: true };
pub const GROUP_NAME: TextRule = TextRule { argument: "name", min: 1, max: 80, line_breaks: false };
pub const GROUP_DESCRIPTION: TextRule =
    TextRule { argument: "description", min: 0, max: 1_000, line_breaks: true };
pub const GRANT_REASON: TextRule = TextRule { argument: "reason", min: 1, max: 200, line_breaks: false };

pub const REJECTION_REASON: TextRule = TextRule { argument: "reason", min: 1, max: 200, line_breaks: false };

pub const COMMENT_BODY: TextRule = TextRule { argument: "body", min: 1, max: 1_024, line_breaks: true };

/// Text that satisfies its rule, without surrounding white space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text(String);

impl Text {
    /// # Errors
    /// [`DomainError::BadInput`] naming the rule's argument.
    pub fn parse(text: &str, rule: &TextRule) -> DomainResult<Self> {
        let TextRule { argument, min, max, line_breaks } = *rule;
        let text = text.trim();
        let length = text.chars().count();
        if !(min..=max).contains(&length) {
            let message = format!("{argument}: must have {min} to {max} characters; it has {length}");
            return Err(DomainError::bad_input(argument, message));
        }
        let is_allowed = |c: char| !c.is_control() || (line_breaks && matches!(c, '\n' | '\r' | '\t'));
        match text.chars().find(|c| !is_allowed(*c)) {
            None => Ok(Self(text.to_owned())),
            Some(bad) => {
                let message =
                    format!("{argument}: must not contain the control character U+{:04X}", bad as u32);
                Err(DomainError::bad_input(argument, message))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
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
    fn control_characters_are_rejected_and_line_breaks_allowed_by_rule() {
        assert!(Text::parse("one\ntwo", &NOTE_BODY).is_ok());
        assert_eq!(refused("one\ntwo", &NOTE_TITLE), "title: must not contain the control character U+000A");
        assert_eq!(refused("nul\0byte", &NOTE_BODY), "body: must not contain the control character U+0000");
    }
}
