//! Services that act for users: the header `Plaudit-Act-As`, and the member of the same name of `connection_init`.

use chrono::{TimeDelta, Utc};
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{
    SOON, Server, Socket, eventually, note, number,
    raw::{Raw, post},
    token_as, user,
};

const LIKE: &str =
    "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed note { viewerHasLiked likeCount } } }";
const SERVICE: &str = "act as: the app";

/// The payload of `connection_init`.
fn init(role: Role, subject: &str, acted_for: impl Into<Value>) -> Value {
    let token = format!("Bearer {}", token_as(role, subject));
    json!({ "type": "connection_init", "payload": { "Authorization": token, "Plaudit-Act-As": acted_for.into() } })
}

#[tokio::test]
async fn what_a_service_does_for_a_user_is_the_users_and_says_who_did_it() {
    let server = Server::start(&["--log", "info,plaudit_graphql=debug"]);
    let stores = server.stores();
    let n = note(stores.new_note().await);
    let app = server.client_as(Role::Service, SERVICE).acting_for("act as: ann");
    let ann = server.client("act as: ann");
    let liked = app.data(LIKE, json!({ "n": n })).await["likeNote"].clone();
    assert_eq!(liked, json!({ "changed": true, "note": { "viewerHasLiked": true, "likeCount": 1 } }));
    assert_eq!(app.data(LIKE, json!({ "n": n })).await["likeNote"]["changed"], false);
    assert_eq!(ann.note(&n).await["viewerHasLiked"], true);
    assert_eq!(ann.unlike(&n).await["changed"], true);
    let id = |of: Value| number(&of["viewer"]["user"]["id"]);
    let viewer = "{ viewer { user { id } } }";
    let (of_ann, acted_for) = (ann.data(viewer, json!({})).await, app.data(viewer, json!({})).await);
    assert_eq!(of_ann, acted_for);

    // The history says who acted.
    let service = id(server.client_as(Role::Service, SERVICE).data(viewer, json!({})).await);
    let by = format!(
        "SELECT count(*) FROM activity WHERE actor_id = {} AND target_id = $1
         AND (is_on AND acted_by = {service} OR NOT is_on AND acted_by IS NULL)",
        id(of_ann)
    );
    eventually("both flips are in the history", SOON, async || {
        (stores.number(&by, number(&json!(n))).await == 2).then_some(())
    })
    .await;
    // So does the log, for each mutation of a request, but not at info: that would be a line for each like.
    let both = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } ... { unlikeNote(input: { noteId: $n }) { changed } } }";
    app.data(both, json!({ "n": n })).await;
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("a service acts for a user")).collect();
    assert_eq!(lines.len(), 3, "{log}");
    assert!(lines.iter().all(|line| line.contains(SERVICE) && line.contains("act as: ann")), "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("DEBUG")), "{lines:?}");
    assert!(lines[0].contains("likeNote") && lines[2].contains("likeNote unlikeNote"), "{lines:?}");
}

#[tokio::test]
async fn only_a_service_may_act_for_a_user() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let clients = [
        server.anonymous(),
        server.client("act as: a user"),
        server.client_as(Role::Moderator, "act as: a moderator"),
    ];
    for client in clients {
        let reply = client.acting_for("act as: bob").send(LIKE, json!({ "n": n })).await;
        assert_eq!(
            (reply.status, &reply.body["errors"][0]["extensions"]["code"]),
            (403, &json!("FORBIDDEN"))
        );
        assert!(reply.body["errors"][0]["message"].as_str().unwrap().contains("role service"), "{reply:?}");
    }
    for (role, subject) in [(Role::User, "act as: a user"), (Role::Moderator, "act as: a moderator")] {
        let mut socket = Socket::connect(&server.url).await;
        socket.send(init(role, subject, "act as: bob")).await;
        let (code, reason) = socket.closed().await;
        assert_eq!(code, 4403);
        assert!(reason.contains("role service"), "{reason}");
    }
    let mut socket = Socket::connect(&server.url).await;
    let without_token = json!({ "type": "connection_init", "payload": { "plaudit-act-as": "act as: bob" } });
    socket.send(without_token).await;
    assert_eq!(socket.close_code().await, 4403);
    assert_eq!(server.client("act as: bob").note(&n).await["likeCount"], 0);
}

#[tokio::test]
async fn bad_subjects_are_refused() {
    let server = Server::shared();
    let token = token_as(Role::Service, SERVICE);
    let ask = |subjects: &[&[u8]]| {
        let mut request =
            post(&server.url, json!({ "query": "{ __typename }" }).to_string()).bearer_auth(&token);
        for subject in subjects {
            request = request.header("plaudit-act-as", *subject);
        }
        request
    };
    let long = "s".repeat(256);
    for bad in [&[&b""[..]][..], &[long.as_bytes()], &[b"\xff\xfe"], &[b"ann", b"ben"]] {
        let reply = Raw::of(ask(bad)).await;
        assert_eq!(reply.status, 400, "{bad:?}");
        let body = reply.json();
        assert_eq!(body["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{body}");
        assert_eq!(body["errors"][0]["extensions"]["argument"], "Plaudit-Act-As", "{body}");
    }
    assert_eq!(Raw::of(ask(&["ünsal".as_bytes()])).await.status, 200);
    for bad in [json!(""), json!(7), json!("a\u{0}b")] {
        let mut socket = Socket::connect(&server.url).await;
        socket.send(init(Role::Service, SERVICE, bad)).await;
        assert_eq!(socket.close_code().await, 4403);
    }
}

#[tokio::test]
async fn a_socket_acts_for_the_user_of_its_init() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let mut socket = Socket::connect(&server.url).await;
    socket.send(init(Role::Service, SERVICE, "act as: cleo")).await;
    assert_eq!(socket.receive().await["type"], "connection_ack");
    let watch = "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { likeCount viewerHasLiked } }";
    socket.subscribe("watch", watch, json!({ "n": [n] })).await;
    let seen = socket.data().await;
    assert_eq!(seen["noteCountsChanged"], json!({ "likeCount": 0, "viewerHasLiked": false }));
    let cleo = server.client("act as: cleo");
    cleo.like(&n).await;
    let seen = socket.data().await;
    assert_eq!(seen["noteCountsChanged"], json!({ "likeCount": 1, "viewerHasLiked": true }));
}

#[tokio::test]
async fn a_service_that_acts_has_the_rights_of_a_user_and_may_give_keys() {
    let server = Server::shared();
    let stores = server.stores();
    let app = server.client_as(Role::Service, SERVICE);
    let acting = app.acting_for("act as: dora");
    let other = user(stores.new_user().await);
    let message = json!({ "senderId": other, "recipientId": other });
    assert_eq!(acting.refused("recordMessage", message).await.0, "FORBIDDEN");
    assert_eq!(acting.refused("hideUser", json!({ "userId": other })).await.0, "FORBIDDEN");
    let key = format!("act-as/{}", std::process::id());
    let input = json!({ "noteId": note(stores.new_note().await), "body": "Words", "key": key });
    let written = acting.act("addComment", input, "comment { key author { id } }").await["comment"].clone();
    assert_eq!(written["key"], *key);
    let viewer = acting.data("{ viewer { user { id } } }", json!({})).await;
    assert_eq!(written["author"]["id"], viewer["viewer"]["user"]["id"]);
}

#[tokio::test]
async fn a_suspended_user_is_suspended_whoever_acts_and_a_hidden_one_does_what_counts_nowhere() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let app = server.client_as(Role::Service, SERVICE);
    let moderator = server.client_as(Role::Moderator, "act as: the moderator");
    let acting = app.acting_for("act as: eve");
    acting.data(LIKE, json!({ "n": n })).await;
    let eve = acting.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    let until = (Utc::now() + TimeDelta::days(1)).to_rfc3339();
    moderator.act("suspendUser", json!({ "userId": eve, "until": until }), "changed").await;
    let unlike = LIKE.replace("likeNote", "unlikeNote");
    assert_eq!(acting.error(&unlike, json!({ "n": n })).await["extensions"]["code"], "SUSPENDED");
    moderator.act("unsuspendUser", json!({ "userId": eve }), "changed").await;
    assert_eq!(acting.data(&unlike, json!({ "n": n })).await["unlikeNote"]["changed"], true);
    moderator.act("hideUser", json!({ "userId": eve }), "changed").await;
    assert_eq!(acting.data(LIKE, json!({ "n": n })).await["likeNote"]["changed"], true);
    eventually("the like of a hidden user does not count", SOON, async || {
        (app.note(&n).await["likeCount"] == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_rates_of_the_user_count_and_not_those_of_the_services_address() {
    let flags = ["--rate-window", "1h", "--rate-user-reads", "5", "--rate-address-reads", "8"];
    let server = Server::start(&flags);
    let app = server.client_as(Role::Service, SERVICE);
    for subject in ["act as: fay", "act as: gil", "act as: hal"] {
        let acting = app.acting_for(subject);
        let mut passed = 0;
        while passed < 20 && acting.send("{ __typename }", json!({})).await.status == 200 {
            passed += 1;
        }
        assert_eq!(passed, 5, "{subject}");
    }
    // What was done for the user counts for the user's own token, too.
    assert_eq!(server.client("act as: fay").send("{ __typename }", json!({})).await.status, 429);
    assert_eq!(server.client("act as: ida").send("{ __typename }", json!({})).await.status, 200);
}
