//! Signing secret of tokens (HS256).

use std::{fmt, str::FromStr};

/// The signing secret. `Debug` hides it, because with it anyone can sign tokens for any user.
///
/// The key is the bytes of the text; hexadecimal digits are not decoded.
#[derive(Clone)]
pub struct TokenSecret(String);

/// The text has fewer than [`TokenSecret::MIN_BYTES`] bytes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "a secret needs at least {min} bytes, this one has {bytes}; `openssl rand -hex 32` makes a good one",
    min = TokenSecret::MIN_BYTES
)]
pub struct SecretTooShort {
    bytes: usize,
}

impl TokenSecret {
    /// As long as the hash of HS256; a shorter key would be easier to guess than the hash (RFC 7518, 3.2).
    pub const MIN_BYTES: usize = 32;

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl FromStr for TokenSecret {
    type Err = SecretTooShort;

    fn from_str(text: &str) -> Result<Self, SecretTooShort> {
        let bytes = text.len();
        if bytes < Self::MIN_BYTES { Err(SecretTooShort { bytes }) } else { Ok(Self(text.to_owned())) }
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_secret_is_refused_and_debug_hides_a_valid_one() {
        let enough = "s".repeat(TokenSecret::MIN_BYTES);
        assert_eq!(enough[1..].parse::<TokenSecret>().unwrap_err(), SecretTooShort { bytes: 31 });
        assert!(!format!("{:?}", enough.parse::<TokenSecret>().unwrap()).contains("ss"));
    }
}
