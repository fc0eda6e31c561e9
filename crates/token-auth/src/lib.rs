//! Who is asking: signed tokens (JWT), and the identity that a valid one proves.
//!
//! - `secret`: the secret that tokens are signed with; `keys`: what they are verified with
//! - `jwks`: where public keys come from; `ring`: keeps them up to date
//! - `signer`, `verifier`: making and checking a token; `verified`: those that were checked already
//! - `claims`: what a token says; `identity`: what it proves
//! - `error`: why a token is refused
//!
//! Tokens are signed with one secret (HS256), or elsewhere, with private keys of which Plaudit reads the
//! public ones. The algorithm always belongs to the key and is never taken from the token.

mod claims;
mod error;
mod identity;
mod jwks;
mod keys;
mod ring;
#[cfg(test)]
mod samples;
mod secret;
mod signer;
mod verified;
mod verifier;

pub use claims::Expected;
pub use error::TokenError;
pub use identity::{BadSubject, Identity, Role, Subject};
pub use jwks::{BadJwksUrl, JwksSource, JwksUrl};
pub use keys::KeySetError;
pub use ring::JwksError;
pub use secret::{SecretTooShort, TokenSecret};
pub use signer::{SignError, TokenSigner};
pub use verifier::TokenVerifier;
