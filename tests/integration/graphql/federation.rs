//! Plaudit as a subgraph of Apollo Federation v2: what a gateway asks it.

use std::fs;

use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{
    Client, Place, SOON, Server, Stores, eventually, note,
    raw::{Raw, post},
};

const ENTITIES: &str = "query ($of: [_Any!]!) { _entities(representations: $of) {
    __typename
    ... on Note { id key likeCount viewerHasLiked }
    ... on User { id name }
    ... on Comment { id body }
    ... on Group { id name } } }";

/// A server for gateways.
fn server() -> Server {
    Server::start(&["--federation", "--introspection=false"])
}

async fn new_note(service: &Client, key: &str) -> String {
    let input = json!({ "title": "A post", "body": "Text", "key": key });
    service.act("createNote", input, "note { id }").await["note"]["id"].as_str().unwrap().to_owned()
}

/// Sends representations; returns the entities, and the paths of the errors with their codes.
async fn entities(client: &Client, representations: Value) -> (Value, Vec<(Value, Value)>) {
    let body = client.send(ENTITIES, json!({ "of": representations })).await.body;
    let errors = body["errors"].as_array().cloned().unwrap_or_default();
    let errors = errors.iter().map(|error| (error["path"].clone(), error["extensions"]["code"].clone()));
    (body["data"]["_entities"].clone(), errors.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn entities_are_found_by_id_key_and_subject_and_unknown_ones_are_null() {
    let server = server();
    let (service, reader) = (server.client_as(Role::Service, "the app"), server.client("reader"));
    let id = new_note(&service, "post/1").await;
    let input = json!({ "noteId": id, "body": "By key", "key": "comment/1" });
    let comment = service.act("addComment", input, "comment { id }").await["comment"]["id"].clone();
    let input = json!({ "name": "Readers", "key": "group/1" });
    let group = service.act("createGroup", input, "group { id }").await["group"]["id"].clone();
    eventually("the comment is approved", SOON, async || {
        let asked = json!([{ "__typename": "Comment", "key": "comment/1" }]);
        entities(&reader, asked).await.0[0].is_object().then_some(())
    })
    .await;
    reader.act("likeNote", json!({ "noteId": id }), "changed").await;
    let user = reader.data("{ viewer { user { id name } } }", json!({})).await["viewer"]["user"].clone();

    let note_seen =
        json!({ "__typename": "Note", "id": id, "key": "post/1", "likeCount": 1, "viewerHasLiked": true });
    let comment_seen = json!({ "__typename": "Comment", "id": comment, "body": "By key" });
    let group_seen = json!({ "__typename": "Group", "id": group, "name": "Readers" });
    let user_seen = json!({ "__typename": "User", "id": user["id"], "name": user["name"] });
    let of = |name: &str, field: &str, value: &Value| json!({ "__typename": name, field: value });
    let asked = json!([
        of("Note", "key", &json!("post/1")),
        of("Comment", "key", &json!("comment/1")),
        of("Group", "key", &json!("group/1")),
        of("User", "subject", &json!("reader")),
        of("Note", "key", &json!("post/unknown")),
        of("Note", "id", &json!(id)),
        of("Comment", "id", &comment),
        of("Group", "id", &group),
        of("User", "id", &user["id"]),
        of("User", "subject", &json!("nobody")),
        of("Note", "id", &json!("note_4242")),
        of("Note", "id", &json!("note:post/1")),
        // With several keys, id is the first.
        { "__typename": "Note", "id": null, "key": "post/1" },
        of("Note", "key", &json!("post/1")),
    ]);
    let expected = json!([
        note_seen,
        comment_seen,
        group_seen,
        user_seen,
        null,
        note_seen,
        comment_seen,
        group_seen,
        user_seen,
        null,
        null,
        note_seen,
        note_seen,
        note_seen,
    ]);
    for _ in 0..2 {
        assert_eq!(entities(&reader, asked.clone()).await, (expected.clone(), vec![]));
    }
    // What is removed is null, by its id and by its key.
    service.act("deleteNote", json!({ "noteId": id }), "changed").await;
    let removed = json!([of("Note", "key", &json!("post/1")), of("Note", "id", &json!(id))]);
    assert_eq!(entities(&reader, removed).await, (json!([null, null]), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_representation_that_is_wrong_is_an_error_at_its_place_and_the_others_have_their_values() {
    let server = server();
    let service = server.client_as(Role::Service, "the app");
    let id = new_note(&service, "post/1").await;
    let asked = json!([
        { "__typename": "Note", "key": "post/1" },
        { "__typename": "Post", "id": "1" },
        { "__typename": "Note" },
        { "__typename": "Note", "key": 7 },
        { "__typename": "Note", "id": "note_x" },
        { "__typename": "Note", "id": "user_1" },
        { "__typename": "Note", "id": "user:reader" },
        { "__typename": "Note", "key": "" },
        { "__typename": "Note", "key": "a\u{7}b" },
        { "__typename": "Note", "key": "x".repeat(201) },
        { "__typename": "User", "subject": "" },
        { "__typename": "User", "key": "post/1" },
        { "key": "post/1" },
        { "__typename": 1, "key": "post/1" },
        7,
        "post/1",
        [],
        { "__typename": "Note", "id": id },
    ]);
    let count = asked.as_array().unwrap().len();
    let (found, errors) = entities(&server.anonymous(), asked).await;
    let wrong = 1..count - 1;
    assert_eq!(found[0]["id"], json!(id), "{errors:?}");
    assert_eq!(found[count - 1]["id"], json!(id));
    assert!(wrong.clone().all(|place| found[place].is_null()), "{found}");
    let expected: Vec<_> =
        wrong.map(|place| (json!(["_entities", place]), json!("BAD_USER_INPUT"))).collect();
    assert_eq!(errors, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_fails_is_an_error_of_the_entities_of_its_kind() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &["--federation"]);
    let id = new_note(&server.client_as(Role::Service, "the app"), "post/1").await;
    let named = json!({ "__typename": "Note", "id": id });
    assert_eq!(entities(&server.anonymous(), json!([named])).await.0[0]["id"], json!(id));
    stores.stop_postgres();
    let asked = json!([{ "__typename": "Comment", "key": "comment/1" }, named]);
    let (found, errors) = entities(&server.anonymous(), asked).await;
    assert_eq!((&found[0], &found[1]["id"]), (&Value::Null, &json!(id)));
    assert_eq!(errors, [(json!(["_entities", 0]), json!("RETRY_LATER"))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_at_most_500_representations_and_is_charged_by_them() {
    let server = server();
    let anonymous = server.anonymous();
    let many = |count: usize| -> Value {
        (0..count).map(|n| json!({ "__typename": "Note", "key": format!("post/{n}") })).collect()
    };
    let narrow = "query ($of: [_Any!]!) { _entities(representations: $of) { ... on Note { id } } }";
    let found = anonymous.data(narrow, json!({ "of": many(500) })).await["_entities"].clone();
    assert_eq!(found, Value::from(vec![Value::Null; 500]));
    let error = anonymous.error(narrow, json!({ "of": many(501) })).await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("at most 500") && message.contains("501"), "{error}");
    // 500 objects with 11 fields each are more than the 5,000 fields of an answer.
    let fields: String = (0..11).map(|n| format!("n{n}: likeCount ")).collect();
    let wide = format!(
        "query ($of: [_Any!]!) {{ _entities(representations: $of) {{ ... on Note {{ {fields} }} }} }}"
    );
    let refused = anonymous.error(&wide, json!({ "of": many(500) })).await;
    assert_eq!(refused["extensions"]["reason"], "TOO_COMPLEX", "{refused}");
    assert!(anonymous.send(&wide, json!({ "of": many(100) })).await.body.get("errors").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_introspection_only_gateways_and_services_are_told_the_schema_of_the_subgraph() {
    const ASK: &str = "{ ...S } fragment S on Query { a: _service { sdl } }";
    let schema = support::printed(&["schema", "--subgraph"]);
    let told = |data: Value| assert_eq!(data["a"]["sdl"], schema);
    let server = Server::start(&["--federation", "--introspection=false"]);
    let service = server.client_as(Role::Service, "the app");
    for client in [server.anonymous(), server.client("a reader"), server.client_as(Role::Moderator, "m")] {
        for _ in 0..2 {
            let refused = client.error(ASK, json!({})).await;
            let introspection = client.error("{ __schema { queryType { name } } }", json!({})).await;
            assert_eq!(refused["extensions"]["reason"], "INTROSPECTION_OFF");
            assert_eq!(refused, introspection);
        }
        told(service.data(ASK, json!({})).await);
    }
    told(service.acting_for("a reader").data(ASK, json!({})).await);
    let flags = ["--federation", "--introspection=false", "--trusted-proxies", "127.0.0.0/8"];
    told(Server::start(&flags).anonymous().data(ASK, json!({})).await);
    let open = Server::start(&["--federation", "--introspection=true"]);
    told(open.anonymous().data(ASK, json!({})).await);
}

#[tokio::test]
async fn without_the_setting_there_are_no_entities_and_no_service() {
    let anonymous = Server::shared().anonymous();
    for query in ["{ _service { sdl } }", "{ _entities(representations: []) { __typename } }"] {
        let error = anonymous.error(query, json!({})).await;
        assert_eq!(error["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED", "{error}");
    }
    assert!(!support::printed(&["schema"]).contains("_entities"));
}

/// The limits of the address let one read pass.
const LIMITED: [&str; 8] = [
    "--rate-window",
    "1h",
    "--rate-address-reads",
    "1",
    "--trusted-proxies",
    "127.0.0.0/8",
    "--rate-user-reads",
    "2",
];

async fn code(server: &Server, headers: &[(&str, &str)]) -> String {
    let body = json!({ "query": "{ __typename }" }).to_string();
    let mut request = post(&server.url, body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = Raw::of(request).await.json();
    answer["errors"][0]["extensions"]["code"].as_str().unwrap_or("OK").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_has_no_limits_of_an_address_and_its_users_have_their_own() {
    let gateway = Server::start(&[&LIMITED[..], &["--federation"]].concat());
    let forwarded = [("x-forwarded-for", "192.0.2.1")];
    for _ in 0..5 {
        assert_eq!(code(&gateway, &[]).await, "OK");
    }
    // A client that a proxy names has limits.
    assert_eq!(code(&gateway, &forwarded).await, "OK");
    assert_eq!(code(&gateway, &forwarded).await, "RATE_LIMITED");
    let token = gateway.client("ann").token().unwrap().to_owned();
    let bearer = format!("Bearer {token}");
    let signed_in = [("authorization", bearer.as_str())];
    let codes = [code(&gateway, &signed_in).await, code(&gateway, &signed_in).await];
    assert_eq!(codes, ["OK", "OK"]);
    assert_eq!(code(&gateway, &signed_in).await, "RATE_LIMITED");

    // Without federation, a proxy that names no client is an address like any other.
    let other = Server::start(&LIMITED);
    assert_eq!(code(&other, &[]).await, "OK");
    assert_eq!(code(&other, &[]).await, "RATE_LIMITED");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_socket_of_a_gateway_carries_the_subscriptions_of_many_clients() {
    let flags = [
        "--sockets-per-address",
        "1",
        "--socket-subscriptions",
        "1",
        "--socket-messages",
        "1",
        "--trusted-proxies",
        "127.0.0.0/8",
        "--federation",
    ];
    let server = Server::start(&flags);
    let (one, two) = (note(server.stores().new_note().await), note(server.stores().new_note().await));
    let watch = "subscription ($n: ID!) { noteCountsChanged(noteIds: [$n]) { id likeCount } }";
    for subject in ["ann", "bob"] {
        let mut socket = server.socket(subject).await;
        for n in 0..10 {
            let of = if n % 2 == 0 { &one } else { &two };
            socket.subscribe(&format!("{subject} {n}"), watch, json!({ "n": of })).await;
            assert!(socket.data().await["noteCountsChanged"]["likeCount"].is_number());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_gateways_and_services_pass_where_only_trusted_ones_are_executed() {
    let place = Place::new();
    let manifest = place.path().join("manifest.json");
    fs::write(&manifest, r#"{ "kind": "{ __typename }" }"#).unwrap();
    let trusted = ["--only-trusted-documents", "--trusted-documents", manifest.to_str().unwrap()];
    let proxies = ["--trusted-proxies", "127.0.0.0/8", "--federation"];
    let gateway = Server::start(&[&trusted[..], &proxies].concat());
    let forwarded = [("x-forwarded-for", "192.0.2.1")];
    assert_eq!(code(&gateway, &[]).await, "OK");
    assert_eq!(code(&gateway, &forwarded).await, "BAD_USER_INPUT");
    let plain = Server::start(&trusted);
    assert_eq!(code(&plain, &[]).await, "BAD_USER_INPUT");
    for (role, expected) in
        [(Role::Service, "OK"), (Role::User, "BAD_USER_INPUT"), (Role::Moderator, "BAD_USER_INPUT")]
    {
        let bearer = format!("Bearer {}", plain.client_as(role, "someone").token().unwrap());
        assert_eq!(code(&plain, &[("authorization", bearer.as_str())]).await, expected, "{role:?}");
    }
}
