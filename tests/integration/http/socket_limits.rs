//! Limits of WebSockets and event streams: subscriptions, connections, message sizes and rates, slow readers.

use reqwest::Client as Http;
use serde_json::{Value, json};
use support::{SOON, Server, Socket, eventually, note, token};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

const WATCH: &str = "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { id likeCount } }";
/// About 800 KB per message, so that a few messages fill all buffers.
const WATCH_MUCH: &str =
    "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { id likeCount countsVersion
    a: body b: body c: body d: body e: body f: body g: body h: body i: body j: body
    k: body l: body m: body n: body o: body p: body q: body r: body s: body t: body } }";

/// Limits of an event that [`WATCH_MUCH`] is within.
const LARGE_EVENTS: &[&str] = &["--max-answer", "128", "--max-complexity", "100000"];

/// A note whose text is long.
async fn long_note(server: &Server) -> String {
    let input = json!({ "title": "Long", "body": "\u{1F4AF}".repeat(10_000) });
    let posted = server.client("an author at length").act("createNote", input, "note { id }").await;
    posted["note"]["id"].as_str().unwrap().to_owned()
}

async fn like_by_many(server: &Server, n: &str, likers: i32) {
    for number in 0..likers {
        server.client(&format!("one of many {number}")).like(n).await;
    }
}

async fn until_closed(server: &Server, transport: &str) {
    let series = format!("plaudit_sockets{{transport=\"{transport}\"}}");
    eventually("the connection is closed", SOON, || async {
        (server.metric(&series).await == 0.0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn one_subscription_too_many_gets_an_error_and_the_others_stay() {
    let server = Server::start(&["--socket-subscriptions", "2"]);
    let n = note(server.stores().new_note().await);
    let mut socket = server.socket("ann watches much").await;
    for id in ["1", "2"] {
        socket.subscribe(id, WATCH, json!({ "n": [n] })).await;
        socket.data().await;
    }
    for _ in 0..2 {
        socket.subscribe("3", WATCH, json!({ "n": [n] })).await;
        let refused = socket.receive().await;
        assert_eq!((&refused["type"], &refused["id"]), (&json!("error"), &json!("3")), "{refused}");
        assert_eq!(
            refused["payload"][0]["extensions"],
            json!({ "code": "LIMIT_EXCEEDED", "retryable": false })
        );
        let message = refused["payload"][0]["message"].as_str().unwrap();
        assert!(message.starts_with("2 operations run on this connection"), "{message}");
    }
    socket.send(json!({ "type": "complete", "id": "1" })).await;
    socket.subscribe("3", WATCH, json!({ "n": [n] })).await;
    assert_eq!(socket.data().await["noteCountsChanged"]["id"], json!(n));
}

#[tokio::test]
async fn a_subscription_to_too_many_notes_is_refused() {
    let server = Server::shared();
    let stores = server.stores();
    let mut ids = Vec::new();
    for _ in 0..101 {
        ids.push(note(stores.new_note().await));
    }
    let mut socket = server.socket("bea watches much").await;
    socket.subscribe("x", WATCH, json!({ "n": ids })).await;
    let refused = socket.receive().await;
    assert_eq!(refused["payload"][0]["extensions"]["argument"], "noteIds", "{refused}");
    assert_eq!(refused["payload"][0]["message"], "noteIds: 1 to 100 different ids, not 101");
    ids[100] = ids[0].clone();
    socket.subscribe("x", WATCH, json!({ "n": ids })).await;
    socket.data().await;
}

#[tokio::test]
async fn sockets_and_event_streams_are_limited_per_address_and_per_server() {
    let server = Server::start(&["--sockets-per-address", "2", "--connections", "10"]);
    let n = note(server.stores().new_note().await);
    let one = Socket::try_connect_from("127.0.0.1", &server.url).await.unwrap();
    let stream = |from: &'static str| {
        let http = Http::builder().local_address(Some(from.parse().unwrap())).build().unwrap();
        let body = json!({ "query": WATCH, "variables": { "n": [n] } });
        http.post(format!("{}/graphql/stream", server.url)).json(&body).send()
    };
    let _two = stream("127.0.0.1").await.unwrap();
    assert_eq!(Socket::try_connect_from("127.0.0.1", &server.url).await.err(), Some(429));
    let refused = stream("127.0.0.1").await.unwrap();
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (429, &"5".parse().unwrap()));
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(
        refused["errors"][0]["extensions"],
        json!({ "code": "RATE_LIMITED", "retryable": true, "retryAfter": 5 })
    );

    let warnings = server
        .log()
        .matches("`sockets_per_address`: if it is your proxy, name it in `trusted_proxies`")
        .count();
    assert_eq!(warnings, 1, "{}", server.log());
    // Six of ten connections may be sockets.
    let mut others = Vec::new();
    for from in ["127.0.0.2", "127.0.0.2", "127.0.0.4", "127.0.0.4"] {
        others.push(Socket::try_connect_from(from, &server.url).await.unwrap());
    }
    assert_eq!(Socket::try_connect_from("127.0.0.3", &server.url).await.err(), Some(503));
    let refused = stream("127.0.0.3").await.unwrap();
    assert_eq!(refused.status(), 503);
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["errors"][0]["extensions"]["code"], "RETRY_LATER");

    drop(one);
    eventually("a closed connection frees its place", SOON, || async {
        Socket::try_connect_from("127.0.0.1", &server.url).await.ok()
    })
    .await;
}

#[tokio::test]
async fn a_message_that_is_too_long_closes_the_connection() {
    let server = Server::shared();
    let long = |bytes: usize| json!({ "type": "ping", "payload": { "x": "y".repeat(bytes) } }).to_string();
    let mut socket = Socket::open(&server.url, None).await;
    socket.send_frame(Message::text(long(65_000))).await;
    assert_eq!(socket.receive().await["type"], "pong");
    socket.send_frame(Message::text(long(65_536))).await;
    let too_long = (1009, "A message has at most 65536 bytes".to_owned());
    assert_eq!(socket.closed().await, too_long);

    let mut socket = Socket::open(&server.url, None).await;
    let part = |opcode: Data| {
        let (bytes, is_last) = ("y".repeat(40_000), false);
        Message::Frame(Frame::message(bytes, OpCode::Data(opcode), is_last))
    };
    socket.send_frame(part(Data::Text)).await;
    socket.send_frame(part(Data::Continue)).await;
    assert_eq!(socket.closed().await, too_long);
}

#[tokio::test]
async fn empty_parts_of_a_message_have_an_end() {
    let server = Server::shared();
    let mut socket = Socket::open(&server.url, None).await;
    let part = |text: &'static str, opcode: Data, is_last: bool| {
        Message::Frame(Frame::message(text, OpCode::Data(opcode), is_last))
    };
    // A message in many parts is accepted, and the next one may have as many.
    for _ in 0..3 {
        socket.send_frame(part("{\"type\":", Data::Text, false)).await;
        for _ in 0..9_000 {
            socket.feed_frame(part("", Data::Continue, false)).await;
        }
        socket.send_frame(part("\"ping\"}", Data::Continue, true)).await;
        assert_eq!(socket.receive().await["type"], "pong");
    }
    socket.send_frame(part("{", Data::Text, false)).await;
    let mut sent = 0;
    while sent < 10_000_000 && socket.try_feed_frame(part("", Data::Continue, false)).await.is_some() {
        sent += 1;
    }
    assert!(sent < 10_000_000, "the connection is still open");
    let metric = "plaudit_socket_closes_total{code=\"1009\"}";
    eventually("the close is counted", SOON, || async { (server.metric(metric).await >= 1.0).then_some(()) })
        .await;
}

#[tokio::test]
async fn a_violation_of_the_websocket_protocol_closes_the_connection() {
    let mut socket = Socket::open(&Server::shared().url, None).await;
    let not_text = Frame::message(vec![0xff], OpCode::Data(Data::Text), true);
    socket.send_frame(Message::Frame(not_text)).await;
    assert_eq!(socket.closed().await, (1007, "A text message must be UTF-8".into()));
    let mut socket = Socket::open(&Server::shared().url, None).await;
    let unexpected = Frame::message("x", OpCode::Data(Data::Continue), true);
    socket.send_frame(Message::Frame(unexpected)).await;
    assert_eq!(socket.close_code().await, 1002);
}

#[tokio::test]
async fn too_many_messages_per_second_close_the_connection() {
    let server = Server::start(&["--socket-messages", "5"]);
    for flood in [Message::text(json!({ "type": "ping" }).to_string()), Message::Ping(Default::default())] {
        let mut socket = Socket::connect(&server.url).await;
        for _ in 0..20 {
            socket.send_frame(flood.clone()).await;
        }
        // The close frame follows the responses to the messages within the limit.
        socket.send_frame(flood).await;
        assert_eq!(socket.closed().await, (1008, "Too many messages: 5 per second are allowed".into()));
    }
    assert_eq!(server.metric("plaudit_socket_closes_total{code=\"1008\"}").await, 2.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_slowly_skips_to_the_latest_value() {
    const LIKERS: i32 = 240;
    let server = Server::start(&[&["--client-timeout", "1m"], LARGE_EVENTS].concat());
    let n = long_note(&server).await;
    let mut socket = Socket::try_connect_from("127.0.0.1", &server.url).await.unwrap();
    socket.initialise(Some(token("cat reads slowly"))).await;
    // Likes of a note that nobody watches use memory, too.
    let before = server.memory_bytes();
    like_by_many(&server, &long_note(&server).await, LIKERS).await;
    let baseline = server.memory_bytes().saturating_sub(before);
    socket.subscribe("x", WATCH_MUCH, json!({ "n": [n] })).await;
    let before = server.memory_bytes();
    like_by_many(&server, &n, LIKERS).await;
    let grown = server.memory_bytes().saturating_sub(before).saturating_sub(baseline);
    let mut messages = 0;
    loop {
        let note = socket.data().await["noteCountsChanged"].clone();
        messages += 1;
        if note["likeCount"] == LIKERS {
            break;
        }
    }
    assert!(messages < LIKERS, "{messages} messages for {LIKERS} likes");
    // All messages together would be 190 MB. A few of them, and what the allocator keeps, are 14 to 37 MB, no matter
    // how many likes there are.
    assert!(grown < 64 << 20, "the server uses {grown} bytes more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_is_disconnected() {
    let server = Server::start(&[&["--client-timeout", "1s", "--socket-ping", "10m"], LARGE_EVENTS].concat());
    let n = long_note(&server).await;
    let mut socket = Socket::try_connect_from("127.0.0.1", &server.url).await.unwrap();
    socket.initialise(None).await;
    socket.subscribe("x", WATCH_MUCH, json!({ "n": [n] })).await;
    like_by_many(&server, &n, 30).await;
    until_closed(&server, "websocket").await;
    assert_eq!(server.metric("plaudit_socket_closes_total{code=\"1006\"}").await, 1.0);
    assert_eq!(server.metric("plaudit_subscriptions").await, 0.0);
}

/// The HTTP server writes the stream itself, so its time for answers ends it.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_stream_that_is_never_read_is_closed() {
    let server = Server::start(&[&["--client-timeout", "1s"], LARGE_EVENTS].concat());
    let n = long_note(&server).await;
    let body = json!({ "query": WATCH_MUCH, "variables": { "n": [n] } });
    let unread = Http::new().post(format!("{}/graphql/stream", server.url)).json(&body).send().await.unwrap();
    like_by_many(&server, &n, 30).await;
    until_closed(&server, "sse").await;
    drop(unread);
}
