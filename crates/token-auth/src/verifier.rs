//! Verification of tokens.

use std::{sync::Arc, time::Duration};

use chrono::DateTime;
use jsonwebtoken::{decode, decode_header};

use super::{
    claims::{Claims, ExpectedClaims},
    error::TokenError,
    identity::Identity,
    jwks::JwksSource,
    keys::Key,
    ring::{JwksError, KeyRing},
    secret::TokenSecret,
    verified::VerifiedTokens,
};

/// Verifies a token and returns the identity that it proves.
pub struct TokenVerifier(Keys);

enum Keys {
    Secret(Box<Key>),
    Public { ring: Arc<KeyRing>, verified: VerifiedTokens },
}

impl TokenVerifier {
    /// Longest token. Those of common identity providers have about 1 KiB.
    pub const MAX_BYTES: usize = 8 * 1024;

    pub fn hs256(secret: &TokenSecret) -> Self {
        Self::hs256_expecting(secret, &ExpectedClaims::default())
    }

    pub fn hs256_expecting(secret: &TokenSecret, expected: &ExpectedClaims) -> Self {
        Self(Keys::Secret(Box::new(Key::of_secret(secret, expected))))
    }

    /// Verifies with public keys, which are read now, then every `refresh`, and when a token names an unknown one.
    ///
    /// # Errors
    /// The keys cannot be read, or none of them can be used.
    pub async fn jwks(
        source: JwksSource,
        refresh: Duration,
        expected: ExpectedClaims,
    ) -> Result<Self, JwksError> {
        let ring = KeyRing::open(source, refresh, expected).await?;
        Ok(Self(Keys::Public { ring, verified: VerifiedTokens::new() }))
    }

    /// Waits only if the public key is unknown, because it may be new.
    ///
    /// # Errors
    /// The first reason for refusing the token. Claims are checked only after the signature, so that a forged
    /// token reveals nothing.
    pub async fn verify(&self, token: &str) -> Result<Identity, TokenError> {
        let first = self.verify_now(token);
        match (&self.0, &first) {
            (Keys::Public { ring, .. }, Err(TokenError::UnknownKey)) if ring.wait_for_refresh().await => {
                self.verify_now(token)
            }
            _ => first,
        }
    }

    /// Verifies with the current keys, without a refresh.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub fn verify_now(&self, token: &str) -> Result<Identity, TokenError> {
        if token.len() > Self::MAX_BYTES {
            return Err(TokenError::TooLong);
        }
        match &self.0 {
            Keys::Secret(key) => identity(token, key),
            Keys::Public { ring, verified } => {
                let (keys, version) = ring.keys();
                if let Some(identity) = verified.get(token, version) {
                    return Ok(identity);
                }
                let identity = identity(token, keys.key_of(&decode_header(token)?)?)?;
                verified.insert(token, version, identity.clone());
                Ok(identity)
            }
        }
    }
}

fn identity(token: &str, key: &Key) -> Result<Identity, TokenError> {
    let decoded = decode::<Claims>(token, &key.decoding, &key.rules)?;
    // RFC 7515, section 4.1.11: critical extensions. None is supported.
    if decoded.header.crit.is_some() {
        return Err(TokenError::Malformed);
    }
    let Claims { sub, exp, role, name, .. } = decoded.claims;
    let subject = sub.try_into().map_err(|_| TokenError::Malformed)?;
    let seconds = i64::try_from(exp).map_err(|_| TokenError::Malformed)?;
    let expires_at = DateTime::from_timestamp(seconds, 0).ok_or(TokenError::Malformed)?;
    Ok(Identity { subject, role, name, expires_at })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::Utc;
    use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        Role, Subject, TokenSigner,
        claims::{ALGORITHM, LEEWAY_S},
    };

    const SECRET: &str = "a secret that only these tests know";

    fn secret() -> TokenSecret {
        SECRET.parse().unwrap()
    }

    fn verify(token: &str) -> Result<Identity, TokenError> {
        TokenVerifier::hs256(&secret()).verify_now(token)
    }

    /// A correctly signed token with any claims.
    fn signed(algorithm: Algorithm, claims: &Value) -> String {
        encode(&Header::new(algorithm), claims, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap()
    }

    fn verify_claims(claims: Value) -> Result<Identity, TokenError> {
        verify(&signed(ALGORITHM, &claims))
    }

    fn in_seconds(seconds: i64) -> i64 {
        Utc::now().timestamp() + seconds
    }

    #[test]
    fn a_signed_token_proves_its_subject_and_role_repeatedly() {
        let subject: Subject = "ana@example.org".parse().unwrap();
        let token =
            TokenSigner::hs256(&secret()).sign(&subject, Role::Moderator, Duration::from_secs(60)).unwrap();
        for _ in 0..2 {
            let identity = verify(&token).unwrap();
            assert_eq!((&identity.subject, identity.role), (&subject, Role::Moderator));
            let left = identity.expires_at - Utc::now();
            assert!((55..=60).contains(&left.num_seconds()), "{left}");
        }
    }

    #[test]
    fn a_token_without_a_role_has_the_role_user() {
        let identity = verify_claims(json!({ "sub": "ana", "exp": in_seconds(60) })).unwrap();
        assert_eq!(identity.role, Role::User);
    }

    #[test]
    fn unknown_claims_are_ignored() {
        let claims = json!({ "sub": "ana", "exp": in_seconds(60), "iat": 1.5, "name": "Ana" });
        assert!(verify_claims(claims).is_ok());
    }

    #[test]
    fn another_secret_or_a_changed_token_gives_a_bad_signature() {
        let token = signed(ALGORITHM, &json!({ "sub": "ana", "exp": in_seconds(60) }));
        let other: TokenSecret = "x".repeat(32).parse().unwrap();
        assert_eq!(TokenVerifier::hs256(&other).verify_now(&token), Err(TokenError::BadSignature));

        let parts: Vec<&str> = token.split('.').collect();
        let promoted = signed(ALGORITHM, &json!({ "sub": "root", "exp": in_seconds(60), "role": "service" }));
        let payload = promoted.split('.').nth(1).unwrap();
        let forged = format!("{}.{payload}.{}", parts[0], parts[2]);
        assert_eq!(verify(&forged), Err(TokenError::BadSignature));
    }

    #[test]
    fn a_token_is_valid_until_its_expiry_and_a_short_leeway() {
        let expired_for =
            |seconds: u64| verify_claims(json!({ "sub": "ana", "exp": in_seconds(-(seconds as i64)) }));
        assert!(expired_for(LEEWAY_S - 3).is_ok());
        assert_eq!(expired_for(LEEWAY_S + 3), Err(TokenError::Expired));
    }

    #[test]
    fn a_token_is_refused_before_its_nbf_and_for_another_audience() {
        let claims = |name: &str, value: Value| json!({ "sub": "ana", "exp": in_seconds(60), name: value });
        assert_eq!(verify_claims(claims("nbf", json!(in_seconds(60)))), Err(TokenError::NotYetValid));
        assert_eq!(verify_claims(claims("aud", json!("billing"))), Err(TokenError::OtherAudience));
    }

    #[test]
    fn a_configured_audience_and_issuer_are_required() {
        let expected =
            ExpectedClaims { audience: Some("plaudit".into()), issuer: Some("https://id.example".into()) };
        let verifier = TokenVerifier::hs256_expecting(&secret(), &expected);
        let verify = |aud: Value, iss: Value| {
            let mut claims = json!({ "sub": "ana", "exp": in_seconds(60), "aud": aud, "iss": iss });
            claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            verifier.verify_now(&signed(ALGORITHM, &claims)).map(|_| ())
        };
        let issuer = json!("https://id.example");
        for audience in [json!("plaudit"), json!(["billing", "plaudit"])] {
            assert_eq!(verify(audience, issuer.clone()), Ok(()));
        }
        for audience in [json!(null), json!("billing"), json!([]), json!(["billing"]), json!(7)] {
            assert_eq!(
                verify(audience.clone(), issuer.clone()),
                Err(TokenError::OtherAudience),
                "{audience}"
            );
        }
        for other in [json!(null), json!("https://id.example/"), json!("plaudit"), json!(7)] {
            assert_eq!(verify(json!("plaudit"), other.clone()), Err(TokenError::OtherIssuer), "{other}");
        }
    }

    #[test]
    fn a_token_that_is_too_long_is_not_parsed() {
        let long = |bytes: usize| {
            let text = "x".repeat(bytes);
            signed(ALGORITHM, &json!({ "sub": "ana", "exp": in_seconds(60), "text": text }))
        };
        assert!(verify(&long(5_000)).is_ok());
        assert_eq!(verify(&long(7_000)), Err(TokenError::TooLong));
    }

    #[test]
    fn critical_extensions_are_refused() {
        let header = Header { crit: Some(vec!["b64".into()]), ..Header::new(ALGORITHM) };
        let claims = json!({ "sub": "ana", "exp": in_seconds(60) });
        let token = encode(&header, &claims, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap();
        assert_eq!(verify(&token), Err(TokenError::Malformed));
    }

    #[test]
    fn exp_may_have_a_fraction() {
        let exp = in_seconds(60) as f64 + 0.5;
        assert!(verify_claims(json!({ "sub": "ana", "exp": exp })).is_ok());
    }

    #[test]
    fn sub_and_exp_are_required() {
        assert_eq!(verify_claims(json!({ "exp": in_seconds(60) })), Err(TokenError::MissingClaim));
        assert_eq!(verify_claims(json!({ "sub": "ana" })), Err(TokenError::MissingClaim));
    }

    #[test]
    fn other_algorithms_than_hs256_are_refused() {
        let token = signed(Algorithm::HS512, &json!({ "sub": "ana", "exp": in_seconds(60) }));
        assert_eq!(verify(&token), Err(TokenError::UnsupportedAlgorithm));

        // {"typ":"JWT","alg":"none"} and {"sub":"ana","exp":99999999999}, unsigned
        let unsigned = "eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0.eyJzdWIiOiJhbmEiLCJleHAiOjk5OTk5OTk5OTk5fQ.";
        assert_eq!(verify(unsigned), Err(TokenError::Malformed));
    }

    #[test]
    fn invalid_tokens_and_claims_are_malformed() {
        for text in ["", "abc", "a.b.c", "....", "Bearer x"] {
            assert_eq!(verify(text), Err(TokenError::Malformed), "{text}");
        }
        for (name, value) in [
            ("sub", json!("")),
            ("sub", json!("x".repeat(256))),
            ("sub", json!(7)),
            ("role", json!("admin")),
            ("role", json!({ "service": null })),
            ("role", json!(["service"])),
            ("role", json!(null)),
            ("exp", json!("tomorrow")),
            ("exp", json!(u64::MAX)),
        ] {
            let mut claims = json!({ "sub": "ana", "exp": in_seconds(60) });
            claims[name] = value.clone();
            assert_eq!(verify_claims(claims), Err(TokenError::Malformed), "{name}: {value}");
        }
    }
}
