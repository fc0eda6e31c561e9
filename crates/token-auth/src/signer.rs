//! Signing of tokens.

use std::time::Duration;

use jsonwebtoken::{EncodingKey, Header, encode, get_current_timestamp};
use serde::Serialize;
use serde_json::Value;

use super::{
    claims::{ALGORITHM, ExpectedClaims},
    identity::{Role, Subject},
    issuer::{Issuer, IssuerKeys},
    profile::ClaimRules,
    secret::TokenSecret,
};

/// Signs tokens that a [`super::TokenVerifier`] with the same secret accepts.
pub struct TokenSigner {
    key: EncodingKey,
    expected: ExpectedClaims,
    rules: ClaimRules,
}

/// Why no token was signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// A bug.
    #[error("cannot sign the token: {0}")]
    Encoding(#[from] jsonwebtoken::errors::Error),
    #[error("cannot sign the token: {0}")]
    Claims(#[from] serde_json::Error),
    #[error(
        "the token would not have the role {role}: it is written to `/role`, but the issuer's tokens are read from \
         `{pointer}`, by its map `roles`, and as a service only with `allows_service`"
    )]
    RoleNotRead { role: String, pointer: String },
}

/// Times are seconds of the Unix epoch.
#[derive(Serialize)]
struct SignedClaims<'a> {
    sub: &'a str,
    exp: u64,
    iat: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'a str>,
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

impl TokenSigner {
    pub fn hs256(secret: &TokenSecret) -> Self {
        let keys = IssuerKeys::Secret(secret.clone());
        Self::for_issuer(&Issuer::new(keys, ExpectedClaims::default()), secret)
    }

    /// Signs tokens with the audience and issuer that a verifier expects.
    pub(super) fn for_issuer(issuer: &Issuer, secret: &TokenSecret) -> Self {
        let key = EncodingKey::from_secret(secret.as_bytes());
        Self { key, expected: issuer.expected.clone(), rules: issuer.claims.clone() }
    }

    /// A token without a name, valid from now for `ttl`, in whole seconds.
    ///
    /// # Errors
    /// As [`Self::sign_named`].
    pub fn sign(&self, subject: &Subject, role: Role, ttl: Duration) -> Result<String, SignError> {
        self.sign_named(subject, None, role, ttl)
    }

    /// A token with this name, valid from now for `ttl`, in whole seconds. An issuer's prefix is not part of
    /// `subject`.
    ///
    /// # Errors
    /// The issuer's rules would read another role from the token.
    pub fn sign_named(
        &self,
        subject: &Subject,
        name: Option<&str>,
        role: Role,
        ttl: Duration,
    ) -> Result<String, SignError> {
        let now = get_current_timestamp();
        let claims: Value = serde_json::to_value(SignedClaims {
            sub: subject.as_str(),
            exp: now.saturating_add(ttl.as_secs()),
            iat: now,
            aud: self.expected.audience.as_deref(),
            iss: self.expected.issuer.as_deref(),
            role,
            name,
        })?;
        if self.rules.role(&claims) != role {
            return Err(SignError::RoleNotRead {
                role: role.to_string(),
                pointer: self.rules.role.to_string(),
            });
        }
        Ok(encode(&Header::new(ALGORITHM), &claims, &self.key)?)
    }
}
