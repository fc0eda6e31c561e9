//! Tokens of an identity provider, verified with its public keys (JWKS).

use std::time::{Duration, Instant};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Issuer, Key, Server, Socket, token, token_as, upgrade};

fn claims(extra: &Value) -> Value {
    let mut claims = json!({
        "sub": "ann of the provider", "exp": chrono::Utc::now().timestamp() + 60,
        "aud": "plaudit", "iss": "https://id.example",
    });
    for (name, value) in extra.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

/// Status, and the error message or an empty text.
async fn send(server: &Server, token: &str) -> (u16, String) {
    let reply = server.anonymous().with_token(token).send("{ viewer { user { id } } }", json!({})).await;
    (reply.status, reply.body["errors"][0]["message"].as_str().unwrap_or_default().to_owned())
}

fn expecting(issuer: &Issuer) -> Vec<&str> {
    vec!["--jwks-url", &issuer.url, "--jwt-audience", "plaudit", "--jwt-issuer", "https://id.example"]
}

/// Ten tokens that are refused cost a unit; three units are the rate of an address.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_sends_refused_tokens_pays_for_them_until_no_more_is_examined() {
    let flags = ["--rate-window", "1h", "--rate-address-reads", "3", "--trusted-proxies", "127.0.0.0/8"];
    let server = Server::start(&flags);
    let send = async |from: &str, token: &str| {
        let request = reqwest::Client::new().post(format!("{}/graphql", server.url)).bearer_auth(token);
        let request = request.header("X-Forwarded-For", from).json(&json!({ "query": "{ __typename }" }));
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.headers().contains_key("retry-after"))
    };
    let (office, elsewhere) = ("198.51.100.1", "198.51.100.2");
    let service = token_as(Role::Service, "the app");
    assert_eq!(send(office, &service).await, (200, false));
    for _ in 0..30 {
        assert_eq!(send(office, "a.wrong.token").await, (401, false));
    }
    for token in ["a.wrong.token", &token("ann of the office")] {
        assert_eq!(send(office, token).await, (429, true), "{token}");
    }
    // A token that was verified before needs no examination, and services have no limits.
    assert_eq!(send(office, &service).await, (200, false));
    assert_eq!(send(elsewhere, &token("ann of the office")).await, (200, false));
    assert_eq!(server.metric("plaudit_rate_limited_total{class=\"reads\"}").await, 2.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_sockets_are_refused_like_others() {
    let server = Server::start(&["--rate-window", "1h", "--rate-address-reads", "2"]);
    // The upgrades alone are two units.
    for code in [4403, 1013] {
        let mut socket = Socket::connect(&server.url).await;
        let payload = json!({ "Authorization": "Bearer a.wrong.token" });
        socket.send(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(socket.close_code().await, code);
    }
    let upgrade = upgrade(&server.url, Some("graphql-transport-ws"));
    assert_eq!(Socket::try_connect(upgrade).await.err(), Some(429));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_provider_grant_their_claims_and_all_others_are_refused() {
    let issuer = Issuer::start().await;
    issuer.publish(&[Key::Rsa.public("r"), Key::P256.public("e"), Key::Ed25519.public("d")]);
    let server = Server::start_without_secret(&expecting(&issuer));
    let good = claims(&json!({}));
    for (key, kid) in [(Key::Rsa, "r"), (Key::P256, "e"), (Key::Ed25519, "d")] {
        for _ in 0..2 {
            assert_eq!(send(&server, &key.token(kid, &good)).await, (200, String::new()), "{key:?}");
        }
    }
    let moderator = Key::P256.token("e", &claims(&json!({ "role": "moderator" })));
    server.anonymous().with_token(&moderator).data("{ reviewQueue { waitingCount } }", json!({})).await;

    // The public key as the secret of an HMAC.
    let public = Key::Rsa.public("r")["n"].as_str().unwrap().to_owned();
    let header = Header { kid: Some("r".into()), ..Header::new(Algorithm::HS256) };
    let confused = encode(&header, &good, &EncodingKey::from_secret(public.as_bytes())).unwrap();
    let now = chrono::Utc::now().timestamp();
    let with_claims = |extra: Value| Key::Rsa.token("r", &claims(&extra));
    let unsigned = "eyJhbGciOiJub25lIiwia2lkIjoiciJ9.eyJzdWIiOiJhbmEiLCJleHAiOjk5OTk5OTk5OTk5fQ.".to_owned();
    for (token, class) in [
        (Key::RsaOther.token("r", &good), "signature is wrong"),
        (confused, "algorithm is not the one of its key"),
        (Key::Rsa.token("e", &good), "algorithm is not the one of its key"),
        (Key::Rsa.token("x", &good), "key is unknown"),
        (unsigned, "malformed"),
        (with_claims(json!({ "aud": "billing" })), "another service"),
        (with_claims(json!({ "aud": null })), "another service"),
        (with_claims(json!({ "iss": "https://id.example.org" })), "another issuer"),
        (with_claims(json!({ "iss": null })), "another issuer"),
        (with_claims(json!({ "exp": now - 60 })), "expired"),
        (with_claims(json!({ "exp": null })), "lacks a claim"),
        (with_claims(json!({ "nbf": now + 60 })), "not valid yet"),
        (with_claims(json!({ "sub": "x".repeat(256) })), "is no subject"),
        (with_claims(json!({ "text": "x".repeat(8_000) })), "too long"),
    ] {
        let (status, message) = send(&server, &token).await;
        assert!(status == 401 && message.contains(class), "{class}: {status} {message}");
        assert!(!message.contains("ann of") && message.len() < 120, "{message}");
    }

    // A role that is not known gives no rights, and is no reason to refuse.
    for role in [json!("root"), json!(["root", "admin"]), json!(7), json!(null)] {
        let claims = json!({ "sub": "somebody of the provider", "role": role });
        let client = server.anonymous().with_token(&with_claims(claims));
        client.act("createGroup", json!({ "name": "A group" }), "__typename").await;
        let refused = client.error("{ reviewQueue { waitingCount } }", json!({})).await;
        assert_eq!(refused["extensions"]["code"], "FORBIDDEN", "{role}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_user_is_called_by_the_claim_name_and_never_by_the_subject() {
    let issuer = Issuer::start().await;
    issuer.publish(&[Key::Ed25519.public("d")]);
    let server = Server::start_without_secret(&expecting(&issuer));
    let named = async |subject: &str, name: Value| {
        let token = Key::Ed25519.token("d", &claims(&json!({ "sub": subject, "name": name })));
        let client = server.anonymous().with_token(&token);
        client.act("createGroup", json!({ "name": "A group" }), "__typename").await;
        let viewer =
            client.data("{ viewer { user { id name } } }", json!({})).await["viewer"]["user"].clone();
        let (id, name) = (viewer["id"].as_str().unwrap(), viewer["name"].as_str().unwrap());
        (id.replace("user_", "User "), name.to_owned())
    };
    for (subject, claim, shown) in [
        ("mail@of.one", json!("Ann"), Some("Ann".to_owned())),
        ("mail@of.two", json!(" \u{202E}Bob\u{200B} "), Some("Bob".to_owned())),
        ("mail@of.three", json!("é".repeat(300)), Some("é".repeat(40))),
        ("mail@of.four", Value::Null, None),
        ("mail@of.five", json!(""), None),
        ("mail@of.six", json!("\u{3164}"), None),
        ("mail@of.seven", json!("two\nlines"), None),
        ("mail@of.eight", json!({ "given": "Ann" }), None),
    ] {
        let (by_id, name) = named(subject, claim).await;
        assert_eq!(name, shown.unwrap_or(by_id), "{subject}");
        // A later token without `iat` does not rename a user.
        assert_eq!(named(subject, json!("Zoe")).await.1, name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_fetched_at_once_and_many_unknown_ones_do_not_cause_more_fetches() {
    let issuer = Issuer::start().await;
    issuer.publish(&[Key::Rsa.public("old")]);
    let server = Server::start_without_secret(&expecting(&issuer));
    let good = claims(&json!({}));
    assert_eq!(send(&server, &Key::Rsa.token("old", &good)).await.0, 200);
    assert_eq!(issuer.fetches(), 1);

    issuer.publish(&[Key::Rsa.public("old"), Key::Ed25519.public("new")]);
    assert_eq!(send(&server, &Key::Ed25519.token("new", &good)).await.0, 200);
    let start = Instant::now();
    for number in 0..300 {
        let (status, message) = send(&server, &Key::Ed25519.token(&format!("none {number}"), &good)).await;
        assert!(status == 401 && message.contains("the token's key is unknown"), "{status} {message}");
    }
    // At most one fetch every five seconds.
    let most = 2 + start.elapsed().as_secs() as usize / 5 + 1;
    assert!(issuer.fetches() <= most, "{} fetches in {:?}", issuer.fetches(), start.elapsed());

    issuer.go_away();
    assert_eq!(send(&server, &Key::Rsa.token("old", &good)).await.0, 200);
    assert_eq!(send(&server, &Key::Ed25519.token("new", &good)).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_without_usable_keys_fails_and_names_the_settings_to_check() {
    let issuer = Issuer::start().await;
    let refused = async |keys: &[Value]| {
        issuer.publish(keys);
        let mut command = Server::shared().command();
        command.args(["serve", "--listen", "127.0.0.1:0", "--jwks-url", &issuer.url]);
        let place = support::Place::new();
        command.env("PLAUDIT_DATA_DIR", place.data()).env_remove("PLAUDIT_JWT_SECRET");
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let symmetric = json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "s" });
    let encrypting = {
        let mut key = Key::Rsa.public("e");
        key["use"] = json!("enc");
        key
    };
    let start = Instant::now();
    let stderr = refused(&[symmetric, encrypting]).await;
    assert!(
        stderr.contains("jwks_url") && stderr.contains("jwt_secret") && stderr.contains("`use`"),
        "{stderr}"
    );
    assert!(start.elapsed() < Duration::from_secs(30));
}
