//! Log injection: input of users cannot forge log lines, and secrets are not logged.

use serde_json::{Value, json};
use support::{
    Server, Socket,
    raw::{Raw, post, request},
};

/// Starts a new line that looks like a log event, and clears a terminal.
const FORGED: &str = "x\n2026-11-21T00:00:00.000000Z ERROR forged\r\u{1b}[2J\u{7}";
const SECRET: &str = "what-only-its-owner-knows";

/// Sends it in every place where a client can put text.
async fn send_everywhere(server: &Server) {
    let query = "query Named($v: String) { userBySubject(subject: $v) { id } }";
    let body = json!({ "query": query, "operationName": FORGED, "variables": { "v": FORGED } });
    Raw::of(post(&server.url, body.to_string())).await;
    Raw::of(post(&server.url, json!({ "query": query, "variables": { "v": FORGED } }).to_string())).await;
    Raw::of(post(&server.url, json!({ "query": format!("{{ {FORGED} }}") }).to_string())).await;
    Raw::of(post(&server.url, FORGED)).await;
    let forged = url::form_urlencoded::byte_serialize(FORGED.as_bytes()).collect::<String>();
    Raw::of(request("GET", &format!("{}/{forged}?query={forged}", server.url))).await;
    Raw::of(request("GET", &format!("{}/graphql?query={forged}", server.url))).await;
    let odd_id = "a\u{1b}[2J".replace('\u{1b}', "ESC ");
    Raw::of(request("GET", &server.url).header("x-request-id", odd_id)).await;
    let client = server.client(FORGED);
    let input = json!({ "title": FORGED, "body": SECRET, "idempotencyKey": FORGED });
    let create = "mutation ($i: CreateNoteInput!) { createNote(input: $i) { __typename } }";
    client.send(create, json!({ "i": input })).await;
    Raw::of(post(&server.url, json!({ "query": "{ __typename }" }).to_string()).bearer_auth(SECRET)).await;
    let token = client.token().unwrap();
    Raw::of(
        post(&server.url, json!({ "query": "{ viewer { user { id } } }" }).to_string()).bearer_auth(token),
    )
    .await;
    let mut socket = Socket::connect(&server.url).await;
    socket.initialise(Some(token.to_owned())).await;
    assert!(!server.log().contains(token));
}

#[tokio::test]
async fn input_of_users_stays_within_its_log_line_and_secrets_are_not_logged() {
    for (format, filter) in
        [("text", "info,plaudit=debug"), ("json", "info,plaudit=debug"), ("text", "trace")]
    {
        let server = Server::start(&["--log", filter, "--log-format", format]);
        send_everywhere(&server).await;
        let log = server.log();
        assert!(log.contains("answered"), "{log}");
        assert!(!log.contains(SECRET), "{log}");
        for line in log.lines() {
            assert!(!line.bytes().any(|byte| byte.is_ascii_control()), "{line:?}");
            match format {
                "json" => drop(serde_json::from_str::<Value>(line).unwrap()),
                _ => assert!(line.starts_with("20") && !line.contains("Z ERROR forged  "), "{line:?}"),
            }
            assert!(!line.starts_with("2026-11-21T00:00:00.000000Z ERROR forged"), "{line:?}");
        }
    }
}

#[tokio::test]
async fn a_failed_request_is_one_log_line_with_its_id_and_the_client_gets_no_details() {
    let server = Server::start(&[]);
    let sql = server.stores().sql().await;
    sqlx::query("ALTER TABLE note RENAME TO mislaid").execute(&sql).await.unwrap();
    let query = "{ a: feed { nodes { id } } b: feed { nodes { id } } c: note(id: \"note_99\") { id } }";
    let request = post(&server.url, json!({ "query": query }).to_string());
    let response = Raw::of(request.header("x-request-id", "the-one-that-fails")).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.json()["errors"][0]["message"], "internal error");
    assert!(!String::from_utf8(response.bytes).unwrap().contains("relation"));
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("the-one-that-fails")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("ERROR") && lines[0].contains("a request failed"), "{log}");
    assert!(lines[0].contains("relation") && lines[0].contains("failures="), "{log}");
}

#[tokio::test]
async fn the_lines_of_a_request_carry_the_id_of_the_trace_that_its_client_names() {
    let server = Server::start(&[]);
    let sql = server.stores().sql().await;
    sqlx::query("ALTER TABLE note RENAME TO mislaid").execute(&sql).await.unwrap();
    let parent = |trace: &str| format!("00-{}-00f067aa0ba902b7-00", trace.repeat(8));
    let body = |extensions: Value| json!({ "query": "{ feed { nodes { id } } }", "extensions": extensions });
    let send = async |body: Value, header: Option<&str>| {
        let request = post(&server.url, body.to_string());
        Raw::of(header.into_iter().fold(request, |request, it| request.header("traceparent", it)))
            .await
            .json()
    };
    let in_extensions = |trace: &str| body(json!({ "traceparent": parent(trace) }));
    send(body(json!(null)), Some(&parent("aaa1"))).await;
    send(in_extensions("bad0"), Some(&parent("aaa2"))).await;
    send(in_extensions("aaa6"), None).await;
    send(body(json!(null)), Some(&parent("aaa3").to_uppercase())).await;

    let mut socket = Socket::connect(&server.url).await;
    let payload = json!({ "traceparent": parent("aaa4") });
    socket.send(json!({ "type": "connection_init", "payload": payload })).await;
    socket.receive().await;
    for (id, payload) in [("1", body(json!(null))), ("2", in_extensions("aaa5"))] {
        socket.send(json!({ "type": "subscribe", "id": id, "payload": payload })).await;
        assert_eq!(socket.receive().await["payload"]["errors"][0]["message"], "internal error");
        assert_eq!(socket.receive().await["type"], "complete");
    }
    let log = server.log();
    let failed: Vec<&str> = log.lines().filter(|line| line.contains("a request failed")).collect();
    let traces = ["aaa1", "aaa2", "aaa6", "", "aaa4", "aaa5"];
    assert_eq!(failed.len(), traces.len(), "{log}");
    for (line, trace) in failed.iter().zip(traces) {
        let named = line.split("trace=").nth(1).map(|rest| &rest[..32]);
        assert_eq!(named, (!trace.is_empty()).then(|| trace.repeat(8)).as_deref(), "{line}");
    }
}
