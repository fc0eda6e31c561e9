//! Tokens as the usual identity providers make them, with the settings of the guide.

use std::fs;

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use support::{Client, Issuer, Key, Place, Server};

const GUIDE: &str = include_str!("../../../docs/guide/signing-in.md");
/// The secret of the guide's own servers.
const OWN_SECRET: &str = "put here what openssl rand -hex 32 prints";
const SUPABASE_SECRET: &str = "the shared key of an older project of Supabase";

/// A provider, and a user of it.
struct Provider {
    prefix: &'static str,
    signing: Signing,
    /// Without times and roles.
    claims: Value,
    /// Puts roles where the provider puts them.
    with_roles: fn(&mut Value, Value),
    moderator: Value,
    name: &'static str,
    avatar_url: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Signing {
    /// The `kid`, and the address of the keys in the guide.
    Public(Key, &'static str, &'static str),
    Secret(&'static str),
}

fn auth0() -> Provider {
    Provider {
        prefix: "auth0:",
        signing: Signing::Public(Key::Rsa, "N0E2", "https://example.eu.auth0.com/.well-known/jwks.json"),
        claims: json!({
            "iss": "https://example.eu.auth0.com/", "sub": "auth0|507f1f77bcf86cd799439011",
            "aud": ["https://api.example", "https://example.eu.auth0.com/userinfo"],
            "azp": "my_client", "scope": "openid profile email", "https://app.example/name": "Ann Auth",
            "https://app.example/picture": "https://s.gravatar.com/avatar/1?s=480",
        }),
        with_roles: |claims, roles| claims["https://app.example/roles"] = roles,
        moderator: json!(["reader", "editor"]),
        name: "Ann Auth",
        avatar_url: Some("https://s.gravatar.com/avatar/1?s=480"),
    }
}

fn supabase_claims(iss: &str, sub: &str) -> Value {
    json!({
        "iss": iss, "sub": sub, "aud": "authenticated", "role": "authenticated", "aal": "aal1",
        "amr": [{ "method": "oauth", "timestamp": 1_700_000_000 }], "session_id": "9f0c", "email": "sue@app.example",
        "phone": "", "is_anonymous": false, "app_metadata": { "provider": "google", "providers": ["google"] },
        "user_metadata": { "full_name": "Sue Base", "avatar_url": "https://lh3.example/a/s96-c", "role": "service",
            "email_verified": true },
    })
}

fn supabase() -> Provider {
    Provider {
        prefix: "supabase:",
        signing: Signing::Public(
            Key::P256,
            "7c1e",
            "https://example.supabase.co/auth/v1/.well-known/jwks.json",
        ),
        claims: supabase_claims(
            "https://example.supabase.co/auth/v1",
            "5f3b2f4e-7d0c-4c55-9a53-1f0c2f9d1a11",
        ),
        with_roles: |claims, roles| claims["app_metadata"]["role"] = roles,
        moderator: json!("moderator"),
        name: "Sue Base",
        avatar_url: Some("https://lh3.example/a/s96-c"),
    }
}

fn supabase_with_a_shared_key() -> Provider {
    let claims = supabase_claims("https://older.supabase.co/auth/v1", "5f3b2f4e-7d0c-4c55-9a53-1f0c2f9d1a11");
    Provider { prefix: "older:", signing: Signing::Secret(SUPABASE_SECRET), claims, ..supabase() }
}

fn firebase() -> Provider {
    Provider {
        prefix: "firebase:",
        signing: Signing::Public(
            Key::RsaOther,
            "e1a2",
            "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com",
        ),
        claims: json!({
            "iss": "https://securetoken.google.com/example", "aud": "example", "sub": "zX81kPqWvYb2n4mT",
            "user_id": "zX81kPqWvYb2n4mT", "name": "Fay Base", "picture": "https://lh3.example/a/fay",
            "email": "fay@app.example", "email_verified": true,
            "firebase": { "identities": { "google.com": ["1"] }, "sign_in_provider": "google.com" },
        }),
        with_roles: |claims, roles| claims["role"] = roles,
        moderator: json!("moderator"),
        name: "Fay Base",
        avatar_url: Some("https://lh3.example/a/fay"),
    }
}

fn keycloak() -> Provider {
    Provider {
        prefix: "keycloak:",
        signing: Signing::Public(
            Key::Rsa,
            "FJ86",
            "https://sso.example/realms/app/protocol/openid-connect/certs",
        ),
        claims: json!({
            "iss": "https://sso.example/realms/app", "aud": "account", "sub": "f:5c2d:kim", "typ": "Bearer",
            "azp": "web", "sid": "b8c1", "acr": "1", "allowed-origins": ["https://app.example"],
            "resource_access": { "account": { "roles": ["manage-account", "moderators"] } },
            "scope": "openid profile email", "email_verified": true, "name": "Kim Cloak",
            "preferred_username": "kim", "given_name": "Kim", "family_name": "Cloak",
        }),
        with_roles: |claims, roles| claims["realm_access"]["roles"] = roles,
        moderator: json!(["default-roles-app", "offline_access", "moderators"]),
        name: "Kim Cloak",
        avatar_url: None,
    }
}

fn clerk() -> Provider {
    Provider {
        prefix: "clerk:",
        signing: Signing::Public(Key::RsaOther, "ins_2b", "https://clerk.app.example/.well-known/jwks.json"),
        claims: json!({
            "iss": "https://clerk.app.example", "sub": "user_2b8cSkZ1QeYV", "azp": "https://app.example",
            "sid": "sess_2b8c", "sts": "active", "v": 2, "fva": [0, -1], "name": "Cleo Erk",
            "picture": "https://img.clerk.com/abc", "metadata": {},
        }),
        with_roles: |claims, roles| claims["metadata"]["role"] = roles,
        moderator: json!("moderator"),
        name: "Cleo Erk",
        avatar_url: Some("https://img.clerk.com/abc"),
    }
}

impl Provider {
    fn subject(&self) -> String {
        format!("{}{}", self.prefix, self.claims["sub"].as_str().unwrap())
    }

    fn claims(&self, roles: Value) -> Value {
        let mut claims = self.claims.clone();
        let now = chrono::Utc::now().timestamp();
        (claims["iat"], claims["nbf"], claims["exp"]) = (json!(now), json!(now), json!(now + 60));
        (self.with_roles)(&mut claims, roles);
        claims
    }

    fn token(&self, roles: Value) -> String {
        self.signed(&self.claims(roles))
    }

    fn signed(&self, claims: &Value) -> String {
        match self.signing {
            Signing::Public(key, kid, _) => key.token(kid, claims),
            Signing::Secret(secret) => with_secret(secret, claims),
        }
    }
}

fn with_secret(secret: &str, claims: &Value) -> String {
    encode(&Header::new(Algorithm::HS256), claims, &EncodingKey::from_secret(secret.as_bytes())).unwrap()
}

/// The tables of the guide with the addresses of local issuers, which must live as long as the server.
async fn settings(providers: &[Provider]) -> (String, Vec<Issuer>) {
    let block = GUIDE.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let (mut tables, mut issuers) = (block.to_owned(), Vec::new());
    for provider in providers {
        let Signing::Public(key, kid, url) = provider.signing else { continue };
        let issuer = Issuer::start().await;
        // Keycloak publishes a key for encryption, too.
        let mut encrypting = Key::RsaOther.public("enc");
        encrypting["use"] = json!("enc");
        issuer.publish(&[key.public(kid), encrypting]);
        assert!(tables.contains(&format!("jwks_url = \"{url}\"")), "{url} is not in the guide");
        tables = tables.replace(url, &issuer.url);
        issuers.push(issuer);
    }
    tables += &format!(
        "[[issuer]]\niss = \"https://older.supabase.co/auth/v1\"\naud = \"authenticated\"\n\
         secret = \"{SUPABASE_SECRET}\"\nsubject_prefix = \"older:\"\nname_claim = \"/user_metadata/full_name\"\n\
         avatar_claim = \"/user_metadata/avatar_url\"\nrole_claim = \"/app_metadata/role\"\n"
    );
    (tables, issuers)
}

async fn is_moderator(client: &Client) -> bool {
    client.send("{ reviewQueue { waitingCount } }", json!({})).await.body.get("errors").is_none()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_the_usual_providers_work_with_the_settings_of_the_guide() {
    let providers = [auth0(), supabase(), firebase(), keycloak(), clerk(), supabase_with_a_shared_key()];
    let (tables, _issuers) = settings(&providers).await;
    let place = Place::new();
    let file = place.path().join("plaudit.toml");
    fs::write(&file, tables).unwrap();
    let server = Server::start_without_secret(&["--config", file.to_str().unwrap()]);
    let grant = |user: &str| json!({ "userId": user, "amount": 1, "reason": "a test" });

    let now = chrono::Utc::now().timestamp();
    let own = json!({ "iss": "app", "sub": "back-end", "role": "service", "iat": now, "exp": now + 60 });
    let service = server.anonymous().with_token(&with_secret(OWN_SECRET, &own));
    for provider in &providers {
        let with_roles = |roles| server.anonymous().with_token(&provider.token(roles));
        let subject = provider.subject();
        let moderator = with_roles(provider.moderator.clone());
        for _ in 0..2 {
            moderator.act("createGroup", json!({ "name": "A group" }), "__typename").await;
            assert!(is_moderator(&moderator).await, "{subject}");
        }
        let query = "query ($id: ID!) { user(id: $id) { id name avatarUrl } viewer { user { id } } }";
        let data = moderator.data(query, json!({ "id": format!("user:{subject}") })).await;
        assert_eq!(data["user"]["id"], data["viewer"]["user"]["id"], "{subject}");
        assert_eq!(data["user"]["name"], provider.name, "{subject}");
        assert_eq!(data["user"]["avatarUrl"].as_str(), provider.avatar_url, "{subject}");

        // Unknown roles, none, and a service where none is allowed.
        let user = data["user"]["id"].as_str().unwrap();
        for roles in
            [json!("admin"), json!(["owner", "staff"]), json!(null), json!("service"), json!(["service"])]
        {
            let client = with_roles(roles.clone());
            client.act("createGroup", json!({ "name": "A group" }), "__typename").await;
            assert!(!is_moderator(&client).await, "{subject}: {roles}");
            assert_eq!(client.refused("grantCoins", grant(user)).await.0, "FORBIDDEN", "{subject}: {roles}");
        }
        service.act("grantCoins", grant(user), "__typename").await;

        // Another provider's key, or name.
        for other in providers.iter().filter(|other| other.prefix != provider.prefix) {
            let token = other.signed(&provider.claims(json!("moderator")));
            let reply = server.anonymous().with_token(&token).send("{ __typename }", json!({})).await;
            assert_eq!(reply.status, 401, "{} as {}", other.prefix, provider.prefix);
        }
    }
    let mut claims = auth0().claims(json!([]));
    claims["iss"] = json!("https://other.eu.auth0.com/");
    let reply =
        server.anonymous().with_token(&auth0().signed(&claims)).send("{ __typename }", json!({})).await;
    assert!(reply.status == 401 && reply.body["errors"][0]["message"] == "the token is from another issuer");
}

#[test]
fn issuers_that_contradict_each_other_are_refused_at_the_start_without_their_secrets() {
    let refused = |issuers: Value| {
        let mut command = Server::shared().command();
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command.env("PLAUDIT_ISSUER", issuers.to_string()).env_remove("PLAUDIT_JWT_SECRET");
        let output = command.output().unwrap();
        assert!(!output.status.success());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("PLAUDIT_ISSUER") && !text.contains("hunter2"), "{text}");
        text
    };
    let issuer = |iss: &str, prefix: &str| json!({ "iss": iss, "secret": "hunter2 ".repeat(4), "subject_prefix": prefix });
    let both = refused(json!([issuer("a", ""), issuer("b", "")]));
    assert!(
        both.contains("issuers 1 and 2 have no `subject_prefix`") && both.contains("one account"),
        "{both}"
    );
    assert!(refused(json!([issuer("a", "x"), issuer("b", "xy")])).contains("begins with that of issuer 1"));
    let mut service = issuer("a", "");
    service["roles"] = json!({ "bot": "service" });
    assert!(refused(json!([service])).contains("issuer 1: `roles`: `bot` becomes service"));
}
