//! What a token says.

use jsonwebtoken::Algorithm;
use serde::{Deserialize, Serialize};

use super::identity::Role;

pub(super) const ALGORITHM: Algorithm = Algorithm::HS256;

/// The claims that Plaudit reads; a token may carry others. Times are seconds of the Unix epoch.
///
/// A claim that is absent is empty here: whether it had to be there is decided after reading.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct Claims {
    pub sub: String,
    pub exp: u64,
    /// Written for people who look into a token.
    #[serde(skip_deserializing)]
    pub iat: u64,
    pub role: Role,
}
