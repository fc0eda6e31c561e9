//! Traces by OTLP: what is in them, and that a collector that is away costs nothing.

use std::{cell::Cell, collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{
    Collector, SOON, Server, Span, Takes, eventually, note,
    raw::{Raw, post},
    token, token_as,
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";
const LIKE: &str = "mutation Heart($note: ID!) { likeNote(input: { noteId: $note }) { note { likeCount } } }";
const FLIP: &str = "EVALSHA flip_edge";

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE}-{SPAN}-{flags}")
}

/// The clients of tests decide what is traced.
fn server(collector: &Collector, flags: &[&str]) -> Server {
    Server::start(&[&["--otlp-endpoint", &collector.url, "--trusted-proxies", "127.0.0.1"], flags].concat())
}

fn like(note: &str) -> Value {
    json!({ "query": LIKE, "operationName": "Heart", "variables": { "note": note } })
}

async fn post_like(server: &Server, liker: &str, note: &str, traceparent: Option<&str>) -> Raw {
    let mut request = post(&server.url, like(note).to_string()).bearer_auth(token(liker));
    if let Some(traceparent) = traceparent {
        request = request.header("traceparent", traceparent);
    }
    let answer = Raw::of(request).await;
    assert!(answer.json().get("errors").is_none(), "{}", answer.json());
    answer
}

fn only<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let [span] = spans.iter().filter(|span| span.name == name).collect::<Vec<_>>()[..] else {
        panic!("not one {name}: {spans:#?}")
    };
    span
}

/// The like is one trace: the request, its round trips, and its event in fold and persister.
fn check_like(spans: &[Span], transport: &str, parent: &str) {
    let request = only(spans, "mutation likeNote");
    assert_eq!((request.parent.as_str(), request.service.as_str()), (parent, "plaudit"));
    assert_eq!(request.attributes["graphql.operation.name"], "Heart");
    assert_eq!(request.attributes["plaudit.outcome"], "OK");
    assert_eq!(request.attributes["plaudit.transport"], transport);
    for child in spans.iter().filter(|span| span.id != request.id) {
        assert_eq!(child.parent, request.id, "{child:?}");
        assert!(request.began <= child.began && child.began <= child.ended, "{child:?}");
    }
    // The first one may have said that it needs the user's set.
    let flip = spans.iter().rfind(|span| span.name == FLIP).unwrap();
    assert_eq!(flip.attributes["db.system.name"], "redis");
    let position = |span: &Span| ["plaudit.shard", "plaudit.offset"].map(|key| span.attributes[key].clone());
    for stage in ["fold", "persist"] {
        assert_eq!(position(only(spans, stage)), position(request));
    }
    let ids: BTreeSet<&str> = spans.iter().map(|span| span.id.as_str()).collect();
    assert_eq!(ids.len(), spans.len(), "a span comes once, with an id of its own");
}

fn of_store(spans: &[Span], store: &str) -> usize {
    spans
        .iter()
        .filter(|span| span.attributes.get("db.system.name").is_some_and(|name| name == store))
        .count()
}

#[tokio::test]
async fn a_like_is_one_trace_of_the_client_with_its_round_trips_and_its_way_through_fold_and_persister() {
    let collector = Collector::start(Takes::All).await;
    let server = server(&collector, &["--otlp-sample", "0"]);
    let n = note(server.stores().new_note().await);
    let answer = post_like(&server, "ann is traced", &n, Some(&traceparent("01"))).await;
    let spans = collector.trace(TRACE, &["mutation likeNote", FLIP, "fold", "persist"]).await;
    check_like(&spans, "http", SPAN);
    let timing = answer.header("server-timing").unwrap();
    let (redis, sql) = (of_store(&spans, "redis"), of_store(&spans, "postgresql"));
    assert_eq!(timing, format!("redis;desc=\"{redis} round trips\", sql;desc=\"{sql} statements\""));
    assert_eq!(only(&spans, "mutation likeNote").attributes["http.response.status_code"], "200");
}

#[tokio::test]
async fn a_like_over_a_websocket_is_a_part_of_the_trace_that_the_operation_or_the_connection_names() {
    let collector = Collector::start(Takes::All).await;
    let server = server(&collector, &["--otlp-sample", "0"]);
    let stores = server.stores();
    let of_connection = format!("00-{}-{SPAN}-01", "a".repeat(32));
    let mut socket = support::Socket::connect(&server.url).await;
    let payload = json!({ "Authorization": format!("Bearer {}", token("bea is traced")), "traceparent": of_connection });
    socket.send(json!({ "type": "connection_init", "payload": payload })).await;
    assert_eq!(socket.receive().await["type"], "connection_ack");
    for (id, extensions, trace) in
        [("1", json!({ "traceparent": traceparent("01") }), TRACE), ("2", json!(null), &"a".repeat(32))]
    {
        let mut payload = like(&note(stores.new_note().await));
        payload["extensions"] = extensions;
        socket.send(json!({ "type": "subscribe", "id": id, "payload": payload })).await;
        let result = socket.receive().await;
        assert!(result["payload"]["data"]["likeNote"].is_object(), "{result}");
        assert_eq!(socket.receive().await["type"], "complete");
        let spans = collector.trace(trace, &["mutation likeNote", FLIP, "fold", "persist"]).await;
        check_like(&spans, "websocket", SPAN);
    }
}

// The collector answers while the test waits for the server's end.
#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_decides_what_is_traced_and_the_sampling_decides_where_it_says_nothing() {
    let collector = Collector::start(Takes::All).await;
    let mut server = server(&collector, &["--otlp-sample", "1"]);
    let stores = server.stores();
    post_like(&server, "cyd is not traced", &note(stores.new_note().await), Some(&traceparent("00"))).await;
    post_like(&server, "cyd is traced", &note(stores.new_note().await), None).await;
    // The last spans are sent at a stop.
    server.stop();
    let spans = collector.spans();
    assert!(spans.iter().all(|span| span.trace != TRACE), "{spans:#?}");
    let request = only(&spans, "mutation likeNote");
    assert_eq!(request.parent, "");
    let of_trace: Vec<Span> = spans.iter().filter(|span| span.trace == request.trace).cloned().collect();
    check_like(&of_trace, "http", "");
}

/// Requests that are recorded cost, so not everybody may ask for it. The id of the trace is the client's all the same.
#[tokio::test(flavor = "multi_thread")]
async fn only_proxies_and_services_decide_what_is_traced() {
    let of = |digit: &str, flags: &str| format!("00-{}-{SPAN}-{flags}", digit.repeat(32));
    let query = json!({ "query": "{ __typename }" }).to_string();
    for (sample, recorded) in [("0", ["c"].as_slice()), ("1", &["a", "b", "c", "d"])] {
        let collector = Collector::start(Takes::All).await;
        let endpoint = ["--otlp-endpoint", &collector.url, "--otlp-sample", sample];
        let mut server = Server::start(&endpoint);
        let user = post(&server.url, query.clone()).bearer_auth(token("fay is nobody's proxy"));
        Raw::of(user.header("traceparent", of("a", "01"))).await;
        let forwarded = post(&server.url, query.clone()).header("x-forwarded-for", "192.0.2.1");
        Raw::of(forwarded.header("traceparent", of("b", "01"))).await;
        let service = token_as(Role::Service, "a service");
        let request = |flags| {
            post(&server.url, query.clone()).bearer_auth(&service).header("traceparent", of(flags, "01"))
        };
        Raw::of(request("c")).await;
        let mut socket = support::Socket::connect(&server.url).await;
        socket.send(json!({ "type": "connection_init", "payload": { "traceparent": of("d", "01") } })).await;
        assert_eq!(socket.receive().await["type"], "connection_ack");
        socket.subscribe("1", "{ __typename }", json!({})).await;
        assert_eq!(socket.receive().await["type"], "next");
        let unsampled = post(&server.url, query.clone()).bearer_auth(&service);
        Raw::of(unsampled.header("traceparent", of("e", "00"))).await;
        // The last spans are sent at a stop.
        server.stop();
        let spans = collector.spans();
        let requests = spans.iter().filter(|span| span.name.starts_with("query"));
        let traces: BTreeSet<&str> = requests.map(|span| &span.trace[..1]).collect();
        assert_eq!(traces, recorded.iter().copied().collect(), "sample {sample}: {spans:#?}");
    }
}

#[tokio::test]
async fn another_process_traces_batches_of_its_own_by_the_positions_of_their_events() {
    let collector = Collector::start(Takes::All).await;
    let flags = ["--otlp-endpoint", &collector.url, "--otlp-sample", "1", "--trusted-proxies", "127.0.0.1"];
    let stores = support::Stores::start(AppendFsync::EverySec).await;
    let pipeline = Server::start_on(&stores, &[&flags[..], &["--roles", "pipeline"]].concat());
    let api = Server::start_on(&stores, &[&flags[..], &["--roles", "api"]].concat());
    let n = note(stores.new_note().await);
    post_like(&api, "dan is traced", &n, Some(&traceparent("01"))).await;
    let spans = collector.trace(TRACE, &["mutation likeNote"]).await;
    let request = only(&spans, "mutation likeNote");
    for stage in ["fold", "persist"] {
        eventually("its batch is traced", SOON, || async {
            let is_its_batch = |span: &Span| {
                let has = |key: &str, value: &str| span.attributes.get(key).is_some_and(|it| it == value);
                span.name == stage
                    && span.trace != TRACE
                    && has("plaudit.shard", &request.attributes["plaudit.shard"])
                    && has("plaudit.offset.to", &request.attributes["plaudit.offset"])
            };
            collector.spans().iter().any(is_its_batch).then_some(())
        })
        .await;
    }
    drop((api, pipeline));
}

#[tokio::test]
async fn a_collector_that_never_answers_costs_no_like_and_no_stop_and_is_one_line_in_the_log() {
    const AT_ONCE: usize = 16;
    let collector = Collector::start(Takes::Nothing).await;
    let mut server = server(&collector, &["--otlp-sample", "1"]);
    let n = note(server.stores().new_note().await);
    let spans = |outcome: &str| format!("plaudit_trace_spans_total{{outcome=\"{outcome}\"}}");
    let likes = Cell::new(0);
    eventually("two batches have failed", SOON, || async {
        let likers = likes.get()..likes.get() + AT_ONCE;
        join_all(likers.map(async |liker| post_like(&server, &format!("eve {liker}"), &n, None).await)).await;
        likes.set(likes.get() + AT_ONCE);
        (server.metric(&spans("failed")).await > 512.0).then_some(())
    })
    .await;
    let count =
        server.anonymous().data("query ($n: ID!) { note(id: $n) { likeCount } }", json!({ "n": n })).await;
    assert_eq!(count["note"]["likeCount"], likes.get());
    assert_eq!(server.metric(&spans("sent")).await, 0.0);
    let lines = server.log().lines().filter(|line| line.contains("takes no traces")).count();
    assert_eq!(lines, 1, "{}", server.log());
    let began = std::time::Instant::now();
    server.stop();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test]
async fn spans_are_sent_again_after_the_collector_has_come_back() {
    let place = support::free_port();
    let url = format!("http://127.0.0.1:{place}");
    let server = Server::start(&["--otlp-endpoint", &url, "--otlp-sample", "1"]);
    server.anonymous().data("{ __typename }", json!({})).await;
    eventually("the log says that the collector is away", SOON, || async {
        server.log().contains("takes no traces").then_some(())
    })
    .await;
    let collector = Collector::start_on(place).await;
    eventually("a request is traced", SOON, || async {
        server.anonymous().data("{ __typename }", json!({})).await;
        (!collector.spans().is_empty()).then_some(())
    })
    .await;
    eventually("the log says so", SOON, || async {
        server.log().contains("takes traces again").then_some(())
    })
    .await;
}
