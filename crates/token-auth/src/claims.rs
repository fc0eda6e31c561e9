//! Claims of a token, and the rules that they must satisfy.

use jsonwebtoken::{Algorithm, Validation};
use serde::{Deserialize, Deserializer, Serialize};

use super::identity::Role;

/// Algorithm of tokens that are signed with a secret.
pub(super) const ALGORITHM: Algorithm = Algorithm::HS256;

/// Leeway after `exp` and before `nbf`, in seconds, for clock skew between servers.
pub(super) const LEEWAY_S: u64 = 5;

/// The claims that Plaudit reads; a token may carry others. Times are seconds of the Unix epoch.
///
/// An absent claim is empty here; required claims are checked after parsing.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct Claims {
    pub sub: String,
    #[serde(deserialize_with = "whole_seconds")]
    pub exp: u64,
    /// For humans who inspect a token.
    #[serde(skip_deserializing)]
    pub iat: u64,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub aud: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub iss: Option<String>,
    pub role: Role,
    /// OpenID Connect Core, section 5.1. A value that is no string counts as absent: it gives no rights.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "text")]
    pub name: Option<String>,
}

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

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(value.as_str().map(str::to_owned))
}

/// RFC 7519 allows fractions.
fn whole_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Seconds {
        Whole(u64),
        Fraction(f64),
    }
    Ok(match Seconds::deserialize(deserializer)? {
        Seconds::Whole(seconds) => seconds,
        Seconds::Fraction(seconds) => seconds as u64,
    })
}
