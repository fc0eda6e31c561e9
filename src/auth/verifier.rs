//! Checking tokens.

use chrono::DateTime;
use jsonwebtoken::{DecodingKey, Validation, decode};

use super::{
    claims::{ALGORITHM, Claims},
    error::TokenError,
    identity::Identity,
    secret::TokenSecret,
};

/// How long after its end a token still counts, in seconds: servers' clocks differ a little.
const LEEWAY_S: u64 = 5;

/// Tells whom a token belongs to.
pub struct TokenVerifier {
    key: DecodingKey,
    rules: Validation,
}

impl TokenVerifier {
    pub fn hs256(secret: &TokenSecret) -> Self {
        Self { key: DecodingKey::from_secret(secret.as_bytes()), rules: rules() }
    }

    /// # Errors
    /// The first reason for which the token is refused. Claims are looked at only when the signature
    /// is right, so a stranger learns nothing by trying.
    pub fn verify(&self, token: &str) -> Result<Identity, TokenError> {
        identity(decode::<Claims>(token, &self.key, &self.rules)?.claims)
    }
}

fn rules() -> Validation {
    let mut rules = Validation::new(ALGORITHM);
    rules.set_required_spec_claims(&["sub", "exp"]);
    rules.leeway = LEEWAY_S;
    rules.validate_nbf = true;
    rules
}

fn identity(claims: Claims) -> Result<Identity, TokenError> {
    let subject = claims.sub.try_into().map_err(|_| TokenError::Malformed)?;
    let seconds = i64::try_from(claims.exp).map_err(|_| TokenError::Malformed)?;
    let expires_at = DateTime::from_timestamp(seconds, 0).ok_or(TokenError::Malformed)?;
    Ok(Identity { subject, role: claims.role, expires_at })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::Utc;
    use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
    use serde_json::{Value, json};

    use super::*;
    use crate::auth::{Role, Subject, TokenSigner};

    const SECRET: &str = "a secret that only these tests know";

    fn secret() -> TokenSecret {
        SECRET.parse().unwrap()
    }

    fn verify(token: &str) -> Result<Identity, TokenError> {
        TokenVerifier::hs256(&secret()).verify(token)
    }

    /// A correctly signed token that says anything.
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
    fn a_signed_token_proves_its_subject_and_role_as_often_as_it_is_shown() {
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
    fn without_a_role_the_token_is_a_users() {
        let identity = verify_claims(json!({ "sub": "ana", "exp": in_seconds(60) })).unwrap();
        assert_eq!(identity.role, Role::User);
    }

    #[test]
    fn claims_that_plaudit_does_not_know_are_ignored() {
        let claims = json!({ "sub": "ana", "exp": in_seconds(60), "iat": 1.5, "name": "Ana" });
        assert!(verify_claims(claims).is_ok());
    }

    #[test]
    fn another_secret_or_a_changed_token_is_a_bad_signature() {
        let token = signed(ALGORITHM, &json!({ "sub": "ana", "exp": in_seconds(60) }));
        let other: TokenSecret = "x".repeat(32).parse().unwrap();
        assert_eq!(TokenVerifier::hs256(&other).verify(&token), Err(TokenError::BadSignature));

        let parts: Vec<&str> = token.split('.').collect();
        let promoted = signed(ALGORITHM, &json!({ "sub": "root", "exp": in_seconds(60), "role": "service" }));
        let payload = promoted.split('.').nth(1).unwrap();
        let forged = format!("{}.{payload}.{}", parts[0], parts[2]);
        assert_eq!(verify(&forged), Err(TokenError::BadSignature));
    }

    #[test]
    fn a_token_counts_until_its_end_and_a_short_leeway() {
        let ended_before =
            |seconds: u64| verify_claims(json!({ "sub": "ana", "exp": in_seconds(-(seconds as i64)) }));
        assert!(ended_before(LEEWAY_S - 3).is_ok());
        assert_eq!(ended_before(LEEWAY_S + 3), Err(TokenError::Expired));
    }

    #[test]
    fn a_token_is_refused_before_its_beginning_and_when_it_is_for_another_service() {
        let claims = |name: &str, value: Value| json!({ "sub": "ana", "exp": in_seconds(60), name: value });
        assert_eq!(verify_claims(claims("nbf", json!(in_seconds(60)))), Err(TokenError::NotYetValid));
        assert_eq!(verify_claims(claims("aud", json!("billing"))), Err(TokenError::OtherAudience));
    }

    #[test]
    fn subject_and_end_are_required() {
        assert_eq!(verify_claims(json!({ "exp": in_seconds(60) })), Err(TokenError::MissingClaim));
        assert_eq!(verify_claims(json!({ "sub": "ana" })), Err(TokenError::MissingClaim));
    }

    #[test]
    fn only_hs256_is_accepted_whatever_the_token_says() {
        let token = signed(Algorithm::HS512, &json!({ "sub": "ana", "exp": in_seconds(60) }));
        assert_eq!(verify(&token), Err(TokenError::UnsupportedAlgorithm));

        // {"typ":"JWT","alg":"none"} and {"sub":"ana","exp":99999999999}, unsigned
        let unsigned = "eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0.eyJzdWIiOiJhbmEiLCJleHAiOjk5OTk5OTk5OTk5fQ.";
        assert_eq!(verify(unsigned), Err(TokenError::Malformed));
    }

    #[test]
    fn what_is_no_token_or_has_an_impossible_claim_is_malformed() {
        for text in ["", "abc", "a.b.c", "....", "Bearer x"] {
            assert_eq!(verify(text), Err(TokenError::Malformed), "{text}");
        }
        for (name, value) in [
            ("sub", json!("")),
            ("sub", json!("x".repeat(256))),
            ("sub", json!(7)),
            ("role", json!("admin")),
            ("exp", json!("tomorrow")),
            ("exp", json!(u64::MAX)),
        ] {
            let mut claims = json!({ "sub": "ana", "exp": in_seconds(60) });
            claims[name] = value.clone();
            assert_eq!(verify_claims(claims), Err(TokenError::Malformed), "{name}: {value}");
        }
    }
}
