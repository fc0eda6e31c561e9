//! Identity that a valid token proves: subject, role and expiry.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Subject, role and name of a caller, and when they expire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    pub subject: Subject,
    pub role: Role,
    /// The claim `name`, as it stands in the token.
    pub name: Option<String>,
    /// Connections of the caller are closed at this time.
    pub expires_at: DateTime<Utc>,
}

/// Rights of a caller. No role includes another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum Role {
    /// Acts for itself.
    #[default]
    User,
    /// Also approves, hides and removes the content of others.
    Moderator,
    /// Another server of the app.
    Service,
}

/// Of a string only: the derived form would also accept an object with the role as its key.
impl TryFrom<String> for Role {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        clap::ValueEnum::from_str(&name, false)
    }
}

/// External name of a user: any text of 1 to [`Subject::MAX_BYTES`] bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Subject(String);

/// The text is empty, longer than [`Subject::MAX_BYTES`], or has a NUL character, which PostgreSQL cannot store.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a subject has 1 to {max} bytes and no NUL character, this one has {bytes} bytes", max = Subject::MAX_BYTES)]
pub struct BadSubject {
    bytes: usize,
}

impl Subject {
    /// UTF-8 bytes.
    pub const MAX_BYTES: usize = 255;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Subject {
    type Error = BadSubject;

    fn try_from(text: String) -> Result<Self, BadSubject> {
        let bytes = text.len();
        let is_valid = (1..=Self::MAX_BYTES).contains(&bytes) && !text.contains('\0');
        if is_valid { Ok(Self(text)) } else { Err(BadSubject { bytes }) }
    }
}

impl FromStr for Subject {
    type Err = BadSubject;

    fn from_str(text: &str) -> Result<Self, BadSubject> {
        text.to_owned().try_into()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_long_subject_and_one_with_nul_are_refused() {
        assert!("é".repeat(127).parse::<Subject>().is_ok());
        for bad in [String::new(), "é".repeat(128), "a\0b".to_owned()] {
            let bytes = bad.len();
            assert_eq!(Subject::try_from(bad), Err(BadSubject { bytes }));
        }
    }
}
