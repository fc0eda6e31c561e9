//! `private_subjects`: who sees the subject of a user, and who finds a user by the subject.

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, Server, Socket, note, token_as};

const PRIVATE: [&str; 2] = ["--federation", "--private-subjects"];

/// The only error or the data, for what names `subject`. Texts in it have `?` instead of the subject.
async fn answer(client: &Client, query: &str, subject: &str, variables: &Value) -> Value {
    let with_subject = |text: &str| text.replace('?', subject);
    let variables = serde_json::from_str(&with_subject(&variables.to_string())).unwrap();
    let text = client.text(&with_subject(query), variables).await;
    serde_json::from_str(&text.replace(subject, "?")).unwrap()
}

/// Each way to name a user by the subject, apart from subscriptions.
fn ways(note: &str) -> Vec<(&'static str, Value)> {
    let entities = "query ($of: [_Any!]!) { _entities(representations: $of) { ... on User { name } } }";
    vec![
        ("{ userBySubject(subject: \"?\") { name } }", json!({})),
        ("{ user(id: \"user:?\") { name } }", json!({})),
        ("query ($id: ID!) { node(id: $id) { ... on User { name } } }", json!({ "id": "user:?" })),
        ("query ($ids: [ID!]!) { nodes(ids: $ids) { ... on User { name } } }", json!({ "ids": ["user:?"] })),
        (entities, json!({ "of": [{ "__typename": "User", "subject": "?" }] })),
        (entities, json!({ "of": [{ "__typename": "User", "id": "user:?" }] })),
        ("mutation ($u: ID!) { follow(input: { userId: $u }) { changed } }", json!({ "u": "user:?" })),
        ("mutation { unfollow(input: { userId: \"user:?\" }) { changed } }", json!({})),
        (
            "mutation ($i: AddCommentInput!) { addComment(input: $i) { comment { body } } }",
            json!({ "i": { "noteId": note, "body": "Hello", "mentions": ["user:?"] } }),
        ),
        ("query ($u: ID!) { exportUser(userId: $u, first: 1) { nodes { kind } } }", json!({ "u": "user:?" })),
    ]
}

/// The first answer to each way to subscribe.
async fn pushed(server: &Server, token: Option<String>, subject: &str) -> Vec<Value> {
    let mut socket = Socket::open(&server.url, token).await;
    let mut answers = Vec::new();
    for (id, query, variables) in [
        (
            "literal",
            format!("subscription {{ userCountsChanged(userIds: [\"user:{subject}\"]) {{ name }} }}"),
            json!({}),
        ),
        (
            "variable",
            "subscription ($u: [ID!]!) { userCountsChanged(userIds: $u) { name } }".to_owned(),
            json!({ "u": [format!("user:{subject}")] }),
        ),
    ] {
        socket.subscribe(id, &query, variables).await;
        let answer = socket.receive().await.to_string().replace(subject, "?");
        answers.push(serde_json::from_str(&answer).unwrap());
    }
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_not_see_a_subject_gets_the_answer_of_an_unknown_one() {
    let server = Server::start(&PRIVATE);
    let n = note(server.stores().new_note().await);
    let ana = server.client("ana");
    ana.act("updateProfile", json!({ "name": "A name" }), "changed").await;

    let (ben, nobody) = (server.client("ben"), server.anonymous());
    for (query, variables) in ways(&n) {
        for client in [&ben, &nobody] {
            let known = answer(client, query, "ana", &variables).await;
            assert_eq!(known, answer(client, query, "zoe", &variables).await, "{query}");
        }
    }
    for token in [Some(token_as(Role::User, "ben")), None] {
        let known = pushed(&server, token.clone(), "ana").await;
        assert_eq!(known, pushed(&server, token, "zoe").await);
        assert!(known.iter().all(|message| message["type"] == "error"), "{known:?}");
    }

    // Others get the user: the app's servers, also when they act for somebody, moderators, and the user.
    let service = server.client_as(Role::Service, "the app");
    let acting = service.acting_for("ben");
    let moderator = server.client_as(Role::Moderator, "mo");
    for client in [&service, &acting, &moderator, &ana] {
        for (query, variables) in ways(&n).into_iter().take(6) {
            let found = answer(client, query, "ana", &variables).await;
            assert!(found.to_string().contains("A name"), "{query}: {found}");
            assert_ne!(found, answer(client, query, "zoe", &variables).await, "{query}");
        }
    }
    for (query, variables) in &ways(&n)[6..9] {
        let done = answer(&acting, query, "ana", variables).await;
        assert_eq!(done["errors"], Value::Null, "{query}: {done}");
    }
    for token in
        [token_as(Role::Service, "the app"), token_as(Role::Moderator, "mo"), token_as(Role::User, "ana")]
    {
        let found = pushed(&server, Some(token), "ana").await;
        assert!(found.iter().all(|message| message["type"] == "next"), "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_names_users_by_subject_in_references_and_not_for_its_clients() {
    let server = Server::start(&[&PRIVATE[..], &["--trusted-proxies", "127.0.0.0/8"]].concat());
    server.client("ana").act("updateProfile", json!({ "name": "A name" }), "changed").await;
    let n = note(server.stores().new_note().await);
    for client in [server.client("ben"), server.anonymous()] {
        for (query, variables) in ways(&n) {
            let [known, unknown] = [
                answer(&client, query, "ana", &variables).await,
                answer(&client, query, "zoe", &variables).await,
            ];
            if query.contains("_entities") {
                assert_eq!(known["data"]["_entities"][0]["name"], "A name");
            } else {
                assert_eq!(known, unknown, "{query}");
            }
        }
    }
}

#[tokio::test]
async fn private_subjects_are_shown_to_services_moderators_and_the_user_only() {
    for (flags, for_others) in [(&[][..], json!("ana")), (&["--private-subjects"], Value::Null)] {
        let server = Server::start(flags);
        let ana = server.client("ana");
        ana.act("createGroup", json!({ "name": "One" }), "__typename").await;
        let id = ana.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
        let query = "query ($u: ID!) { user(id: $u) { subject } }";
        let others = [server.client("ben"), server.anonymous()];
        for (client, expected) in others.iter().map(|client| (client, &for_others)).chain([
            (&ana, &json!("ana")),
            (&server.client_as(Role::Moderator, "mo"), &json!("ana")),
            (&server.client_as(Role::Service, "the app"), &json!("ana")),
        ]) {
            assert_eq!(
                client.data(query, json!({ "u": id })).await["user"]["subject"],
                *expected,
                "{flags:?}"
            );
        }
        // One execution must not show one viewer what another may see.
        let watched = "subscription ($u: ID!) { userCountsChanged(userIds: [$u]) { subject } }";
        for (role, subject, expected) in
            [(Role::Service, "the app", &json!("ana")), (Role::User, "ben", &for_others)]
        {
            let mut socket = Socket::open(&server.url, Some(token_as(role, subject))).await;
            socket.subscribe("one", watched, json!({ "u": id })).await;
            assert_eq!(socket.data().await["userCountsChanged"]["subject"], *expected, "{subject}");
        }
    }
}
