//! Reasons for refusing a token.

/// Why a token is refused. Contains no part of the token, so the message may be shown to the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenError {
    /// Not a JWT, or a claim of the wrong type, length or value; also one without a signature (`alg: none`).
    #[error("the token is malformed")]
    Malformed,
    /// Longer than [`super::TokenVerifier::MAX_BYTES`]; not parsed.
    #[error("the token is too long: {max} bytes are allowed", max = super::TokenVerifier::MAX_BYTES)]
    TooLong,
    /// Signed with another key, or changed afterwards.
    #[error("the token's signature is wrong")]
    BadSignature,
    /// No key has its `kid`; or it has no `kid`, and not exactly one key fits its algorithm.
    #[error("the token's key is unknown")]
    UnknownKey,
    #[error("the token has expired; get a new one")]
    Expired,
    /// Its `nbf` lies in the future.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// Its audience (`aud`) is not the one that is expected of its issuer, or none is expected.
    #[error("the token is meant for another service")]
    OtherAudience,
    /// No issuer with this `iss` is known.
    #[error("the token is from another issuer")]
    OtherIssuer,
    /// `sub` or `exp`, or it has another type.
    #[error("the token lacks a claim; `sub` and `exp` are required")]
    MissingClaim,
    /// `sub` is empty, has a NUL character, or is too long together with the issuer's prefix.
    #[error(
        "the token's `sub` is no subject: 1 to {max} bytes, with the issuer's prefix, and no NUL character",
        max = super::Subject::MAX_BYTES
    )]
    BadSubject,
    /// The issuer has no prefix, and `sub` begins with another issuer's prefix: it could be a user of the other.
    #[error("the token's `sub` begins with the subject prefix of another issuer")]
    ForeignSubject,
    #[error("the token's algorithm is not the one of its key")]
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
            ErrorKind::InvalidIssuer => Self::OtherIssuer,
            ErrorKind::MissingRequiredClaim(claim) => match claim.as_str() {
                "aud" => Self::OtherAudience,
                "iss" => Self::OtherIssuer,
                _ => Self::MissingClaim,
            },
            ErrorKind::InvalidAlgorithm => Self::UnsupportedAlgorithm,
            _ => Self::Malformed,
        }
    }
}
