//! An identity provider: signs tokens, and publishes the public keys that the test chooses.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use axum::{Json, Router, http::StatusCode, response::IntoResponse};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, jwk::Jwk};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A private key in tests/keys.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    Rsa,
    RsaOther,
    P256,
    Ed25519,
}

impl Key {
    const fn algorithm(self) -> Algorithm {
        match self {
            Self::Rsa | Self::RsaOther => Algorithm::RS256,
            Self::P256 => Algorithm::ES256,
            Self::Ed25519 => Algorithm::EdDSA,
        }
    }

    fn private(self) -> EncodingKey {
        match self {
            Self::Rsa => EncodingKey::from_rsa_pem(include_bytes!("../keys/rsa.pem")),
            Self::RsaOther => EncodingKey::from_rsa_pem(include_bytes!("../keys/rsa-other.pem")),
            Self::P256 => EncodingKey::from_ec_pem(include_bytes!("../keys/p256.pem")),
            Self::Ed25519 => EncodingKey::from_ed_pem(include_bytes!("../keys/ed25519.pem")),
        }
        .unwrap()
    }

    /// The public key as a JWK.
    pub fn public(self, kid: &str) -> Value {
        let jwk = Jwk::from_encoding_key(&self.private(), self.algorithm()).unwrap();
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["kid"] = json!(kid);
        jwk
    }

    /// A signed token with these claims.
    pub fn token(self, kid: &str, claims: &Value) -> String {
        let header = Header { kid: Some(kid.to_owned()), ..Header::new(self.algorithm()) };
        encode(&header, claims, &self.private()).unwrap()
    }
}

/// Runs until the test ends.
pub struct Issuer {
    pub url: String,
    keys: Arc<Mutex<Option<Value>>>,
    fetches: Arc<AtomicUsize>,
}

impl Issuer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys.json", listener.local_addr().unwrap());
        let issuer = Self { url, keys: Arc::default(), fetches: Arc::default() };
        let (keys, fetches) = (Arc::clone(&issuer.keys), Arc::clone(&issuer.fetches));
        let handler = async move || {
            fetches.fetch_add(1, Relaxed);
            match keys.lock().clone() {
                Some(keys) => Json(keys).into_response(),
                None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            }
        };
        tokio::spawn(async { axum::serve(listener, Router::new().fallback(handler)).await });
        issuer
    }

    pub fn publish(&self, keys: &[Value]) {
        *self.keys.lock() = Some(json!({ "keys": keys }));
    }

    /// Responds with 503 from now on.
    pub fn go_away(&self) {
        *self.keys.lock() = None;
    }

    /// How often the keys were fetched.
    pub fn fetches(&self) -> usize {
        self.fetches.load(Relaxed)
    }
}
