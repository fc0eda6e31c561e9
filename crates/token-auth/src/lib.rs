//! Authentication by signed tokens (JWT), which prove a subject and a role.
//!
//! - `secret`: the signing secret; `keys`: the verification keys
//! - `jwks`: source of public keys; `ring`: keeps them up to date
//! - `signer`, `verifier`: making and checking a token; `verified`: cache of verified tokens
//! - `issuer`: who signs tokens, and what makes several of them safe
//! - `claims`: the registered claims of a token; `profile`: where its role and profile are; `identity`: what a valid
//!   token proves
//! - `error`: reasons for refusing a token
//!
//! An issuer signs tokens with a secret (HS256), or is an identity provider whose public keys Plaudit reads.
//! The algorithm belongs to the key and is never taken from the token.

mod claims;
mod error;
mod identity;
mod issuer;
mod jwks;
mod keys;
mod profile;
mod ring;
#[cfg(test)]
mod samples;
mod secret;
mod signer;
mod verified;
mod verifier;

pub use claims::ExpectedClaims;
pub use error::TokenError;
pub use identity::{BadSubject, Identity, Role, Subject, UnknownRole};
pub use issuer::{Issuer, IssuerKeys, Issuers, IssuersError};
pub use jwks::{BadJwksUrl, JwksLocation, JwksUrl};
pub use keys::KeySetError;
pub use profile::{BadClaimPointer, ClaimPointer, ClaimRules, TokenProfile};
pub use ring::JwksError;
pub use secret::{SecretTooShort, TokenSecret};
pub use signer::{SignError, TokenSigner};
pub use verifier::TokenVerifier;
