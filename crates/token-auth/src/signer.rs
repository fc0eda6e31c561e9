//! Signing of tokens.

use std::time::Duration;

use jsonwebtoken::{EncodingKey, Header, encode, get_current_timestamp};

use super::{
    claims::{ALGORITHM, Claims, ExpectedClaims},
    identity::{Role, Subject},
    secret::TokenSecret,
};

/// Signs tokens that a [`super::TokenVerifier`] with the same secret accepts.
pub struct TokenSigner {
    key: EncodingKey,
    expected: ExpectedClaims,
}

/// The token could not be encoded; a bug.
#[derive(Debug, thiserror::Error)]
#[error("cannot sign the token: {0}")]
pub struct SignError(#[from] jsonwebtoken::errors::Error);

impl TokenSigner {
    pub fn hs256(secret: &TokenSecret) -> Self {
        Self { key: EncodingKey::from_secret(secret.as_bytes()), expected: ExpectedClaims::default() }
    }

    /// Signs tokens with the audience and issuer that a verifier expects.
    pub fn expected(self, expected: ExpectedClaims) -> Self {
        Self { expected, ..self }
    }

    /// A token without a name, valid from now for `ttl`, in whole seconds.
    pub fn sign(&self, subject: &Subject, role: Role, ttl: Duration) -> Result<String, SignError> {
        self.sign_named(subject, None, role, ttl)
    }

    /// A token with this name, valid from now for `ttl`, in whole seconds.
    pub fn sign_named(
        &self,
        subject: &Subject,
        name: Option<&str>,
        role: Role,
        ttl: Duration,
    ) -> Result<String, SignError> {
        let now = get_current_timestamp();
        let exp = now.saturating_add(ttl.as_secs());
        let ExpectedClaims { audience: aud, issuer: iss } = self.expected.clone();
        let claims = Claims {
            sub: subject.as_str().to_owned(),
            exp,
            iat: now,
            aud,
            iss,
            role,
            name: name.map(str::to_owned),
        };
        Ok(encode(&Header::new(ALGORITHM), &claims, &self.key)?)
    }
}
