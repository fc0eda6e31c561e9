//! Identity that a valid token proves: subject, role, profile and expiry.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::profile::TokenProfile;

/// Subject, role and profile of a caller, and when they expire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// With the prefix of the issuer.
    pub subject: Subject,
    pub role: Role,
    pub profile: TokenProfile,
    /// Connections of the caller are closed at this time.
    pub expires_at: DateTime<Utc>,
}

/// Rights of a caller. No role includes another; a token that names several has the last of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Acts for itself.
    #[default]
    User,
    /// Also approves, hides and removes the content of others.
    Moderator,
    /// Another server of the app.
    Service,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be user, moderator or service")]
pub struct UnknownRole;

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        clap::ValueEnum::from_str(name, false).map_err(|_| UnknownRole)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Moderator => "moderator",
            Self::Service => "service",
        })
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
