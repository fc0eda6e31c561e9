//! Registered claims of a token (RFC 7519, section 4.1), and the rules that they must satisfy.

use chrono::{DateTime, Utc};
use jsonwebtoken::{Algorithm, Validation};
use serde_json::Value;

/// Algorithm of tokens that are signed with a secret.
pub(super) const ALGORITHM: Algorithm = Algorithm::HS256;

/// Leeway after `exp` and before `nbf`, in seconds, for clock skew between servers.
pub(super) const LEEWAY_S: u64 = 5;

/// Required audience and issuer of a token.
#[derive(Clone, Debug, Default)]
pub struct ExpectedClaims {
    /// Must be in `aud`; with `None`, a token that has an `aud` is refused.
    pub audience: Option<String>,
    /// Must equal `iss`; with `None`, `iss` is not checked.
    pub issuer: Option<String>,
}

impl ExpectedClaims {
    pub(super) fn rules(&self, algorithm: Algorithm) -> Validation {
        let mut rules = Validation::new(algorithm);
        let mut required = vec!["sub", "exp"];
        if let Some(audience) = &self.audience {
            rules.set_audience(&[audience]);
            required.push("aud");
        }
        if let Some(issuer) = &self.issuer {
            rules.set_issuer(&[issuer]);
            required.push("iss");
        }
        rules.set_required_spec_claims(&required);
        rules.leeway = LEEWAY_S;
        rules.validate_nbf = true;
        rules
    }
}

/// Seconds of the Unix epoch. RFC 7519 allows fractions, which are cut off.
pub(super) fn time(seconds: &Value) -> Option<DateTime<Utc>> {
    let whole = seconds.as_u64().or_else(|| seconds.as_f64().map(|seconds| seconds as u64))?;
    DateTime::from_timestamp(whole.try_into().ok()?, 0)
}
