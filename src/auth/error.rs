//! Why a token is refused.

/// Gives the class of the reason and nothing of the token, so the message may be shown to the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenError {
    /// Not a JWT, or a claim of the wrong type, length or value.
    #[error("the token is malformed")]
    Malformed,
    /// Signed with another secret, or changed afterwards.
    #[error("the token's signature is wrong")]
    BadSignature,
    #[error("the token has expired; get a new one")]
    Expired,
    /// Its `nbf` lies in the future.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// It names an audience (`aud`); Plaudit is none.
    #[error("the token is meant for another service")]
    OtherAudience,
    /// `sub` or `exp`.
    #[error("the token lacks a claim; `sub` and `exp` are required")]
    MissingClaim,
    #[error("the token's algorithm is not supported; sign it with HS256")]
    UnsupportedAlgorithm,
}

impl From<jsonwebtoken::errors::Error> for TokenError {
    fn from(error: jsonwebtoken::errors::Error) -> Self {
        use jsonwebtoken::errors::ErrorKind;
        match error.kind() {
            ErrorKind::InvalidSignature => Self::BadSignature,
            ErrorKind::ExpiredSignature => Self::Expired,
            ErrorKind::ImmatureSignature => Self::NotYetValid,
            ErrorKind::InvalidAudience => Self::OtherAudience,
            ErrorKind::MissingRequiredClaim(_) => Self::MissingClaim,
            ErrorKind::InvalidAlgorithm => Self::UnsupportedAlgorithm,
            _ => Self::Malformed,
        }
    }
}
