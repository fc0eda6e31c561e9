//! Verification of tokens.

use std::{sync::Arc, time::Duration};

use jsonwebtoken::{dangerous::insecure_decode_claims, decode, decode_header};
use serde::Deserialize;
use serde_json::Value;

use super::{
    claims::{ExpectedClaims, time},
    error::TokenError,
    identity::{Identity, Subject},
    issuer::{Issuer, IssuerKeys, Issuers},
    keys::Key,
    profile::ClaimRules,
    ring::{JwksError, KeyRing},
    secret::TokenSecret,
    verified::{KeysUsed, VerifiedTokens},
};

/// Verifies a token and returns the identity that it proves.
pub struct TokenVerifier {
    issuers: Vec<OpenIssuer>,
    verified: VerifiedTokens,
}

/// An issuer with its present keys.
struct OpenIssuer {
    keys: Keys,
    name: Option<String>,
    subject_prefix: String,
    /// Prefixes of the others, with which no `sub` of an issuer without a prefix may begin.
    foreign_prefixes: Vec<String>,
    claims: ClaimRules,
}

enum Keys {
    Secret(Box<Key>),
    Public(Arc<KeyRing>),
}

/// A secret is never replaced while the process runs.
const SECRET_VERSION: u64 = 0;

/// The claim by which the issuer of a token is found.
#[derive(Deserialize)]
struct IssuerClaim {
    iss: Option<Value>,
}

impl TokenVerifier {
    /// Longest token. Common identity providers issue tokens of about 1 KiB.
    pub const MAX_BYTES: usize = 8 * 1024;

    /// Verifies tokens of any `iss` that are signed with one secret.
    pub fn hs256(secret: &TokenSecret) -> Self {
        let expected = ExpectedClaims::default();
        let keys = Keys::Secret(Box::new(Key::of_secret(secret, &expected)));
        let issuer = Issuer::new(IssuerKeys::Secret(secret.clone()), expected);
        Self { issuers: vec![OpenIssuer::new(issuer, keys)], verified: VerifiedTokens::new() }
    }

    /// Reads public keys now, then every `refresh`, and when a token names an unknown one.
    ///
    /// # Errors
    /// The public keys of an issuer cannot be read, or none of them can be used.
    pub async fn open(issuers: &Issuers, refresh: Duration) -> Result<Self, JwksError> {
        let mut open = Vec::new();
        for issuer in issuers.iter() {
            let keys = match &issuer.keys {
                IssuerKeys::Secret(secret) => {
                    Keys::Secret(Box::new(Key::of_secret(secret, &issuer.expected)))
                }
                IssuerKeys::Public(source) => {
                    Keys::Public(KeyRing::open(source.clone(), refresh, issuer.expected.clone()).await?)
                }
            };
            open.push(OpenIssuer::new(issuer.clone(), keys));
        }
        let prefixes = open.iter().map(|issuer| issuer.subject_prefix.clone());
        let prefixes: Vec<String> = prefixes.filter(|prefix| !prefix.is_empty()).collect();
        if let Some(without_prefix) = open.iter_mut().find(|issuer| issuer.subject_prefix.is_empty()) {
            without_prefix.foreign_prefixes = prefixes;
        }
        Ok(Self { issuers: open, verified: VerifiedTokens::new() })
    }

    /// Waits only if the public key is unknown, because it may be new.
    ///
    /// # Errors
    /// The first reason for refusing the token. Claims are checked only after the signature, so that a forged
    /// token reveals nothing.
    pub async fn verify(&self, token: &str) -> Result<Identity, TokenError> {
        let first = self.verify_now(token);
        if first != Err(TokenError::UnknownKey) {
            return first;
        }
        match &self.issuer_of(token)?.1.keys {
            Keys::Public(ring) if ring.wait_for_refresh().await => self.verify_now(token),
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
        if let Some(identity) = self.verified(token) {
            return Ok(identity);
        }
        let (number, issuer) = self.issuer_of(token)?;
        let (identity, version) = match &issuer.keys {
            Keys::Secret(key) => (issuer.identity(token, key)?, SECRET_VERSION),
            Keys::Public(ring) => {
                let (keys, version) = ring.keys();
                (issuer.identity(token, keys.key_of(&decode_header(token)?)?)?, version)
            }
        };
        self.verified.insert(token, KeysUsed { issuer: number, version }, identity.clone());
        Ok(identity)
    }

    /// Whether it was verified before, and is still valid: then no signature is verified again.
    pub fn has_verified(&self, token: &str) -> bool {
        self.verified(token).is_some()
    }

    fn verified(&self, token: &str) -> Option<Identity> {
        self.verified.get(token, |used| self.are_current(used))
    }

    fn are_current(&self, used: KeysUsed) -> bool {
        let version = self.issuers.get(used.issuer).map(|issuer| match &issuer.keys {
            Keys::Secret(_) => SECRET_VERSION,
            Keys::Public(ring) => ring.keys().1,
        });
        version == Some(used.version)
    }

    /// The issuer that a token names, and its position. Nothing is verified yet: the token must pass with this issuer's
    /// keys, which include the `iss`. A single issuer gets every token.
    fn issuer_of(&self, token: &str) -> Result<(usize, &OpenIssuer), TokenError> {
        if let [issuer] = self.issuers.as_slice() {
            return Ok((0, issuer));
        }
        let IssuerClaim { iss } = insecure_decode_claims(token)?;
        let name = iss.as_ref().and_then(Value::as_str).ok_or(TokenError::OtherIssuer)?;
        let named = |(_, issuer): &(usize, &OpenIssuer)| issuer.name.as_deref() == Some(name);
        self.issuers.iter().enumerate().find(named).ok_or(TokenError::OtherIssuer)
    }
}

impl OpenIssuer {
    fn new(issuer: Issuer, keys: Keys) -> Self {
        let Issuer { expected, subject_prefix, claims, .. } = issuer;
        Self { keys, name: expected.issuer, subject_prefix, foreign_prefixes: Vec::new(), claims }
    }

    fn identity(&self, token: &str, key: &Key) -> Result<Identity, TokenError> {
        let decoded = decode::<Value>(token, &key.decoding, &key.rules)?;
        // RFC 7515, section 4.1.11: critical extensions. None is supported.
        if decoded.header.crit.is_some() {
            return Err(TokenError::Malformed);
        }
        let claims = decoded.claims;
        let sub = claims.get("sub").and_then(Value::as_str).ok_or(TokenError::Malformed)?;
        let expires_at = claims.get("exp").and_then(time).ok_or(TokenError::Malformed)?;
        Ok(Identity {
            subject: self.subject(sub)?,
            role: self.claims.role(&claims),
            profile: self.claims.profile(&claims),
            expires_at,
        })
    }

    fn subject(&self, sub: &str) -> Result<Subject, TokenError> {
        if self.foreign_prefixes.iter().any(|prefix| sub.starts_with(prefix)) {
            return Err(TokenError::ForeignSubject);
        }
        if sub.is_empty() {
            return Err(TokenError::BadSubject);
        }
        format!("{}{sub}", self.subject_prefix).try_into().map_err(|_| TokenError::BadSubject)
    }
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

    async fn opened(issuers: Vec<Issuer>) -> TokenVerifier {
        TokenVerifier::open(&Issuers::new(issuers).unwrap(), Duration::from_secs(3_600)).await.unwrap()
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

    #[tokio::test]
    async fn a_configured_audience_and_issuer_are_required() {
        let expected =
            ExpectedClaims { audience: Some("plaudit".into()), issuer: Some("https://id.example".into()) };
        let verifier = opened(vec![Issuer::new(IssuerKeys::Secret(secret()), expected)]).await;
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

    /// An issuer with its own secret.
    fn issuer(iss: &str, secret: &str, subject_prefix: &str) -> Issuer {
        let expected = ExpectedClaims { issuer: Some(iss.to_owned()), audience: None };
        let keys = IssuerKeys::Secret(secret.parse().unwrap());
        Issuer { subject_prefix: subject_prefix.to_owned(), ..Issuer::new(keys, expected) }
    }

    #[tokio::test]
    async fn the_issuer_of_a_token_verifies_it_and_gives_its_subject_a_prefix() {
        let mut staff = issuer("staff", SECRET, "");
        staff.claims.allows_service = false;
        let other_secret = "another secret of 32 bytes or more";
        let verifier = opened(vec![staff, issuer("customers", other_secret, "c:")]).await;
        let verify = |secret: &str, iss: Value, sub: &str| {
            let claims = json!({ "sub": sub, "exp": in_seconds(60), "iss": iss, "role": "service" });
            let key = EncodingKey::from_secret(secret.as_bytes());
            let token = encode(&Header::new(ALGORITHM), &claims, &key).unwrap();
            verifier.verify_now(&token).map(|identity| (identity.subject.to_string(), identity.role))
        };
        for _ in 0..2 {
            assert_eq!(verify(SECRET, json!("staff"), "ana"), Ok(("ana".to_owned(), Role::User)));
            let customer = Ok(("c:ana".to_owned(), Role::Service));
            assert_eq!(verify(other_secret, json!("customers"), "ana"), customer);
        }
        // Each issuer's keys are for its own tokens only.
        assert_eq!(verify(SECRET, json!("customers"), "ana"), Err(TokenError::BadSignature));
        assert_eq!(verify(other_secret, json!("staff"), "ana"), Err(TokenError::BadSignature));
        for unknown in [json!("guests"), json!(null), json!(7), json!(["staff"]), json!("")] {
            assert_eq!(verify(SECRET, unknown.clone(), "ana"), Err(TokenError::OtherIssuer), "{unknown}");
        }
        assert_eq!(verify(SECRET, json!("staff"), "c:ana"), Err(TokenError::ForeignSubject));
        let with_prefix = |bytes: usize| verify(other_secret, json!("customers"), &"x".repeat(bytes));
        assert!(with_prefix(253).is_ok());
        for bytes in [0, 254] {
            assert_eq!(with_prefix(bytes), Err(TokenError::BadSubject));
        }
    }

    #[tokio::test]
    async fn only_a_single_secret_signs_and_only_roles_that_are_read_again() {
        let (one, other) = (issuer("a", SECRET, "a:"), issuer("b", SECRET, "b:"));
        assert!(Issuers::new(vec![one.clone(), other]).unwrap().signer().is_none());
        let mut mapped = one;
        mapped.claims.allows_service = false;
        let issuers = Issuers::from(mapped);
        let verifier = TokenVerifier::open(&issuers, Duration::from_secs(60)).await.unwrap();
        let sign =
            |role| issuers.signer().unwrap().sign(&"ana".parse().unwrap(), role, Duration::from_secs(60));
        let identity = verifier.verify_now(&sign(Role::Moderator).unwrap()).unwrap();
        assert_eq!((identity.subject.as_str(), identity.role), ("a:ana", Role::Moderator));
        assert!(sign(Role::Service).unwrap_err().to_string().contains("allows_service"));
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
    fn invalid_tokens_and_claims_are_refused() {
        for text in ["", "abc", "a.b.c", "....", "Bearer x"] {
            assert_eq!(verify(text), Err(TokenError::Malformed), "{text}");
        }
        for (name, value, error) in [
            ("exp", json!(u64::MAX), TokenError::Malformed),
            ("nbf", json!("tomorrow"), TokenError::Malformed),
            ("exp", json!("tomorrow"), TokenError::MissingClaim),
            ("sub", json!(7), TokenError::MissingClaim),
            ("sub", json!(null), TokenError::MissingClaim),
        ] {
            let mut claims = json!({ "sub": "ana", "exp": in_seconds(60) });
            claims[name] = value.clone();
            assert_eq!(verify_claims(claims), Err(error), "{name}: {value}");
        }
        for sub in [String::new(), "x".repeat(256), "a\0".to_owned()] {
            let claims = json!({ "sub": sub, "exp": in_seconds(60) });
            assert_eq!(verify_claims(claims), Err(TokenError::BadSubject), "{sub}");
        }
    }
}
