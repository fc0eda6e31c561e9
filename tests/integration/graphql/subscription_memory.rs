//! Memory of subscriptions: bounded for each address, with the events that are kept.

use serde_json::{Value, json};
use support::{Server, Socket, note};

/// An address may take a thirty-second, 8 MiB, if its reads are limited.
const FLAGS: [&str; 4] = ["--subscription-memory", "256", "--rate-address-reads", "1000000"];

/// Notes with bodies of so many bytes.
async fn notes(server: &Server, count: i32, bytes: i32) -> Vec<String> {
    let stores = server.stores();
    let author = stores.new_user().await;
    let insert = "INSERT INTO note (author_id, title, body) SELECT $1, 'Long', repeat('x', $3)
                  FROM generate_series(1, $2) RETURNING id";
    let query = sqlx::query_scalar(insert).bind(author).bind(count).bind(bytes);
    let ids: Vec<i64> = query.fetch_all(&stores.sql().await).await.unwrap();
    ids.into_iter().map(note).collect()
}

/// A question of its own for each number.
fn question(number: usize) -> String {
    format!("subscription ($n: [ID!]!) {{ noteCountsChanged(noteIds: $n) {{ id a{number}: likeCount }} }}")
}

/// The message about the operation with this id; skips events of others.
async fn answer(socket: &mut Socket, id: &str) -> Value {
    loop {
        let message = socket.receive().await;
        if message["id"] == id {
            return message;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn different_questions_of_an_address_are_bounded_and_equal_ones_cost_little() {
    let server = Server::start(&FLAGS);
    let ids = notes(&server, 100, 1).await;
    let mut socket = Socket::open(&server.url, None).await;
    let mut opened = 0;
    let refused = loop {
        let id = opened.to_string();
        socket.subscribe(&id, &question(opened), json!({ "n": ids })).await;
        let message = answer(&mut socket, &id).await;
        if message["type"] == "error" {
            break message;
        }
        opened += 1;
    };
    // 100 objects take 720 KiB.
    assert!((9..13).contains(&opened), "{opened}");
    let error = &refused["payload"][0];
    assert_eq!(error["extensions"]["code"], "LIMIT_EXCEEDED");
    assert!(error["message"].as_str().unwrap().contains("8 MiB"), "{error}");
    // The same question again, and a small one.
    for (id, query, ids) in [("again", question(0), &ids[..2]), ("small", question(99), &ids[..1])] {
        socket.subscribe(id, &query, json!({ "n": ids })).await;
        assert_eq!(answer(&mut socket, id).await["type"], "next", "{id}");
    }
    // Another address has room.
    let mut other = Socket::try_connect_from("127.0.0.2", &server.url).await.unwrap();
    other.initialise(None).await;
    other.subscribe("x", &question(98), json!({ "n": ids })).await;
    assert_eq!(answer(&mut other, "x").await["type"], "next");
    // What ends makes room.
    socket.send(json!({ "type": "complete", "id": "0" })).await;
    socket.send(json!({ "type": "complete", "id": "1" })).await;
    socket.subscribe("new", &question(97), json!({ "n": ids })).await;
    assert_eq!(answer(&mut socket, "new").await["type"], "next");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_for_which_there_is_no_room_is_an_error_and_comes_once_there_is() {
    let server = Server::start(&FLAGS);
    let ids = notes(&server, 90, 100_000).await;
    let mut socket = Socket::open(&server.url, None).await;
    let query = "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { id likeCount body } }";
    for (id, ids) in [("half", &ids[..45]), ("other", &ids[45..])] {
        socket.subscribe(id, query, json!({ "n": ids })).await;
    }
    let (mut whole, mut failed) = (0, Vec::new());
    while whole + failed.len() < 90 {
        let message = socket.receive().await;
        match message["payload"]["errors"].get(0) {
            None => whole += 1,
            Some(error) => failed.push(error["extensions"]["code"].clone()),
        }
    }
    // 8 MiB hold 83 bodies.
    assert!((75..84).contains(&whole), "{whole}");
    assert!(failed.iter().all(|code| code == "LIMIT_EXCEEDED"), "{failed:?}");
    socket.send(json!({ "type": "complete", "id": "half" })).await;
    let fan = server.client("a fan");
    for id in &ids[45..] {
        fan.like(id).await;
        let message = answer(&mut socket, "other").await;
        assert_eq!(message["payload"]["data"]["noteCountsChanged"]["likeCount"], 1, "{id}");
    }
}

/// What is counted for an object of a question, and for its client.
const COUNTED: usize = 7 * 1024 + 192;

#[tokio::test(flavor = "multi_thread")]
async fn questions_take_no_more_memory_than_is_counted() {
    const OBJECTS: usize = 100;
    let server = Server::start(&["--socket-subscriptions", "200"]);
    let ids = notes(&server, OBJECTS as i32, 1).await;
    let mut socket = Socket::open(&server.url, None).await;
    let mut open = async |questions: std::ops::Range<usize>| {
        for number in questions {
            socket.subscribe(&number.to_string(), &question(number), json!({ "n": ids })).await;
            for _ in 0..OBJECTS {
                assert_eq!(socket.receive().await["type"], "next");
            }
        }
        server.memory_bytes()
    };
    let before = open(0..10).await;
    let each = (open(10..90).await - before) / (80 * OBJECTS);
    assert!(each < COUNTED, "{each} bytes");
}
