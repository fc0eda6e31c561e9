//! The protocol `graphql-transport-ws`, message by message.

use std::time::Duration;

use plaudit_embedded_stores::AppendFsync;
use serde_json::{Value, json};
use support::{SOON, Server, Socket, Stores, eventually, note, token, token_for, upgrade};
use tokio_tungstenite::tungstenite::Message;

const WATCH: &str = "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { id likeCount } }";

async fn new_note(server: &Server) -> String {
    note(server.stores().new_note().await)
}

#[tokio::test]
async fn queries_and_mutations_have_one_result_and_complete() {
    let server = Server::shared();
    let n = new_note(server).await;
    let mut socket = server.socket("ann").await;
    let like = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed note { likeCount } } }";
    for changed in [true, false] {
        socket.subscribe("same", like, json!({ "n": n })).await;
        let result = json!({ "likeNote": { "changed": changed, "note": { "likeCount": 1 } } });
        let message = socket.receive().await;
        assert_eq!((&message["type"], &message["id"]), (&json!("next"), &json!("same")));
        assert_eq!(message["payload"]["data"], result);
        let durability = message["payload"]["extensions"]["durability"].as_str();
        assert!(durability.is_some_and(|word| ["MEMORY", "DATABASE"].contains(&word)), "{message}");
        assert_eq!(socket.receive().await, json!({ "type": "complete", "id": "same" }));
    }
    socket.subscribe("q", "{ viewer { user { id } } }", json!({})).await;
    assert!(socket.data().await["viewer"]["user"]["id"].is_string());
    assert_eq!(socket.receive().await["type"], "complete");
}

#[tokio::test]
async fn a_rejected_operation_gets_one_error_message() {
    let server = Server::shared();
    let mut socket = server.socket("bea errs").await;
    for (query, variables, code) in [
        ("{ nonsense }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
        ("{", json!({}), "GRAPHQL_PARSE_FAILED"),
        (WATCH, json!({ "n": [] }), "BAD_USER_INPUT"),
        (WATCH, json!({ "n": ["note_9000000000"] }), "NOT_FOUND"),
    ] {
        socket.subscribe("x", query, variables).await;
        let message = socket.receive().await;
        assert_eq!((&message["type"], &message["id"]), (&json!("error"), &json!("x")), "{message}");
        assert_eq!(message["payload"][0]["extensions"]["code"], code, "{message}");
        // The next message is the result of this, so nothing followed the error; and the id is free.
        socket.subscribe("x", "{ __typename }", json!({})).await;
        assert_eq!(socket.data().await["__typename"], "Query");
        assert_eq!(socket.receive().await["type"], "complete");
    }
}

#[tokio::test]
async fn a_field_error_is_part_of_a_result() {
    let mut socket = Socket::open(&Server::shared().url, None).await;
    socket.subscribe("x", "{ note(id: \"user_1\") { id } __typename }", json!({})).await;
    let message = socket.receive().await;
    assert_eq!(message["type"], "next");
    assert_eq!(message["payload"]["data"], json!({ "note": null, "__typename": "Query" }));
    assert_eq!(message["payload"]["errors"][0]["path"], json!(["note"]));
    assert_eq!(socket.receive().await["type"], "complete");
}

#[tokio::test]
async fn pings_are_answered_with_their_payload_also_before_the_connection_is_initialised() {
    let mut socket = Socket::connect(&Server::shared().url).await;
    socket.send(json!({ "type": "ping", "payload": { "at": 7 } })).await;
    assert_eq!(socket.receive().await, json!({ "type": "pong", "payload": { "at": 7 } }));
    socket.send(json!({ "type": "pong" })).await;
    socket.initialise(None).await;
    socket.send_frame(Message::binary(json!({ "type": "ping" }).to_string().into_bytes())).await;
    assert_eq!(socket.receive().await, json!({ "type": "pong" }));
}

#[tokio::test]
async fn the_server_pings_and_clients_that_respond_stay_connected() {
    let server = Server::start(&["--socket-ping", "1s", "--client-timeout", "1m"]);
    let mut alive = Socket::connect(&server.url).await;
    let dead = Socket::connect(&server.url).await;
    for _ in 0..3 {
        assert!(matches!(alive.frame().await, Message::Ping(_)));
    }
    // The other client has not read a single ping.
    eventually("only the client that responds is connected", SOON, || async {
        (server.metric("plaudit_sockets{transport=\"websocket\"}").await == 1.0).then_some(())
    })
    .await;
    assert_eq!(server.metric("plaudit_socket_closes_total{code=\"1006\"}").await, 1.0);
    alive.initialise(None).await;
    drop(dead);
}

#[tokio::test]
async fn a_connection_that_is_not_initialised_in_time_is_closed() {
    let server = Server::start(&["--client-timeout", "1s"]);
    let mut late = Socket::connect(&server.url).await;
    let mut in_time = Socket::open(&server.url, None).await;
    assert_eq!(late.closed().await, (4408, "Connection initialisation timeout".into()));
    in_time.subscribe("x", "{ __typename }", json!({})).await;
    assert_eq!(in_time.data().await["__typename"], "Query");
    assert_eq!(server.metric("plaudit_socket_closes_total{code=\"4408\"}").await, 1.0);
}

#[tokio::test]
async fn nothing_is_executed_before_the_connection_is_acknowledged() {
    let mut socket = Socket::connect(&Server::shared().url).await;
    socket.subscribe("x", "{ __typename }", json!({})).await;
    assert_eq!(socket.closed().await, (4401, "Unauthorized".into()));
}

#[tokio::test]
async fn a_second_init_closes_the_connection() {
    let mut socket = Socket::open(&Server::shared().url, None).await;
    socket.send(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.closed().await, (4429, "Too many initialisation requests".into()));
}

#[tokio::test]
async fn an_id_in_use_closes_the_connection_and_a_completed_one_can_be_reused() {
    let server = Server::shared();
    let n = new_note(server).await;
    let mut socket = server.socket("cid repeats").await;
    for _ in 0..3 {
        socket.subscribe("7", WATCH, json!({ "n": [n] })).await;
        assert_eq!(socket.data().await["noteCountsChanged"]["id"], json!(n));
        socket.send(json!({ "type": "complete", "id": "7" })).await;
    }
    socket.send(json!({ "type": "complete", "id": "never started" })).await;
    for _ in 0..2 {
        socket.subscribe("7", WATCH, json!({ "n": [n] })).await;
    }
    assert_eq!(socket.closed().await, (4409, "Subscriber for 7 already exists".into()));
}

#[tokio::test]
async fn an_invalid_message_closes_the_connection_with_the_reason() {
    let subscribe =
        |payload: Value| json!({ "type": "subscribe", "id": "x", "payload": payload }).to_string();
    for (text, reason) in [
        ("nonsense".to_owned(), "the message is not JSON: expected ident at line 1 column 2"),
        (r#"{"type":"start"}"#.to_owned(), "there is no message of type \"start\""),
        (r#"{"type":"subscribe","payload":{"query":"{ a }"}}"#.to_owned(), "the message has no id"),
    ] {
        let mut socket = Socket::open(&Server::shared().url, None).await;
        socket.send_frame(Message::text(text)).await;
        assert_eq!(socket.closed().await, (4400, reason.to_owned()));
    }
    for (payload, parameter) in [
        (json!({}), "query"),
        (json!({ "query": 7 }), "query"),
        (json!({ "query": "", "variables": [] }), "variables"),
        (json!({ "query": "", "extensions": 1 }), "extensions"),
        (json!({ "query": "", "operationName": {} }), "operationName"),
    ] {
        let mut socket = Socket::open(&Server::shared().url, None).await;
        socket.send_frame(Message::text(subscribe(payload))).await;
        let (code, reason) = socket.closed().await;
        assert_eq!(code, 4400);
        assert!(reason.starts_with(&format!("payload: {parameter} ")), "{reason}");
    }
    let mut socket = Socket::open(&Server::shared().url, None).await;
    socket.send_frame(Message::binary(vec![0xff])).await;
    assert_eq!(socket.closed().await, (4400, "a binary message must be UTF-8 text".into()));
    let mut socket = Socket::open(&Server::shared().url, None).await;
    socket.send(json!({ "type": "é".repeat(100) })).await;
    let (code, reason) = socket.closed().await;
    assert!(code == 4400 && reason.len() <= 123, "{reason}");
}

#[tokio::test]
async fn a_refused_token_closes_the_connection_with_the_reason() {
    let server = Server::shared();
    for (value, reason) in [
        (json!("Bearer nonsense"), "Forbidden: the token is malformed"),
        (json!("nonsense"), "Forbidden: Authorization must be: Bearer <token>"),
        (json!(7), "Forbidden: Authorization must be: Bearer <token>"),
    ] {
        for name in ["Authorization", "authorization"] {
            let mut socket = Socket::connect(&server.url).await;
            socket.send(json!({ "type": "connection_init", "payload": { name: value } })).await;
            assert_eq!(socket.closed().await, (4403, reason.to_owned()));
        }
    }
    let mut request = upgrade(&server.url, Some("graphql-transport-ws"));
    request.headers_mut().insert("authorization", "Bearer nonsense".parse().unwrap());
    assert_eq!(Socket::try_connect(request).await.err(), Some(401));
}

#[tokio::test]
async fn the_token_of_the_upgrade_is_used_unless_the_init_message_has_one() {
    let server = Server::shared();
    for (payload, subject) in
        [(json!({}), "dot"), (json!({ "authorization": format!("Bearer {}", token("eve")) }), "eve")]
    {
        let mut request = upgrade(&server.url, Some("graphql-transport-ws"));
        let header = format!("Bearer {}", token("dot"));
        request.headers_mut().insert("authorization", header.parse().unwrap());
        let mut socket = Socket::try_connect(request).await.unwrap();
        socket.send(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(socket.receive().await["type"], "connection_ack");
        let act = "mutation { createGroup(input: { name: \"A group\" }) { __typename } }";
        socket.subscribe("i", act, json!({})).await; // creates the user of the token
        socket.data().await;
        assert_eq!(socket.receive().await["type"], "complete");
        let viewer = "query ($s: String!) { viewer { user { id } } userBySubject(subject: $s) { id } }";
        socket.subscribe("x", viewer, json!({ "s": subject })).await;
        let result = socket.data().await;
        assert!(
            result["viewer"]["user"].is_object() && result["viewer"]["user"] == result["userBySubject"],
            "{result}"
        );
    }
}

#[tokio::test]
async fn a_token_that_expires_ends_its_connection_and_a_new_token_reconnects() {
    let server = Server::shared();
    let n = new_note(server).await;
    for _ in 0..2 {
        let life = Duration::from_secs(2);
        let mut socket = Socket::open(&server.url, Some(token_for("fay returns", life))).await;
        socket.subscribe("x", WATCH, json!({ "n": [n] })).await;
        assert_eq!(socket.data().await["noteCountsChanged"]["id"], json!(n));
        assert_eq!(socket.closed().await, (4403, "Forbidden: the token has expired; get a new one".into()));
    }
}

#[tokio::test]
async fn a_request_that_is_no_upgrade_is_refused_with_400() {
    let url = format!("{}/graphql/ws", Server::shared().url);
    let response = reqwest::get(&url).await.unwrap();
    assert_eq!(response.status(), 400);
    let text = response.text().await.unwrap();
    assert!(text.to_lowercase().contains("upgrade"), "{text}");
}

#[tokio::test]
async fn a_socket_without_the_subprotocol_is_closed() {
    let mut socket = Socket::try_connect(upgrade(&Server::shared().url, None)).await.unwrap();
    assert_eq!(socket.closed().await, (4406, "Subprotocol not acceptable".into()));
}

#[tokio::test]
async fn complete_ends_the_operation_and_the_connection_stays_open() {
    let server = Server::start(&[]);
    let n = new_note(&server).await;
    let mut socket = server.socket("gus completes").await;
    let running = || async { server.metric("plaudit_subscriptions").await };
    for id in ["a", "b"] {
        socket.subscribe(id, WATCH, json!({ "n": [n] })).await;
        socket.data().await;
    }
    assert_eq!(running().await, 2.0);
    for (id, remaining) in [("a", 1.0), ("b", 0.0)] {
        socket.send(json!({ "type": "complete", "id": id })).await;
        eventually("the operation ends", SOON, || async { (running().await == remaining).then_some(()) })
            .await;
    }
    server.client("hal likes").like(&n).await;
    // No message of the two operations precedes the pong.
    socket.send(json!({ "type": "ping" })).await;
    assert_eq!(socket.receive().await["type"], "pong");
    drop(socket);
    eventually("the socket is not counted any more", SOON, || async {
        (server.metric("plaudit_sockets{transport=\"websocket\"}").await == 0.0).then_some(())
    })
    .await;
}

/// Clients treat an error as final, and after a restart of a server all of them subscribe at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_waits_for_a_store_that_is_briefly_unavailable() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let n = note(stores.new_note().await);
    let mut socket = server.socket("jan is early").await;
    stores.stop_postgres();
    socket.subscribe("x", WATCH, json!({ "n": [n] })).await;
    socket.send(json!({ "type": "ping" })).await;
    assert_eq!(socket.receive().await["type"], "pong", "other messages of the connection do not wait");
    stores.start_postgres();
    assert_eq!(socket.data().await["noteCountsChanged"], json!({ "id": n, "likeCount": 0 }));
}

/// The counts of the hot note change all the time.
#[tokio::test(flavor = "multi_thread")]
async fn a_hot_subscription_delays_neither_a_quiet_one_nor_a_pong() {
    let server = Server::shared();
    let (hot, quiet) = (new_note(server).await, new_note(server).await);
    let mut socket = server.socket("ida watches two").await;
    for (id, n) in [("hot", &hot), ("quiet", &quiet)] {
        socket.subscribe(id, WATCH, json!({ "n": [n] })).await;
    }
    let likers = (0..4).map(|number| {
        let (client, hot) = (server.client(&format!("a fan of ida {number}")), hot.clone());
        tokio::spawn(async move {
            loop {
                client.like(&hot).await;
                client.unlike(&hot).await;
            }
        })
    });
    let likers: Vec<_> = likers.collect();
    for round in 1..=3 {
        let fan = server.client(&format!("a calm fan of ida {round}"));
        let liking = tokio::spawn({
            let quiet = quiet.clone();
            async move { fan.like(&quiet).await }
        });
        socket.send(json!({ "type": "ping", "payload": { "round": round } })).await;
        let (mut is_pushed, mut is_answered) = (false, false);
        while !is_pushed || !is_answered {
            let message = socket.receive().await;
            is_answered |= message["type"] == "pong";
            is_pushed |= message["id"] == "quiet"
                && message["payload"]["data"]["noteCountsChanged"]["likeCount"] == round;
        }
        liking.await.unwrap();
    }
    likers.iter().for_each(tokio::task::JoinHandle::abort);
}
