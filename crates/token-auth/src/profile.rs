//! Role and profile of a token: the claims that they are read from, and what a provider's roles mean here.

use std::{collections::BTreeMap, fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{claims::time, identity::Role};

/// JSON Pointer (RFC 6901) to a claim, such as `/realm_access/roles`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimPointer(String);

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a JSON Pointer: `/` before each name; within a name, `~1` stands for `/` and `~0` for `~`")]
pub struct BadClaimPointer;

/// Where an issuer's tokens have role, name and picture of their user.
#[derive(Clone, Debug)]
pub struct ClaimRules {
    pub name: ClaimPointer,
    pub avatar: ClaimPointer,
    pub role: ClaimPointer,
    /// The provider's roles and what they are here. Any other is a user. `None`: the provider has our names.
    pub roles: Option<BTreeMap<String, Role>>,
    /// Without it no token of the issuer has the role `service`.
    pub allows_service: bool,
}

/// What a token says about its user. Nothing of it is checked: it gives no rights.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TokenProfile {
    pub name: Option<String>,
    pub avatar_url: Option<String>,
    /// The claim `iat`, or the time of the check if that is earlier.
    pub issued_at: Option<DateTime<Utc>>,
}

impl ClaimRules {
    /// The highest role that the claim names; of a user if it names none that is known.
    pub(super) fn role(&self, claims: &Value) -> Role {
        let roles = texts(claims, &self.role).filter_map(|name| self.role_named(name));
        roles.filter(|role| self.allows_service || *role != Role::Service).max().unwrap_or_default()
    }

    fn role_named(&self, name: &str) -> Option<Role> {
        match &self.roles {
            Some(roles) => roles.get(name).copied(),
            None => name.parse().ok(),
        }
    }

    pub(super) fn profile(&self, claims: &Value) -> TokenProfile {
        let first = |pointer| texts(claims, pointer).next().map(str::to_owned);
        TokenProfile {
            name: first(&self.name),
            avatar_url: first(&self.avatar),
            // A time to come would keep the profile of every later token away.
            issued_at: claims.get("iat").and_then(time).map(|issued_at| issued_at.min(Utc::now())),
        }
    }
}

/// OpenID Connect Core, section 5.1, and our own names of roles.
impl Default for ClaimRules {
    fn default() -> Self {
        let claim = |name: &str| ClaimPointer(format!("/{name}"));
        Self {
            name: claim("name"),
            avatar: claim("picture"),
            role: claim("role"),
            roles: None,
            allows_service: false,
        }
    }
}

impl FromStr for ClaimPointer {
    type Err = BadClaimPointer;

    fn from_str(text: &str) -> Result<Self, BadClaimPointer> {
        let escapes_end_well = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        let is_pointer = text.len() > 1 && text.starts_with('/') && escapes_end_well;
        if is_pointer { Ok(Self(text.to_owned())) } else { Err(BadClaimPointer) }
    }
}

impl fmt::Display for ClaimPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The texts of a claim: a string, or the strings in a list.
fn texts<'a>(claims: &'a Value, pointer: &ClaimPointer) -> impl Iterator<Item = &'a str> {
    let values = match claims.pointer(&pointer.0) {
        Some(Value::Array(values)) => values.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    };
    values.iter().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_begins_with_a_slash_and_has_only_the_escapes_of_its_standard() {
        for good in ["/role", "/realm_access/roles", "/https:~1~1app.example~1roles", "/a~0b", "/roles/0"] {
            assert!(good.parse::<ClaimPointer>().is_ok(), "{good}");
        }
        for bad in ["", "/", "role", "https://app.example/roles", "/a~2", "/a~"] {
            assert_eq!(bad.parse::<ClaimPointer>(), Err(BadClaimPointer), "{bad}");
        }
    }

    #[test]
    fn of_several_roles_the_highest_counts_and_an_unknown_one_is_a_user() {
        let own = ClaimRules { allows_service: true, ..ClaimRules::default() };
        for (claim, role) in [
            (json!("moderator"), Role::Moderator),
            (json!(["user", "moderator", "root"]), Role::Moderator),
            (json!(["service", "moderator"]), Role::Service),
            (json!(["root", 7, null]), Role::User),
            (json!([]), Role::User),
            (json!("root"), Role::User),
            (json!("Moderator"), Role::User),
            (json!(null), Role::User),
            (json!(7), Role::User),
            (json!({ "service": null }), Role::User),
        ] {
            assert_eq!(own.role(&json!({ "role": claim })), role, "{claim}");
        }
        assert_eq!(own.role(&json!({})), Role::User);
    }

    #[test]
    fn a_map_replaces_our_names_and_service_needs_to_be_allowed() {
        let roles = [("editor", Role::Moderator), ("back end", Role::Service)];
        let mut rules = ClaimRules {
            role: "/a~1b/roles".parse().unwrap(),
            roles: Some(roles.map(|(name, role)| (name.to_owned(), role)).into()),
            ..ClaimRules::default()
        };
        let role = |rules: &ClaimRules, claim| rules.role(&json!({ "a/b": { "roles": claim } }));
        assert_eq!(role(&rules, json!(["reader", "editor"])), Role::Moderator);
        assert_eq!(role(&rules, json!("moderator")), Role::User);
        assert_eq!(role(&rules, json!(["back end", "editor"])), Role::Moderator);
        assert_eq!(role(&rules, json!("back end")), Role::User);
        rules.allows_service = true;
        assert_eq!(role(&rules, json!(["back end", "editor"])), Role::Service);
        assert_eq!(ClaimRules::default().role(&json!({ "role": "service" })), Role::User);
    }

    #[test]
    fn a_profile_has_the_first_text_of_each_claim_and_no_time_to_come() {
        let rules = ClaimRules { name: "/user/names".parse().unwrap(), ..ClaimRules::default() };
        let claims =
            json!({ "user": { "names": [1, "Ann", "A."] }, "picture": "https://a.example/p", "iat": 7.9 });
        let profile = rules.profile(&claims);
        assert_eq!(profile.name.as_deref(), Some("Ann"));
        assert_eq!(profile.avatar_url.as_deref(), Some("https://a.example/p"));
        assert_eq!(profile.issued_at.unwrap().timestamp(), 7);
        let early = rules.profile(&json!({ "iat": Utc::now().timestamp() + 1_000 }));
        assert!(early.issued_at.unwrap() <= Utc::now());
        for nothing in [json!({}), json!({ "user": "Ann", "picture": { "url": "x" }, "iat": "today" })] {
            assert_eq!(rules.profile(&nothing), TokenProfile::default(), "{nothing}");
        }
    }
}
