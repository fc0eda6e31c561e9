//! Who is asking: signed tokens (JWT), and the identity that a valid one proves.
//!
//! - `secret`: the key that tokens are signed with
//! - `signer`, `verifier`: making and checking a token
//! - `claims`: what a token says; `identity`: what it proves
//! - `error`: why a token is refused
//!
//! Tokens are signed with HS256. A further kind of key (a JWKS file) is one more constructor of
//! [`TokenVerifier`]; the algorithm always belongs to the key and is never taken from the token.

mod claims;
mod error;
mod identity;
mod secret;
mod signer;
mod verifier;

pub use error::TokenError;
pub use identity::{BadSubject, Identity, Role, Subject};
pub use secret::{SecretTooShort, TokenSecret};
pub use signer::{SignError, TokenSigner};
pub use verifier::TokenVerifier;
