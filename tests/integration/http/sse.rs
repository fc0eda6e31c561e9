//! Subscriptions over server-sent events: the distinct connections mode of graphql-sse.

use std::time::Duration;

use reqwest::Client as Http;
use serde_json::{Value, json};
use support::{EventStream, Server, StreamItem, note, token, token_for};
use tokio::task::spawn_blocking;

const WATCH: &str = "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { id likeCount countsVersion viewerHasLiked } }";

fn stream_url(server: &Server) -> String {
    format!("{}/graphql/stream", server.url)
}

#[tokio::test]
async fn a_subscription_sends_the_current_state_and_then_each_change() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let fan = server.client("ann streams");
    fan.like(&n).await;
    let mut stream =
        EventStream::open(&server.url, Some(token("ann streams")), WATCH, json!({ "n": [n] })).await;
    let first = stream.result().await["data"]["noteCountsChanged"].clone();
    assert_eq!(
        (&first["id"], &first["likeCount"], &first["viewerHasLiked"]),
        (&json!(n), &json!(1), &json!(true))
    );
    let second = server.client("bob streams").like(&n).await;
    let pushed = stream.result().await["data"]["noteCountsChanged"].clone();
    assert_eq!(
        (&pushed["likeCount"], &pushed["countsVersion"]),
        (&json!(2), &second["note"]["countsVersion"])
    );
}

#[tokio::test]
async fn events_are_neither_compressed_nor_buffered() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let request = Http::new()
        .post(stream_url(server))
        .header("accept-encoding", "gzip, br, zstd")
        .json(&json!({ "query": WATCH, "variables": { "n": [n] } }));
    let mut stream = EventStream::of(request).await;
    assert_eq!(stream.header("content-encoding"), None);
    assert_eq!(
        (stream.header("cache-control"), stream.header("x-accel-buffering")),
        (Some("no-cache"), Some("no"))
    );
    assert_eq!(stream.result().await["data"]["noteCountsChanged"]["likeCount"], 0);
}

#[tokio::test]
async fn a_query_and_a_mutation_have_one_result_and_complete() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let like = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
    for (query, field) in
        [(like, "/data/likeNote/changed"), ("query ($n: ID!) { note(id: $n) { id } }", "/data/note/id")]
    {
        let mut stream =
            EventStream::open(&server.url, Some(token("cat streams")), query, json!({ "n": n })).await;
        let result = stream.result().await;
        assert!(result.pointer(field).is_some(), "{result}");
        assert_eq!((stream.next_item().await, stream.next_item().await), (Some(StreamItem::Complete), None));
    }
}

/// As the protocol requires: browsers do not expose the body of a response with another status.
#[tokio::test]
async fn a_rejected_operation_is_one_event_and_completes() {
    let server = Server::shared();
    for (query, variables, code) in [
        ("{ nonsense }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { inboxCountsChanged { unreadLikeCount } }", json!({}), "UNAUTHENTICATED"),
        (WATCH, json!({ "n": ["note_9000000000"] }), "NOT_FOUND"),
    ] {
        let mut stream = EventStream::open(&server.url, None, query, variables).await;
        let result = stream.result().await;
        assert_eq!(result["errors"][0]["extensions"]["code"], code, "{result}");
        assert!(result.get("data").is_none());
        assert_eq!((stream.next_item().await, stream.next_item().await), (Some(StreamItem::Complete), None));
    }
}

#[tokio::test]
async fn get_serves_subscriptions_and_refuses_mutations() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let get = |query: &str| {
        Http::new().get(url::Url::parse_with_params(&stream_url(server), [("query", query)]).unwrap())
    };
    let mut stream =
        EventStream::of(get(&format!("subscription {{ noteCountsChanged(noteIds: \"{n}\") {{ id }} }}")))
            .await;
    assert_eq!(stream.result().await["data"]["noteCountsChanged"]["id"], json!(n));
    let refused =
        get("mutation { likeNote(input: { noteId: \"note_1\" }) { changed } }").send().await.unwrap();
    assert_eq!((refused.status().as_u16(), &refused.headers()["allow"]), (405, &"POST".parse().unwrap()));
}

#[tokio::test]
async fn an_invalid_request_is_refused_with_an_error_status() {
    let server = Server::start(&["--client-timeout", "500ms"]);
    let post = || Http::new().post(stream_url(&server));
    let query = json!({ "query": "{ __typename }" });
    let json = || post().header("content-type", "application/json");
    let never = futures_util::stream::pending::<Result<&str, std::io::Error>>();
    for (request, status) in [
        (json().body("{}"), 422),
        (json().body("[]"), 422),
        (json().body(r#"{ "query": "{ __typename }", "variables": [1] }"#), 422),
        (json().body(" ".repeat(256 * 1024 + 1)), 413),
        (json().body(reqwest::Body::wrap_stream(never)), 408),
        (post().json(&query).bearer_auth(token("eve streams")).header("plaudit-act-as", "ann"), 403),
        (post().json(&query).header("plaudit-act-as", ""), 400),
        (post().json(&query).bearer_auth("nonsense"), 401),
        (post().json(&query).header("accept", "application/json"), 406),
        (post().header("content-type", "text/plain").body(query.to_string()), 415),
        (json().body("nonsense"), 400),
    ] {
        let refused = request.send().await.unwrap();
        assert_eq!(refused.status(), status);
        let body: Value = refused.json().await.unwrap();
        assert!(body["errors"][0]["message"].is_string(), "{body}");
    }
}

#[tokio::test]
async fn a_quiet_stream_is_kept_alive_by_comments() {
    let server = Server::start(&["--socket-ping", "1s"]);
    let n = note(server.stores().new_note().await);
    let mut stream = EventStream::open(&server.url, None, WATCH, json!({ "n": [n] })).await;
    stream.result().await;
    for _ in 0..2 {
        assert_eq!(stream.next_item().await, Some(StreamItem::Comment));
    }
}

#[tokio::test]
async fn a_token_that_expires_ends_the_stream_without_completing_it() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let token = token_for("dot streams", Duration::from_secs(2));
    let mut stream = EventStream::open(&server.url, Some(token), WATCH, json!({ "n": [n] })).await;
    stream.result().await;
    assert_eq!(stream.next_item().await, None, "no `complete`, so that the client reconnects");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_streams_without_completing_them() {
    let mut server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    let mut stream = EventStream::open(&server.url, None, WATCH, json!({ "n": [n] })).await;
    stream.result().await;
    let stopped = spawn_blocking(move || server.stop());
    assert_eq!(stream.next_item().await, None);
    stopped.await.unwrap();
}
