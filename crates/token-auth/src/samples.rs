//! Keys and tokens of an identity provider, for tests.

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, jwk::Jwk};
use serde_json::{Value, json};

pub struct Sample {
    algorithm: Algorithm,
    pem: &'static str,
}

macro_rules! pem {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/keys/", $name, ".pem"))
    };
}

pub const RSA: Sample = Sample { algorithm: Algorithm::RS256, pem: pem!("rsa") };
pub const RSA_OTHER: Sample = Sample { algorithm: Algorithm::RS256, pem: pem!("rsa-other") };
pub const P256: Sample = Sample { algorithm: Algorithm::ES256, pem: pem!("p256") };
pub const ED25519: Sample = Sample { algorithm: Algorithm::EdDSA, pem: pem!("ed25519") };

impl Sample {
    fn key(&self) -> EncodingKey {
        let pem = self.pem.as_bytes();
        match self.algorithm {
            Algorithm::RS256 => EncodingKey::from_rsa_pem(pem).unwrap(),
            Algorithm::ES256 => EncodingKey::from_ec_pem(pem).unwrap(),
            _ => EncodingKey::from_ed_pem(pem).unwrap(),
        }
    }

    /// The public key as a member of a JWKS.
    pub fn public(&self, kid: &str) -> Value {
        let jwk = Jwk::from_encoding_key(&self.key(), self.algorithm).unwrap();
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["kid"] = json!(kid);
        jwk["use"] = json!("sig");
        jwk
    }

    /// A token for "ana", valid for a minute.
    pub fn token(&self, kid: Option<&str>) -> String {
        let claims = json!({ "sub": "ana", "exp": chrono::Utc::now().timestamp() + 60 });
        let header = Header { kid: kid.map(str::to_owned), ..Header::new(self.algorithm) };
        encode(&header, &claims, &self.key()).unwrap()
    }
}
