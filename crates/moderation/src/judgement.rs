//! Submission of a comment for moderation, and the judgement or failure that results.

use std::time::Duration;

use serde::Serialize;

/// A comment as its author wrote it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Submission {
    pub text: String,
    /// URLs; the images themselves are not inspected.
    pub images: Vec<String>,
}

/// Decision of a moderator. Reasons have at most [`Judgement::MAX_REASON`] characters and no line breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    Approved,
    /// The reason is shown to the author.
    Rejected {
        reason: String,
    },
    /// A human moderator must decide; the reason is shown to them.
    Undecided {
        reason: String,
    },
}

/// Why no judgement was made. Contains neither secrets nor parts of the comment.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// A retry may succeed, but not before `retry_after`.
    #[error("{why}")]
    Transient { why: String, retry_after: Option<Duration> },
    /// The moderator refuses, most likely because its settings are wrong. Already logged.
    #[error("{why}")]
    Permanent { why: String },
}

impl Judgement {
    pub const MAX_REASON: usize = 200;

    pub(super) fn rejected(reason: &str) -> Self {
        let reason = one_line(reason);
        let reason = if reason.is_empty() { "the comment is against the rules".to_owned() } else { reason };
        Self::Rejected { reason }
    }

    pub(super) fn undecided(reason: &str) -> Self {
        Self::Undecided { reason: one_line(reason) }
    }
}

impl Failure {
    pub(super) fn transient(why: impl Into<String>) -> Self {
        Self::Transient { why: why.into(), retry_after: None }
    }

    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }

    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient { retry_after, .. } => *retry_after,
            Self::Permanent { .. } => None,
        }
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(Judgement::MAX_REASON) {
        None => line,
        Some(_) => line.chars().take(Judgement::MAX_REASON - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_of_bounded_length() {
        assert_eq!(one_line(" No\n\u{1b}[31m insults,\u{0} please. "), "No [31m insults, please.");
        assert_eq!(one_line(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(one_line(&"é".repeat(201)), format!("{}…", "é".repeat(199)));
    }

    #[test]
    fn a_rejection_always_has_a_reason() {
        assert_eq!(
            Judgement::rejected("\n"),
            Judgement::Rejected { reason: "the comment is against the rules".to_owned() }
        );
    }
}
