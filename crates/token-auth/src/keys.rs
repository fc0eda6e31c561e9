//! Verification keys (JWKS), and the selection of a token's key.
//!
//! A key's algorithm belongs to the key: the algorithm in a token's header must match it and selects nothing.

use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, Header, Validation};
use serde::Deserialize;

use super::{
    claims::{ALGORITHM, ExpectedClaims},
    error::TokenError,
    secret::TokenSecret,
};

/// Limit of keys in a set.
const MAX_KEYS: usize = 100;
/// Bits of an RSA modulus: RFC 7518, section 3.3; more takes too long to verify.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=4096;
/// Bytes of an Ed25519 key.
const ED25519_BYTES: usize = 32;

/// A key with the validation rules of its tokens.
pub(super) struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    pub decoding: DecodingKey,
    pub rules: Validation,
}

/// The usable keys of a JWKS (RFC 7517).
pub(super) struct KeySet {
    keys: Vec<Key>,
    /// Why the other keys are ignored; for the log.
    pub ignored: Vec<String>,
}

/// A JWKS without usable keys.
#[derive(Debug, thiserror::Error)]
pub enum KeySetError {
    #[error("it is not a JSON object with a list `keys`")]
    NotASet,
    #[error("it has {0} keys; at most {max} are allowed", max = MAX_KEYS)]
    TooMany(usize),
    #[error("none of its keys can be used (RS256, ES256 and EdDSA can); {}", .0.join("; "))]
    NoneUsable(Vec<String>),
}

impl Key {
    pub fn of_secret(secret: &TokenSecret, expected: &ExpectedClaims) -> Self {
        let decoding = DecodingKey::from_secret(secret.as_bytes());
        Self { id: None, algorithm: ALGORITHM, decoding, rules: expected.rules(ALGORITHM) }
    }
}

impl KeySet {
    /// Parses a JWKS. Unusable keys are ignored.
    pub fn parse(json: &[u8], expected: &ExpectedClaims) -> Result<Self, KeySetError> {
        let RawSet { keys: raw } = serde_json::from_slice(json).map_err(|_| KeySetError::NotASet)?;
        if raw.len() > MAX_KEYS {
            return Err(KeySetError::TooMany(raw.len()));
        }
        let (mut keys, mut ignored) = (Vec::new(), Vec::new());
        for (number, raw) in raw.into_iter().enumerate() {
            match parse_key(raw, expected) {
                Ok(key) => keys.push(key),
                Err(why) => ignored.push(format!("key {} is ignored: {why}", number + 1)),
            }
        }
        if keys.is_empty() { Err(KeySetError::NoneUsable(ignored)) } else { Ok(Self { keys, ignored }) }
    }

    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// The key of a token: the one with its `kid`; without a `kid`, the only key with its algorithm.
    pub fn key_of(&self, header: &Header) -> Result<&Key, TokenError> {
        let named = |key: &&Key| header.kid.is_none() || key.id == header.kid;
        let mut matching = self.keys.iter().filter(named).filter(|key| key.algorithm == header.alg);
        match (matching.next(), matching.next()) {
            (Some(key), None) => Ok(key),
            (None, _) if header.kid.is_some() && self.keys.iter().any(|key| named(&key)) => {
                Err(TokenError::UnsupportedAlgorithm)
            }
            _ => Err(TokenError::UnknownKey),
        }
    }
}

#[derive(Deserialize)]
struct RawSet {
    keys: Vec<serde_json::Value>,
}

/// The used members of a key; others are ignored.
#[derive(Deserialize)]
struct RawKey {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

fn parse_key(raw: serde_json::Value, expected: &ExpectedClaims) -> Result<Key, String> {
    let raw: RawKey = serde_json::from_value(raw).map_err(|_| "it is not a JWK".to_owned())?;
    if raw.purpose.as_ref().is_some_and(|purpose| purpose != "sig") {
        return Err("it is not for signatures (`use`)".into());
    }
    if raw.key_ops.as_ref().is_some_and(|ops| !ops.iter().any(|op| op == "verify")) {
        return Err("it is not for verifying (`key_ops`)".into());
    }
    let algorithm = algorithm(&raw)?;
    let decoding = decoding(&raw, algorithm).ok_or("its parameters do not form a valid key")?;
    Ok(Key { id: raw.kid, algorithm, decoding, rules: expected.rules(algorithm) })
}

/// Determined by the key's type and curve; its `alg`, if present, must match.
fn algorithm(raw: &RawKey) -> Result<Algorithm, String> {
    let (algorithm, name) = match (raw.kty.as_str(), raw.crv.as_deref()) {
        ("RSA", _) => (Algorithm::RS256, "RS256"),
        ("EC", Some("P-256")) => (Algorithm::ES256, "ES256"),
        ("OKP", Some("Ed25519")) => (Algorithm::EdDSA, "EdDSA"),
        ("oct", _) => {
            return Err("it is a secret, which must not be in a list of public keys; set jwt_secret, or `secret` of its \
                 issuer"
                .into());
        }
        _ => return Err("its type or curve is not supported".into()),
    };
    match raw.alg.as_deref() {
        Some(declared) if declared != name => Err(format!("its algorithm is not {name}")),
        _ => Ok(algorithm),
    }
}

/// `None` if the parameters are invalid or the key is weak, so verification may rely on its size.
fn decoding(raw: &RawKey, algorithm: Algorithm) -> Option<DecodingKey> {
    let key = match algorithm {
        Algorithm::RS256 => DecodingKey::from_rsa_components(raw.n.as_deref()?, raw.e.as_deref()?),
        Algorithm::ES256 => DecodingKey::from_ec_components(raw.x.as_deref()?, raw.y.as_deref()?),
        _ => DecodingKey::from_ed_components(raw.x.as_deref()?),
    };
    let key = key.ok()?;
    let has_good_size = match key.kind() {
        DecodingKeyKind::RsaModulusExponent { n, .. } => RSA_BITS.contains(&bits(n)),
        DecodingKeyKind::SecretOrDer(point) if algorithm == Algorithm::EdDSA => point.len() == ED25519_BYTES,
        DecodingKeyKind::SecretOrDer(_) => true,
    };
    // A point that is not on the curve is detected when the key is used.
    let is_key = || jsonwebtoken::crypto::verify(&"A".repeat(86), b"", &key, algorithm).is_ok();
    (has_good_size && (algorithm == Algorithm::RS256 || is_key())).then_some(key)
}

fn bits(number: &[u8]) -> usize {
    let first = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    let leading = number.get(first).map_or(0, |byte| byte.leading_zeros() as usize);
    (number.len() - first) * 8 - leading
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::samples::{ED25519, P256, RSA, RSA_OTHER};

    fn parse(keys: Value) -> Result<KeySet, KeySetError> {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes(), &ExpectedClaims::default())
    }

    fn header(algorithm: Algorithm, kid: Option<&str>) -> Header {
        Header { kid: kid.map(str::to_owned), ..Header::new(algorithm) }
    }

    /// Why the only key is ignored.
    fn ignored(key: Value) -> String {
        match parse(json!([key])) {
            Err(KeySetError::NoneUsable(why)) => why.join("; "),
            _ => panic!("it is used"),
        }
    }

    fn with(mut key: Value, name: &str, value: Value) -> Value {
        key[name] = value;
        key
    }

    #[test]
    fn a_token_gets_the_key_of_its_kid_if_the_algorithms_match() {
        let set = parse(json!([RSA.public("a"), P256.public("b"), ED25519.public("c")])).unwrap();
        for (kid, algorithm) in [("a", Algorithm::RS256), ("b", Algorithm::ES256), ("c", Algorithm::EdDSA)] {
            let key = set.key_of(&header(algorithm, Some(kid))).unwrap_or_else(|_| panic!("{kid}"));
            assert_eq!(key.algorithm, algorithm);
        }
        let refused = |algorithm, kid| set.key_of(&header(algorithm, kid)).err();
        assert_eq!(refused(Algorithm::ES256, Some("a")), Some(TokenError::UnsupportedAlgorithm));
        // Algorithm confusion: a public key used as an HMAC secret.
        assert_eq!(refused(Algorithm::HS256, Some("a")), Some(TokenError::UnsupportedAlgorithm));
        assert_eq!(refused(Algorithm::RS256, Some("d")), Some(TokenError::UnknownKey));
    }

    #[test]
    fn without_a_kid_exactly_one_key_must_have_the_algorithm() {
        let two = parse(json!([RSA.public("a"), RSA_OTHER.public("b"), P256.public("c")])).unwrap();
        assert_eq!(two.key_of(&header(Algorithm::RS256, None)).err(), Some(TokenError::UnknownKey));
        assert!(two.key_of(&header(Algorithm::ES256, None)).is_ok());
        assert_eq!(two.key_of(&header(Algorithm::HS256, None)).err(), Some(TokenError::UnknownKey));
    }

    #[test]
    fn unusable_keys_are_ignored_with_a_reason() {
        for (key, why) in [
            (with(RSA.public("a"), "use", json!("enc")), "`use`"),
            (with(RSA.public("a"), "key_ops", json!(["encrypt"])), "`key_ops`"),
            (with(RSA.public("a"), "alg", json!("PS256")), "is not RS256"),
            (with(RSA.public("a"), "alg", json!("none")), "is not RS256"),
            (with(RSA.public("a"), "n", json!("AQAB")), "do not form a valid key"),
            (with(P256.public("a"), "crv", json!("P-384")), "not supported"),
            (with(P256.public("a"), "y", P256.public("a")["x"].clone()), "do not form a valid key"),
            (with(ED25519.public("a"), "x", json!("AQAB")), "do not form a valid key"),
            (json!({ "kty": "oct", "k": "c2VjcmV0" }), "set jwt_secret"),
            (json!({ "kty": "AKP" }), "not supported"),
            (json!("key"), "not a JWK"),
        ] {
            let reason = ignored(key.clone());
            assert!(reason.contains(why), "{key}: {reason}");
            let set = parse(json!([key, P256.public("good")])).unwrap();
            assert_eq!((set.len(), set.ignored.len()), (1, 1));
        }
    }

    #[test]
    fn a_set_that_is_not_a_list_or_has_more_than_100_keys_is_refused() {
        for text in ["", "[]", "{}", "{\"keys\":1}"] {
            let result = KeySet::parse(text.as_bytes(), &ExpectedClaims::default());
            assert!(matches!(result, Err(KeySetError::NotASet)), "{text}");
        }
        let many: Vec<Value> = (0..=MAX_KEYS).map(|number| P256.public(&number.to_string())).collect();
        assert!(matches!(parse(json!(many[1..])), Ok(set) if set.len() == MAX_KEYS));
        assert!(matches!(parse(json!(many)), Err(KeySetError::TooMany(101))));
    }
}
