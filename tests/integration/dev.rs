//! Signing in on a development server, and the storm.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::support::{
    Client, Server, note,
    raw::{Raw, request},
};

async fn get(server: &Server, path: &str) -> Raw {
    Raw::of(request("GET", &format!("{}{path}", server.url))).await
}

/// A client with the token that the server gives for these words.
async fn signed_in(server: &Server, query: &str) -> (Value, Client) {
    let session = get(server, &format!("/dev/token{query}")).await;
    assert_eq!(session.status, 200, "{query}: {}", String::from_utf8_lossy(&session.bytes));
    let session = session.json();
    let client = server.anonymous().with_token(session["token"].as_str().unwrap());
    (session, client)
}

#[tokio::test]
async fn a_token_is_for_whom_it_is_asked_for() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    for (query, user, role) in [
        ("", "mira.okafor", "user"),
        ("?user=ann%20of%20dev%20%C3%A9", "ann of dev é", "user"),
        ("?user=ann%20of%20dev%20%C3%A9&role=user", "ann of dev é", "user"),
        ("?role=moderator", "moderator", "moderator"),
        ("?role=moderator&user=bob%20moderates", "bob moderates", "moderator"),
    ] {
        let (session, client) = signed_in(server, query).await;
        assert_eq!((&session["user"], &session["role"]), (&json!(user), &json!(role)), "{query}");
        assert!(session["noteId"].as_str().unwrap().starts_with("note_"), "{session}");
        let ends: DateTime<Utc> = session["expiresAt"].as_str().unwrap().parse().unwrap();
        assert!((11..=12).contains(&(ends - Utc::now()).num_hours()), "{ends}");
        // The token is good for what it says.
        client.like(&n).await;
        let queue = client.send("{ commentQueue { waitingCount } }", json!({})).await;
        assert_eq!(queue.body.get("errors").is_none(), role == "moderator", "{}", queue.body);
        let viewer = client.data("{ viewer { id } }", json!({})).await["viewer"]["id"].clone();
        let of_subject = "query ($s: String!) { user(subject: $s) { id } }";
        assert_eq!(client.data(of_subject, json!({ "s": user })).await["user"]["id"], viewer);
    }
}

#[tokio::test]
async fn a_bad_user_or_role_is_refused_saying_what_to_mend() {
    let server = Server::shared();
    for (query, said) in [
        ("?user=", "user: a subject has 1 to 255 bytes"),
        (&format!("?user={}", "x".repeat(256)), "this one has 256 bytes"),
        ("?user=a%00b", "no NUL character"),
        ("?role=service", "`user` or `moderator`"),
        ("?role=Moderator", "`user` or `moderator`"),
        ("?subject=ann", "`user` or `role`"),
        ("?user=ann&user=bob", "duplicate field `user`"),
    ] {
        let refused = get(server, &format!("/dev/token{query}")).await;
        assert_eq!(refused.status, 400, "{query}");
        let why = refused.refusal();
        assert!(why.contains(said), "{query}: {why}");
    }
}

#[tokio::test]
async fn there_are_users_to_switch_to_who_have_something_to_show_and_can_act() {
    let server = Server::start(&["--seed-if-empty"]);
    let users = get(&server, "/dev/users").await.json()["users"].as_array().unwrap().clone();
    assert_eq!(users[0], json!({ "subject": "mira.okafor", "role": "user" }));
    assert_eq!(users.last(), Some(&json!({ "subject": "moderator", "role": "moderator" })));
    let subjects: BTreeSet<_> = users.iter().map(|user| user["subject"].as_str().unwrap()).collect();
    assert_eq!((users.len(), subjects.len()), (9, 9), "{users:?}");
    for user in &users {
        let (subject, role) = (user["subject"].as_str().unwrap(), user["role"].as_str().unwrap());
        let (session, client) = signed_in(&server, &format!("?user={subject}&role={role}")).await;
        let payload = client.like(session["noteId"].as_str().unwrap()).await;
        assert_eq!(payload["note"]["viewerHasLiked"], true, "{subject}");
        if role == "user" {
            let query = "{ viewer { noteCount followerCount followingCount inbox { unreadLikeCount unreadReplyCount } } }";
            let viewer = client.data(query, json!({})).await["viewer"].clone();
            let count = |name: &str| viewer.pointer(name).and_then(Value::as_i64).unwrap();
            for name in [
                "/noteCount",
                "/followerCount",
                "/followingCount",
                "/inbox/unreadLikeCount",
                "/inbox/unreadReplyCount",
            ] {
                assert!(count(name) >= 8, "{subject}{name}: {viewer}");
            }
        }
    }
}

#[tokio::test]
async fn without_demo_data_there_are_the_user_to_begin_with_and_a_moderator() {
    let users = get(Server::shared(), "/dev/users").await.json();
    assert_eq!(
        users,
        json!({ "users": [
            { "subject": "mira.okafor", "role": "user" },
            { "subject": "moderator", "role": "moderator" },
        ] })
    );
}

#[tokio::test]
async fn without_tokens_to_give_there_is_nothing_under_dev() {
    let server = Server::start(&["--dev-token", "false"]);
    for path in ["/dev/token", "/dev/users", "/dev/storm"] {
        assert_eq!(get(&server, path).await.status, 404, "{path}");
        let posted = request("POST", &format!("{}{path}", server.url)).json(&json!({}));
        assert_eq!(Raw::of(posted).await.status, 404, "{path}");
    }
}
