//! The setting `issuer`: several issuers of tokens. The tables of the settings file come as a JSON list, too.

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use plaudit_token_auth::{
    ClaimPointer, ClaimRules, ExpectedClaims, Issuer, IssuerKeys, Issuers, IssuersError, JwksLocation, Role,
};
use serde::Deserialize;
use serde_json::Value;

/// Why a list of issuers cannot be used. Names the issuer, counted from 1, and the field; repeats no value,
/// which may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum IssuersValueError {
    #[error("it must be a list of tables [[issuer]] in a file, elsewhere a JSON list of objects")]
    NotAList,
    #[error("issuer {number}: {reason}")]
    Element { number: usize, reason: String },
    #[error(transparent)]
    Together(#[from] IssuersError),
}

/// The fields as they were given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawIssuer {
    iss: Option<Value>,
    aud: Option<Value>,
    secret: Option<Value>,
    jwks_file: Option<Value>,
    jwks_url: Option<Value>,
    subject_prefix: Option<Value>,
    name_claim: Option<Value>,
    avatar_claim: Option<Value>,
    role_claim: Option<Value>,
    roles: Option<Value>,
    allows_service: Option<Value>,
}

/// # Errors
/// The first issuer and field that cannot be used, or what the issuers have in common and must not.
pub(super) fn issuers(text: &str) -> Result<Issuers, IssuersValueError> {
    let Ok(Value::Array(elements)) = serde_json::from_str(text) else {
        return Err(IssuersValueError::NotAList);
    };
    let parse = |(number, element): (usize, Value)| {
        issuer(element).map_err(|reason| IssuersValueError::Element { number, reason })
    };
    Ok(Issuers::new((1..).zip(elements).map(parse).collect::<Result<_, _>>()?)?)
}

fn issuer(element: Value) -> Result<Issuer, String> {
    if !element.is_object() {
        return Err("must be a table or an object".to_owned());
    }
    let raw: RawIssuer = serde_json::from_value(element).map_err(|error| error.to_string())?;
    let keys = keys(&raw)?;
    let expected = ExpectedClaims { audience: text("aud", &raw.aud)?, issuer: text("iss", &raw.iss)? };
    // An empty one may be written out.
    let has_prefix = raw.subject_prefix.as_ref().is_some_and(|prefix| prefix != "");
    let prefix = if has_prefix { text("subject_prefix", &raw.subject_prefix)? } else { None };
    Ok(Issuer { keys, expected, subject_prefix: prefix.unwrap_or_default(), claims: claims(&raw)? })
}

fn keys(raw: &RawIssuer) -> Result<IssuerKeys, String> {
    let secret = parsed("secret", &raw.secret)?.map(IssuerKeys::Secret);
    let file = text("jwks_file", &raw.jwks_file)?.map(|path| JwksLocation::File(path.into()));
    let url = parsed("jwks_url", &raw.jwks_url)?.map(JwksLocation::Url);
    match (secret, file, url) {
        (Some(secret), None, None) => Ok(secret),
        (None, Some(source), None) | (None, None, Some(source)) => Ok(IssuerKeys::Public(source)),
        _ => Err("needs exactly one of `secret`, `jwks_file` and `jwks_url`".to_owned()),
    }
}

fn claims(raw: &RawIssuer) -> Result<ClaimRules, String> {
    let pointer =
        |name, value, default: ClaimPointer| Ok::<_, String>(parsed(name, value)?.unwrap_or(default));
    let ClaimRules { name, avatar, role, .. } = ClaimRules::default();
    let allows_service = match &raw.allows_service {
        None => false,
        Some(Value::Bool(allows)) => *allows,
        Some(_) => return Err("`allows_service` must be true or false".to_owned()),
    };
    Ok(ClaimRules {
        name: pointer("name_claim", &raw.name_claim, name)?,
        avatar: pointer("avatar_claim", &raw.avatar_claim, avatar)?,
        role: pointer("role_claim", &raw.role_claim, role)?,
        roles: raw.roles.as_ref().map(|roles| role_map(roles, allows_service)).transpose()?,
        allows_service,
    })
}

/// The provider's roles and ours.
fn role_map(roles: &Value, allows_service: bool) -> Result<BTreeMap<String, Role>, String> {
    let Value::Object(roles) = roles else {
        return Err(
            "`roles` must be a table from the provider's roles to user, moderator or service".to_owned()
        );
    };
    let mut map = BTreeMap::new();
    for (theirs, ours) in roles {
        let role: Option<Role> = ours.as_str().and_then(|ours| ours.parse().ok());
        match role {
            None => return Err(format!("`roles`: `{theirs}` must become user, moderator or service")),
            Some(Role::Service) if !allows_service => {
                return Err(format!(
                    "`roles`: `{theirs}` becomes service, which needs allows_service = true"
                ));
            }
            Some(role) => map.insert(theirs.clone(), role),
        };
    }
    Ok(map)
}

fn text(name: &str, value: &Option<Value>) -> Result<Option<String>, String> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{name}` must be a text that is not empty")),
    }
}

fn parsed<T: FromStr<Err: Display>>(name: &str, value: &Option<Value>) -> Result<Option<T>, String> {
    let parse = |text: String| text.parse().map_err(|error| format!("`{name}`: {error}"));
    text(name, value)?.map(parse).transpose()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(list: Value) -> String {
        issuers(&list.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn a_list_of_issuers_is_read_with_its_defaults() {
        let list = json!([
            { "iss": "https://id.example/", "jwks_url": "https://id.example/keys", "aud": "plaudit",
              "role_claim": "/realm_access/roles", "roles": { "editor": "moderator" }, "subject_prefix": "" },
            { "iss": "back end", "secret": "s".repeat(32), "subject_prefix": "app:", "allows_service": true },
        ]);
        let read = issuers(&list.to_string()).unwrap();
        assert!(read.signer().is_some());
        assert!(!format!("{read:?}").contains("ssss"), "{read:?}");
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_issuer_and_field_and_no_value_is_repeated() {
        let good = json!({ "iss": "a", "jwks_file": "keys.json" });
        let with = |name: &str, value: Value| {
            let mut bad = json!({ "iss": "b", "secret": "hunter2 ".repeat(4), "subject_prefix": "b:" });
            bad[name] = value;
            json!([good, bad])
        };
        for (list, reason) in [
            (json!({}), "a JSON list of objects"),
            (json!(["hunter2"]), "issuer 1: must be a table"),
            (json!([]), "names no issuer"),
            (with("secret", json!("hunter2")), "issuer 2: `secret`: a secret needs at least 32 bytes"),
            (with("secret", json!(["hunter2"])), "issuer 2: `secret` must be a text"),
            (with("secret", Value::Null), "issuer 2: needs exactly one of `secret`, `jwks_file`"),
            (with("jwks_file", json!("keys.json")), "issuer 2: needs exactly one of"),
            (with("jwks_url", json!("http://hunter2@id.example")), "issuer 2: `jwks_url`: must be an https"),
            (with("audience", json!("x")), "issuer 2: unknown field `audience`, expected one of `iss`"),
            (with("aud", json!("")), "issuer 2: `aud` must be a text"),
            (with("iss", Value::Null), "issuer 2 has no `iss`"),
            (with("iss", json!("a")), "issuers 1 and 2 have one `iss`"),
            (with("subject_prefix", json!("")), "issuers 1 and 2 have no `subject_prefix`"),
            (with("subject_prefix", json!(7)), "issuer 2: `subject_prefix` must be a text"),
            (with("role_claim", json!("roles")), "issuer 2: `role_claim`: must be a JSON Pointer"),
            (with("name_claim", json!("/a~")), "issuer 2: `name_claim`: must be a JSON Pointer"),
            (with("avatar_claim", json!(7)), "issuer 2: `avatar_claim` must be a text"),
            (with("roles", json!(["editor"])), "issuer 2: `roles` must be a table"),
            (with("roles", json!({ "editor": "admin" })), "issuer 2: `roles`: `editor` must become user"),
            (with("roles", json!({ "bot": "service" })), "issuer 2: `roles`: `bot` becomes service"),
            (with("allows_service", json!("yes")), "issuer 2: `allows_service` must be true or false"),
        ] {
            let error = refused(list);
            assert!(error.contains(reason) && !error.contains("hunter2"), "{reason}: {error}");
        }
        for text in ["", "[", "hunter2", "[{\"secret\": hunter2}]"] {
            let error = issuers(text).unwrap_err().to_string();
            assert!(error.contains("a JSON list of objects") && !error.contains("hunter2"), "{error}");
        }
    }
}
