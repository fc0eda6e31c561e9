//! Metrics: they agree with the reference, and count and time what they claim.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Instant,
};

use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{EventStream, SOON, Server, Stores, eventually, note, token, token_as, user};

/// Metrics by name: kind and labels.
type Shapes = BTreeMap<String, (String, BTreeSet<String>)>;

/// Parses the table of docs/reference/metrics.md: `| name | kind, unit | label: values; label | meaning |`.
fn documented() -> Shapes {
    let readme = support::text_of("docs/reference/metrics.md");
    let (_, rest) = readme.split_once("| Metric | Kind, unit | Labels |").unwrap();
    let rows = rest.lines().skip(2).take_while(|line| line.starts_with('|'));
    let in_backticks = |text: &str| text.split('`').nth(1).map(str::to_owned);
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let kind = cells[2].split(',').next().unwrap().to_owned();
        (in_backticks(cells[1]).unwrap(), (kind, cells[3].split(';').filter_map(in_backticks).collect()))
    })
    .collect()
}

/// The metrics that a server exports.
async fn exported(server: &Server) -> Shapes {
    let text = server.metrics_text().await;
    let mut shapes = Shapes::new();
    let mut current = None;
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            current = Some(shapes.entry(name.to_owned()).or_default());
            current.as_mut().unwrap().0 = kind.to_owned();
        } else if !line.starts_with('#') && !line.is_empty() {
            let labels = line.split_once('{').map_or("", |(_, rest)| rest.rsplit_once('}').unwrap().0);
            let names = labels.split("\",").filter_map(|label| label.split_once('=')).map(|(name, _)| name);
            let own_labels = names.filter(|name| *name != "le").map(str::to_owned);
            current.as_mut().expect("a type before its series").1.extend(own_labels);
        }
    }
    shapes
}

/// The sum of all series of a metric that have these labels.
fn sum(metrics: &HashMap<String, f64>, name: &str, labels: &[(&str, &str)]) -> f64 {
    let label = |(key, value): &(&str, &str)| format!("{key}=\"{value}\"");
    let wanted: Vec<String> = labels.iter().map(label).collect();
    let fits = |series: &str| {
        series.split('{').next() == Some(name) && wanted.iter().all(|label| series.contains(label.as_str()))
    };
    metrics.iter().filter(|(series, _)| fits(series)).map(|(_, value)| value).sum()
}

fn requests_of(
    metrics: &HashMap<String, f64>,
    transport: &str,
    kind: &str,
    operation: &str,
    outcome: &str,
) -> f64 {
    let labels = [("transport", transport), ("kind", kind), ("operation", operation), ("outcome", outcome)];
    sum(metrics, "plaudit_requests_total", &labels)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_lists_exactly_the_exported_metrics_with_their_kinds_and_labels() {
    let server = Server::start(&["--reconcile-sample", "20"]);
    let n = note(server.stores().new_note().await);
    server.client("ann is measured").like(&n).await;
    server.anonymous().error("{ note(id: \"note_0\") { id } }", json!({})).await;
    server
        .client_as(Role::Moderator, "mo is measured")
        .data("{ reviewQueue { waitingCount } }", json!({}))
        .await;
    let mut socket = server.socket("bea is measured").await;
    socket.watch_notes(&[&n]).await;
    socket.note_until(|note| note["likeCount"] == 1).await;
    EventStream::open(&server.url, None, "{ __typename }", json!({})).await.result().await;
    server.stores().rest().await;
    // Some are updated once a second or once in five seconds.
    eventually("all metrics are exported", SOON, || async {
        let exported = exported(&server).await;
        documented().keys().all(|name| exported.contains_key(name)).then_some(())
    })
    .await;
    let (documented, exported) = (documented(), exported(&server).await);
    let wrong: Vec<_> =
        exported.iter().filter(|(name, shape)| documented.get(*name) != Some(shape)).collect();
    assert!(wrong.is_empty(), "docs/reference/metrics.md differs for these: {wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_rendered_once_a_second_for_all_who_ask_and_are_not_compressed() {
    let mut server = Server::start(&[]);
    server.kill();
    assert!(server.try_start(&[("FAILPOINTS", "metrics.kept=off")]));
    let moderator = token_as(Role::Moderator, "mo reads metrics");
    let (began, mut rendered, mut last) = (Instant::now(), 0, None);
    for n in 0..200 {
        let path = ["/metrics", "/admin/metrics"][n % 2];
        let request = reqwest::Client::new().get(format!("{}{path}", server.url)).bearer_auth(&moderator);
        let answer = request.header("accept-encoding", "gzip").send().await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.headers().get("content-encoding")), (200, None));
        let is_new = !answer.headers().contains_key("age");
        let text = answer.text().await.unwrap();
        let metrics = text.split("plaudit_account_").next().unwrap().to_owned();
        assert!(metrics.len() > 10_000);
        rendered += u64::from(is_new);
        assert!(is_new || last == Some(metrics.clone()), "the text of the last rendering");
        last = Some(metrics);
    }
    assert!(
        rendered >= 1 && rendered <= began.elapsed().as_secs() + 1,
        "{rendered} in {:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_process_that_runs_only_the_pipeline_is_measured_too() {
    let server = Server::start(&["--roles", "pipeline"]);
    let metrics = server.metrics().await;
    for store in ["Redis", "PostgreSQL"] {
        assert_eq!(metrics[&format!("plaudit_breaker_open{{dependency=\"{store}\"}}")], 0.0);
    }
    assert_eq!(metrics["plaudit_lost_events_total{shard=\"0\"}"], 0.0);
    assert!(sum(&metrics, "plaudit_redis_seconds_count", &[("caller", "pipeline")]) > 0.0);
    assert!(sum(&metrics, "plaudit_database_seconds_count", &[("caller", "pipeline")]) > 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_are_counted_by_root_field_on_every_transport() {
    let server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    let (like, feed) =
        ("mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }", "{ feed { nodes { id } } }");
    let watch = "subscription ($n: ID!) { noteCountsChanged(noteIds: [$n]) { id } }";
    let bad = "{ a: note(id: \"x\") { id } b: note(id: \"y\") { id } }";
    let several =
        "query Named { feed { nodes { id } } ...More } fragment More on Query { viewer { user { id } } }";
    let client = server.client("ann uses every transport");
    for _ in 0..2 {
        for query in [feed, several, bad, "{ made_up_by_a_client }", "{", watch] {
            client.send(query, json!({ "n": n })).await;
        }
        client.data(like, json!({ "n": n })).await;
        let mut socket = server.socket("ann uses every transport").await;
        for (id, query) in [like, feed, bad, watch, "{"].into_iter().enumerate() {
            socket.subscribe(&id.to_string(), query, json!({ "n": n })).await;
            assert_eq!(socket.receive().await["id"], id.to_string());
            if id < 3 {
                assert_eq!(socket.receive().await["type"], "complete");
            }
        }
        let token = Some(token("ann uses every transport"));
        for query in [like, watch] {
            EventStream::open(&server.url, token.clone(), query, json!({ "n": n })).await.result().await;
        }
        let unknown = json!({ "n": "note_9000000000" });
        let result = EventStream::open(&server.url, token, watch, unknown).await.result().await;
        assert_eq!(result["errors"][0]["extensions"]["code"], "NOT_FOUND");
    }
    let metrics = server.metrics().await;
    for (transport, kind, operation, outcome) in [
        ("http", "query", "feed", "OK"),
        ("http", "query", "several", "OK"),
        ("http", "query", "note", "BAD_USER_INPUT"),
        ("http", "query", "unknown", "GRAPHQL_VALIDATION_FAILED"),
        ("http", "unknown", "unknown", "GRAPHQL_PARSE_FAILED"),
        ("http", "subscription", "noteCountsChanged", "BAD_USER_INPUT"),
        ("http", "mutation", "likeNote", "OK"),
        ("websocket", "mutation", "likeNote", "OK"),
        ("websocket", "query", "feed", "OK"),
        ("websocket", "query", "note", "BAD_USER_INPUT"),
        ("websocket", "subscription", "noteCountsChanged", "OK"),
        ("websocket", "unknown", "unknown", "GRAPHQL_PARSE_FAILED"),
        ("sse", "mutation", "likeNote", "OK"),
        ("sse", "subscription", "noteCountsChanged", "OK"),
        ("sse", "subscription", "noteCountsChanged", "NOT_FOUND"),
    ] {
        let count = requests_of(&metrics, transport, kind, operation, outcome);
        assert_eq!(count, 2.0, "{transport} {kind} {operation} {outcome}");
    }
    for transport in ["http", "websocket", "sse"] {
        let labels = [("transport", transport)];
        assert_eq!(
            sum(&metrics, "plaudit_request_seconds_count", &labels),
            sum(&metrics, "plaudit_requests_total", &labels),
            "{transport}"
        );
    }
    assert!(!metrics.keys().any(|series| series.contains("made_up") || series.contains("Named")));
}

#[tokio::test]
async fn requests_that_are_refused_before_parsing_are_counted_as_unknown() {
    let server = Server::start(&["--socket-subscriptions", "1"]);
    let n = note(server.stores().new_note().await);
    let mut socket = server.socket("bob wants too much").await;
    socket.watch_notes(&[&n]).await;
    socket.note_until(|_| true).await;
    socket.subscribe("more", "{ __typename }", json!({})).await;
    assert_eq!(socket.receive().await["type"], "error");

    let get = |query: &str| {
        let url = format!("{}/graphql/stream?{query}", server.url);
        reqwest::Client::new().get(url).header("accept", "text/event-stream")
    };
    assert_eq!(get("query={__typename}").bearer_auth("no token").send().await.unwrap().status(), 401);
    let by_get = "query=mutation{likeNote(input:{noteId:%22note_1%22}){changed}}";
    assert_eq!(get(by_get).send().await.unwrap().status(), 405);
    let metrics = server.metrics().await;
    assert_eq!(requests_of(&metrics, "websocket", "unknown", "unknown", "LIMIT_EXCEEDED"), 1.0);
    assert_eq!(requests_of(&metrics, "sse", "unknown", "unknown", "UNAUTHENTICATED"), 1.0);
    assert_eq!(requests_of(&metrics, "sse", "mutation", "likeNote", "BAD_USER_INPUT"), 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_is_counted_once_if_it_changed_something_and_not_when_it_is_repeated() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (n, other) = (note(stores.new_note().await), user(stores.new_user().await));
    let ann = server.client("ann acts");
    // Twice with an idempotency key, and once without, which changes nothing.
    let twice = async |mutation: &str, input: Value| {
        let mut with_key = input.clone();
        with_key["idempotencyKey"] = json!(mutation);
        for input in [&with_key, &with_key, &input] {
            ann.act(mutation, input.clone(), "__typename").await;
        }
    };
    let changes = async |kind: &str| {
        let metrics = server.metrics().await;
        ["on", "off"]
            .map(|change| metrics[&format!("plaudit_actions_total{{kind=\"{kind}\",change=\"{change}\"}}")])
    };
    let metrics = server.metrics().await;
    for kind in ["like_note", "collect_note", "follow", "rate_note", "create_note", "join_group"] {
        let series = format!("plaudit_actions_total{{kind=\"{kind}\",change=\"on\"}}");
        assert_eq!(metrics[&series], 0.0, "{kind} is exported from the start");
    }
    for (on, off, kind, input) in [
        ("likeNote", "unlikeNote", "like_note", json!({ "noteId": n })),
        ("collectNote", "uncollectNote", "collect_note", json!({ "noteId": n })),
        ("follow", "unfollow", "follow", json!({ "userId": other })),
    ] {
        twice(on, input.clone()).await;
        assert_eq!(changes(kind).await, [1.0, 0.0], "{kind}");
        twice(off, input).await;
        assert_eq!(changes(kind).await, [1.0, 1.0], "{kind}");
    }
    twice("rateNote", json!({ "noteId": n, "score": 7 })).await;
    twice("createNote", json!({ "title": "New", "body": "Text" })).await;
    ann.refused("deleteNote", json!({ "noteId": n })).await;
    ann.act("recordViews", json!({ "noteIds": [n, n] }), "changed").await;
    let metrics = server.metrics().await;
    let on = |kind: &str| metrics[&format!("plaudit_actions_total{{kind=\"{kind}\",change=\"on\"}}")];
    assert_eq!([on("rate_note"), on("record_views")], [1.0, 1.0]);
    assert_eq!(on("create_note"), 2.0, "without the key another note is created");
    assert_eq!(metrics["plaudit_actions_total{kind=\"create_note\",change=\"off\"}"], 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_the_stores_are_timed_also_when_they_fail() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let n = note(stores.new_note().await);
    let client = server.client("ann waits for stores");
    let calls_within = async |store: &str, up_to_s: &str| {
        let (name, labels) =
            (format!("plaudit_{store}_seconds_bucket"), [("caller", "request"), ("le", up_to_s)]);
        sum(&server.metrics().await, &name, &labels)
    };
    client.like(&n).await;
    for store in ["redis", "database"] {
        let metrics = server.metrics().await;
        for up_to_s in ["0.0001", "0.00025", "0.0005", "0.001"] {
            let bucket = format!("plaudit_{store}_seconds_bucket{{caller=\"request\",le=\"{up_to_s}\"}}");
            assert!(metrics.contains_key(&bucket), "{bucket}");
        }
        assert!(calls_within(store, "0.5").await > 0.0, "{store}");
    }
    let slow = async |store: &str| calls_within(store, "+Inf").await - calls_within(store, "0.5").await;
    let before = slow("redis").await;
    stores.stall("redis");
    client
        .error("mutation ($n: ID!) { unlikeNote(input: { noteId: $n }) { changed } }", json!({ "n": n }))
        .await;
    assert!(slow("redis").await > before, "a round trip without an answer takes 800 ms");
    stores.wake("redis");

    let failed = async || {
        let metrics = server.metrics().await;
        let errors = sum(&metrics, "plaudit_store_errors_total", &[("dependency", "PostgreSQL")]);
        (errors, sum(&metrics, "plaudit_database_seconds_count", &[]))
    };
    stores.stop_postgres();
    let before = failed().await;
    eventually("calls to PostgreSQL fail", SOON, || async {
        client.send("{ feed { nodes { id } } }", json!({})).await;
        (failed().await.0 >= before.0 + 2.0).then_some(())
    })
    .await;
    let after = failed().await;
    assert!(after.1 - before.1 >= after.0 - before.0, "{before:?} {after:?}");
}

#[tokio::test]
async fn comments_and_dead_events_that_wait_for_a_decision_are_exported_until_it_is_made() {
    let server = Server::start(&[]);
    let (stores, moderator) = (server.stores(), server.client_as(Role::Moderator, "mo decides"));
    let (sql, number) = (stores.sql().await, stores.new_note().await);
    let mut comments = [0; 3];
    for comment in &mut comments {
        *comment = stores.new_comment(number).await;
        let set_pending = "UPDATE comment_index SET state = 'pending' WHERE id = $1";
        sqlx::query(set_pending).bind(*comment).execute(&sql).await.unwrap();
    }
    // One that is not due for an hour, and two that wait for a human moderator.
    let queue = "INSERT INTO submission (kind, target_id, due_at, undecided_why) VALUES ('comment', $1, now() + interval '1 hour', $2)";
    for (comment, why) in comments.iter().zip([None, Some("odd"), Some("odd")]) {
        sqlx::query(queue).bind(comment).bind(why).execute(&sql).await.unwrap();
    }
    let dead =
        "INSERT INTO dead_event (shard, log, generation, number, payload) VALUES (1, 1, 1, 900, 'what')";
    sqlx::query(dead).execute(&sql).await.unwrap();
    let until_exported = async |what: &str, expected: [f64; 3]| {
        eventually(what, SOON, || async {
            let metrics = server.metrics().await;
            let value = |series: &str| metrics.get(series).copied();
            let values = [
                value("plaudit_review_queue{state=\"waiting\"}")?,
                value("plaudit_review_queue{state=\"undecided\"}")?,
                value("plaudit_dead_events")?,
            ];
            (values == expected).then_some(())
        })
        .await;
    };
    until_exported("waiting comments and events are exported", [1.0, 2.0, 1.0]).await;
    let decided = json!({ "aboutId": format!("comment_{}", comments[1]), "decision": "APPROVE" });
    moderator.act("decide", decided, "changed").await;
    let (serial,): (i64,) = sqlx::query_as("SELECT serial FROM dead_event").fetch_one(&sql).await.unwrap();
    let dropped = server.command().args(["dead", "drop", &serial.to_string()]).output().unwrap();
    assert!(dropped.status.success(), "{dropped:?}");
    until_exported("decisions are exported", [1.0, 1.0, 0.0]).await;
}

#[tokio::test]
async fn the_process_exports_its_use_of_memory_files_and_cpu() {
    let server = Server::start(&[]);
    // The metrics are a second old, and a process that starts grows.
    let metrics = eventually("its memory is exported", SOON, || async {
        let metrics = server.metrics().await;
        let resident = metrics.get("process_resident_memory_bytes")?;
        ((resident / server.memory_bytes() as f64 - 1.0).abs() < 0.5).then_some(metrics)
    })
    .await;
    assert!(metrics["process_open_fds"] > 3.0 && metrics["process_open_fds"] < metrics["process_max_fds"]);
    assert!(metrics.contains_key("process_cpu_seconds_total"));
}
