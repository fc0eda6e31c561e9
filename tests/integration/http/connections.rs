//! Limits of TCP connections, in all and per address.

use std::time::Duration;

use serde_json::{Value, json};
use support::{EventStream, SOON, Server, Socket, eventually, note, token};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

/// A connection from this address that sends nothing.
async fn silent(server: &Server, from: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    socket.connect(server.url.strip_prefix("http://").unwrap().parse().unwrap()).await.unwrap()
}

/// Sends this, and reads until an answer has this text; `None` if the connection ends before.
async fn exchange(stream: &mut TcpStream, request: &str, until: &str) -> Option<String> {
    stream.write_all(request.as_bytes()).await.ok()?;
    let (mut answer, mut buffer) = (String::new(), [0; 4096]);
    while !answer.contains(until) {
        let read = tokio::time::timeout(SOON, stream.read(&mut buffer)).await.expect("an answer in time");
        answer += str::from_utf8(&buffer[..read.ok().filter(|bytes| *bytes > 0)?]).unwrap();
    }
    Some(answer)
}

const BODY: &str = "{\"query\":\"{ __typename }\"}";
const ANSWER: &str = "{\"data\":{\"__typename\":\"Query\"}}";

/// A connection from this address with a request whose body the server waits for.
async fn busy(server: &Server, from: &str) -> TcpStream {
    let head = format!(
        "POST /graphql HTTP/1.1\r\nHost: plaudit\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Expect: 100-continue\r\n\r\n",
        BODY.len()
    );
    eventually("the server waits for a body", SOON, || async {
        let mut stream = silent(server, from).await;
        exchange(&mut stream, &head, "100 Continue").await.map(|_| stream)
    })
    .await
}

/// A connection from this address whose request was answered; `None` if it is refused.
async fn idle(server: &Server, from: &str) -> Option<TcpStream> {
    let mut stream = silent(server, from).await;
    let get = "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nHost: plaudit\r\n\r\n";
    let answer = exchange(&mut stream, get, "}}").await?;
    answer.ends_with(ANSWER).then_some(stream)
}

/// What the server answers before anything is sent: its head and its JSON. A connection that has just ended may
/// still have been counted when another was opened, which was refused in its place; then this one is accepted,
/// and the next refused.
async fn refusal(server: &Server, from: &str) -> (String, Value) {
    let mut accepted = Vec::new();
    while accepted.len() < 20 {
        let mut stream = silent(server, from).await;
        let mut answer = String::new();
        match tokio::time::timeout(Duration::from_secs(1), stream.read_to_string(&mut answer)).await {
            Ok(read) => {
                read.unwrap();
                let (head, body) = answer.split_once("\r\n\r\n").expect("an answer before the end");
                return (head.to_owned(), serde_json::from_str(body).unwrap());
            }
            Err(_) => accepted.push(stream),
        }
    }
    panic!("no connection from {from} is refused");
}

/// The status and the data of an operation that this address sends with a connection of its own; `None` if the
/// connection is refused.
async fn ask(server: &Server, from: &str, query: &str, variables: Value) -> Option<(u16, Value)> {
    let http = reqwest::Client::builder().local_address(Some(from.parse().unwrap())).build().unwrap();
    let request = http.post(format!("{}/graphql", server.url)).bearer_auth(token("ann connects"));
    let body = json!({ "query": query, "variables": variables });
    let response = request.json(&body).send().await.ok()?;
    let status = response.status().as_u16();
    Some((status, response.json::<Value>().await.ok()?["data"].clone()))
}

async fn until_answered(server: &Server, from: &str) {
    eventually("a connection is accepted again", SOON, || async {
        (ask(server, from, "{ __typename }", json!({})).await?.0 == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn connections_are_limited_per_address_and_in_all_and_the_answer_says_so_at_once() {
    // One address has half of all at most.
    let server = Server::start(&["--connections", "10", "--client-timeout", "5m"]);
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(busy(&server, "127.0.0.2").await);
    }
    let (head, body) = refusal(&server, "127.0.0.2").await;
    assert!(head.starts_with("HTTP/1.1 429 ") && head.contains("\r\nRetry-After: 5"), "{head}");
    let extensions = &body["errors"][0]["extensions"];
    assert_eq!(*extensions, json!({ "code": "RATE_LIMITED", "retryable": true, "retryAfter": 5 }));
    assert!(body["errors"][0]["message"].as_str().unwrap().starts_with("5 connections are open"), "{body}");
    until_answered(&server, "127.0.0.3").await;

    for from in ["127.0.0.4", "127.0.0.4", "127.0.0.4", "127.0.0.5", "127.0.0.6"] {
        open.push(busy(&server, from).await);
    }
    let (head, body) = refusal(&server, "127.0.0.7").await;
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    assert_eq!(body["errors"][0]["extensions"]["code"], "RETRY_LATER");

    drop(open);
    until_answered(&server, "127.0.0.2").await;
    until_answered(&server, "127.0.0.7").await;
    let metrics = server.metrics().await;
    let refused = |limit: &str| metrics[&format!("plaudit_connections_refused_total{{limit=\"{limit}\"}}")];
    assert!(refused("connections_per_address") >= 1.0 && refused("connections") >= 1.0);
    // However many are refused.
    refusal(&server, "127.0.0.2").await;
    assert_eq!(server.log().matches("name it in `trusted_proxies`").count(), 1, "{}", server.log());
}

#[tokio::test]
async fn sockets_count_for_their_own_limit_and_in_all() {
    // An address may have six connections and seven sockets.
    let limits = ["--connections", "12", "--sockets-per-address", "7", "--client-timeout", "5m"];
    let server = Server::start(&limits);
    let mut sockets = Vec::new();
    for _ in 0..7 {
        // The server counts the connection as a socket once it has answered the upgrade.
        let socket = eventually("a socket is accepted", SOON, || async {
            Socket::try_connect_from("127.0.0.2", &server.url).await.ok()
        });
        sockets.push(socket.await);
    }
    assert_eq!(Socket::try_connect_from("127.0.0.2", &server.url).await.err(), Some(429));
    until_answered(&server, "127.0.0.2").await;
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(busy(&server, "127.0.0.3").await);
    }
    assert!(refusal(&server, "127.0.0.4").await.0.starts_with("HTTP/1.1 503 "));
    drop(sockets);
    until_answered(&server, "127.0.0.4").await;
}

/// Two addresses have all connections, as far as they may, and keep them.
#[tokio::test]
async fn idle_connections_make_room_for_other_addresses_and_those_in_use_stay() {
    let server = Server::start(&["--connections", "10", "--client-timeout", "5m"]);
    let n = note(server.stores().new_note().await);
    let mut body = busy(&server, "127.0.0.2").await;
    let http = reqwest::Client::builder().local_address(Some([127, 0, 0, 2].into())).build().unwrap();
    let query = "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { likeCount } }";
    let watch = json!({ "query": query, "variables": { "n": [n] } });
    let mut stream = EventStream::of(http.post(format!("{}/graphql/stream", server.url)).json(&watch)).await;
    assert_eq!(stream.result().await["data"]["noteCountsChanged"]["likeCount"], 0);
    let mut socket = Socket::try_connect_from("127.0.0.2", &server.url).await.unwrap();
    socket.initialise(None).await;
    socket.watch_notes(&[&n]).await;

    let mut kept = Vec::new();
    for from in ["127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3", "127.0.0.3", "127.0.0.3"] {
        kept.push(idle(&server, from).await.unwrap());
    }
    let mut newcomers = Vec::new();
    for host in 4..=9 {
        let newcomer = idle(&server, &format!("127.0.0.{host}")).await;
        newcomers.push(newcomer.expect("a newcomer is answered at once"));
    }
    // The last one is all that its address has, as with the newcomers.
    for stream in &mut kept[..6] {
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(SOON, stream.read_to_end(&mut rest)).await;
        assert!(closed.expect("it has made room").is_err() || rest.is_empty(), "{rest:?}");
    }
    assert!(server.metric("plaudit_connections_made_room_total").await >= 6.0);

    server.client("a fan").like(&n).await;
    assert_eq!(stream.result().await["data"]["noteCountsChanged"]["likeCount"], 1);
    socket.note_until(|note| note["likeCount"] == 1).await;
    assert!(exchange(&mut body, BODY, "}}").await.unwrap().ends_with(ANSWER));
}

/// Without a limit, the connections of one client take the files that the stores' connections need.
#[tokio::test]
async fn one_address_with_more_connections_than_files_does_not_disturb_others() {
    let server = Server::start_with_files(512, &["--client-timeout", "5m"]);
    let n = note(server.stores().new_note().await);
    let mut silence = Vec::new();
    for _ in 0..700 {
        silence.push(silent(&server, "127.0.0.2").await);
    }
    let like = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { note { likeCount } } }";
    for from in ["127.0.0.3", "127.0.0.4"] {
        let (status, data) = ask(&server, from, like, json!({ "n": n })).await.unwrap();
        assert_eq!((status, &data["likeNote"]["note"]["likeCount"]), (200, &json!(1)));
    }
    server.stores().rest().await;
    assert!(server.log().contains("the limit of 512 open files leaves 372 for clients"), "{}", server.log());
    assert!(!server.log().contains("Too many open files"), "{}", server.log());
    let metrics = server.metrics().await;
    let refused = metrics["plaudit_connections_refused_total{limit=\"connections_per_address\"}"];
    assert!(refused > 400.0, "{refused}");
}
