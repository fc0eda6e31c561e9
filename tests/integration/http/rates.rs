//! Rate limits: per user and per address, shared between servers, and in effect while Redis is down.

use std::time::Duration;

use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, Reply, SOON, Server, Socket, Stores, eventually, note, token_as};

const QUERY: &str = "{ __typename }";
const TWO_LIKES: &str = "mutation ($n: ID!) {
    a: likeNote(input: { noteId: $n }) { changed } b: unlikeNote(input: { noteId: $n }) { changed } }";
const LIKE: &str = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
const POST: &str = "mutation { createGroup(input: { name: \"A group\" }) { __typename } }";

/// Per hour, so that no window ends in a test.
const FLAGS: [&str; 8] = [
    "--rate-window",
    "1h",
    "--rate-user-reads",
    "5",
    "--rate-user-writes",
    "3",
    "--rate-user-creations",
    "2",
];

fn is_limited(reply: &Reply) -> bool {
    let extensions = &reply.body["errors"][0]["extensions"];
    if extensions["code"] != "RATE_LIMITED" {
        assert!(reply.status == 200 || reply.status == 400, "{reply:?}");
        return false;
    }
    assert_eq!((reply.status, &extensions["retryable"]), (429, &json!(true)), "{reply:?}");
    assert!(reply.body.get("data").is_none_or(Value::is_null), "{reply:?}");
    let seconds = extensions["retryAfter"].as_u64();
    assert!(seconds > Some(0) && reply.retry_after == seconds, "{reply:?}");
    true
}

/// Sends the query `times` times; returns how many were not limited.
async fn passed(client: &Client, query: &str, times: usize) -> usize {
    let mut passed = 0;
    for _ in 0..times {
        passed += usize::from(!is_limited(&client.send(query, json!({})).await));
    }
    passed
}

#[tokio::test(flavor = "multi_thread")]
async fn each_user_has_limits_of_reads_writes_and_creations() {
    let server = Server::start(&FLAGS);
    let (ann, bob) = (server.client("busy ann"), server.client("busy bob"));
    assert_eq!(passed(&ann, QUERY, 8).await, 5);
    assert_eq!(passed(&bob, QUERY, 1).await, 1);
    assert_eq!(passed(&ann, POST, 4).await, 2);

    // Each root field of a mutation counts as one write. If they exceed the limit, none is executed.
    let id = server.stores().new_note().await;
    let n = note(id);
    let like = async |query: &str| is_limited(&ann.send(query, json!({ "n": n })).await);
    assert!(!like(TWO_LIKES).await);
    assert!(like(TWO_LIKES).await);
    assert!(!like(LIKE).await);
    assert!(like(LIKE).await);
    assert_eq!(server.anonymous().note(&n).await["likeCount"], 1);

    // Documents that cannot be parsed count, too.
    assert_eq!(passed(&server.client("cat sends nonsense"), "{ nonsense", 7).await, 5);
    // Services have no limit. Without a token only the address is limited, which has no limit here.
    assert_eq!(passed(&server.client_as(Role::Service, "a busy service"), QUERY, 20).await, 20);
    assert_eq!(passed(&server.client_as(Role::Moderator, "a busy moderator"), QUERY, 7).await, 5);
    assert_eq!(passed(&server.anonymous(), QUERY, 20).await, 20);

    let metrics = server.metrics().await;
    assert_eq!(metrics["plaudit_rate_limited_total{class=\"reads\"}"], 7.0);
    assert_eq!(metrics["plaudit_rate_limited_total{class=\"writes\"}"], 2.0);
    assert_eq!(metrics["plaudit_rate_limited_total{class=\"creations\"}"], 2.0);

    // So do ids of documents that the server does not have.
    let token = server.client("dora sends unknown ids").token().unwrap().to_owned();
    let mut statuses = Vec::new();
    for _ in 0..7 {
        let request = reqwest::Client::new().post(format!("{}/graphql", server.url)).bearer_auth(&token);
        let response = request.json(&json!({ "documentId": "unknown" })).send().await.unwrap();
        statuses.push(response.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rate_limits_cost_a_request_no_round_trip() {
    let server = Server::start(&["--rate-user-reads", "100", "--rate-user-writes", "100"]);
    let n = note(server.stores().new_note().await);
    let ann = server.client("ann is counted");
    ann.like(&n).await;
    for _ in 0..20 {
        let like = ann.send(LIKE, json!({ "n": n })).await;
        assert_eq!((like.redis_round_trips, like.sql_statements), (1, 0), "{like:?}");
        assert_eq!(ann.send(QUERY, json!({})).await.redis_round_trips, 0);
    }
    // The counts are still shared, in the background.
    let mut redis = server.stores().redis().await;
    eventually("the counts are shared", SOON, || {
        let mut redis = redis.clone();
        async move {
            let keys: Vec<String> =
                redis::cmd("KEYS").arg("{*}:rate:*").query_async(&mut redis).await.unwrap();
            (!keys.is_empty()).then_some(())
        }
    })
    .await;
    let keys: Vec<String> = redis::cmd("KEYS").arg("{*}:rate:*").query_async(&mut redis).await.unwrap();
    let ttl_ms: i64 = redis::cmd("PTTL").arg(&keys[0]).query_async(&mut redis).await.unwrap();
    assert!((1..=121_000).contains(&ttl_ms), "{ttl_ms}");
    assert!(!keys[0].contains("ann"), "{keys:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_large_is_paid_for() {
    let server = Server::start(&["--rate-window", "1h", "--rate-user-reads", "60"]);
    let input = json!({ "title": "Long", "body": "\u{1F426}".repeat(10_000) });
    let note = server.client("a writer of a long note").act("createNote", input, "note { id }").await;
    let ids = vec![note["note"]["id"].clone(); 100];
    let twice = "query ($ids: [ID!]!) { a: nodes(ids: $ids) { ...N } b: nodes(ids: $ids) { ...N } }
        fragment N on Note { body }";
    let ann = server.client("ann asks for too much");
    let refused = ann.send(twice, json!({ "ids": ids })).await;
    assert_eq!(refused.body["errors"][0]["extensions"]["reason"], "TOO_COMPLEX", "{refused:?}");
    assert!(is_limited(&ann.send(QUERY, json!({})).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn moderators_see_who_has_used_most_of_a_limit_without_names() {
    let server = Server::start(&["--rate-user-reads", "100", "--rate-address-reads", "5000"]);
    assert_eq!(passed(&server.client("ann is busy"), QUERY, 40).await, 40);
    assert_eq!(passed(&server.client("bob is not"), QUERY, 1).await, 1);
    let http = reqwest::Client::new();
    let shown = eventually("the accounts are shown", SOON, || {
        let get =
            http.get(format!("{}/admin/metrics", server.url)).bearer_auth(token_as(Role::Moderator, "ops"));
        async move {
            let text = get.send().await.unwrap().text().await.unwrap();
            let lines = text.lines().filter(|line| line.starts_with("plaudit_account_"));
            let lines: Vec<String> = lines.map(str::to_owned).collect();
            (!lines.is_empty()).then_some(lines)
        }
    })
    .await;
    let used =
        shown.iter().find(|line| line.contains("_used{kind=\"user\"") && line.contains("reads")).unwrap();
    assert!(used.ends_with("} 40"), "{used}");
    assert!(
        shown.iter().any(|line| line.contains("_limit{kind=\"user\"") && line.ends_with("} 100")),
        "{shown:?}"
    );
    assert!(!shown.iter().any(|line| line.contains("ann") || line.contains("127.0")), "{shown:?}");
    let public = http.get(format!("{}/metrics", server.url)).send().await.unwrap().text().await.unwrap();
    assert!(!public.contains("plaudit_account_"));
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_count_as_reads() {
    let server = Server::start(&FLAGS);
    let n = note(server.stores().new_note().await);
    let mut socket = server.socket("ann watches often").await;
    let query = "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { id likeCount } }";
    for id in 1..=6 {
        socket.subscribe(&id.to_string(), query, json!({ "n": [n] })).await;
        let message = socket.receive().await;
        assert_eq!(message["id"], id.to_string());
        assert_eq!(message.to_string().contains("RATE_LIMITED"), id == 6, "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_time_of_retry_after_requests_are_accepted_again() {
    let server = Server::start(&["--rate-window", "2s", "--rate-user-reads", "6"]);
    let ann = server.client("ann waits");
    for _ in 0..3 {
        let refused = loop {
            let reply = ann.send(QUERY, json!({})).await;
            if is_limited(&reply) {
                break reply;
            }
        };
        let seconds = refused.retry_after.unwrap();
        assert!(seconds <= 4, "{refused:?}");
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        assert!(!is_limited(&ann.send(QUERY, json!({})).await));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_on_the_same_stores_count_together() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let flags = ["--rate-window", "1h", "--rate-user-reads", "200"];
    let (one, two) = (Server::start_on(&stores, &flags), Server::start_on(&stores, &flags));
    let (on_first, on_second) = (one.client("ann is everywhere"), two.client("ann is everywhere"));
    assert_eq!(passed(&on_first, QUERY, 250).await, 200);
    // The other server does not know her requests before the first exchange of counts.
    let passed_on_second = std::cell::Cell::new(0);
    eventually("the other server limits her", SOON, || async {
        let is_limited = is_limited(&on_second.send(QUERY, json!({})).await);
        passed_on_second.set(passed_on_second.get() + u32::from(!is_limited));
        is_limited.then_some(())
    })
    .await;
    assert!(passed_on_second.get() < 150, "{passed_on_second:?}");
    assert_eq!(passed(&two.client("bob is elsewhere"), QUERY, 1).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_while_redis_is_down() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &FLAGS);
    let ann = server.client("ann notices no outage");
    assert_eq!(passed(&ann, QUERY, 2).await, 2);
    stores.stop_redis();
    assert_eq!(passed(&ann, QUERY, 6).await, 3);
    assert_eq!(passed(&server.client("bob comes in between"), QUERY, 8).await, 5);
    stores.start_redis(AppendFsync::EverySec);
    stores.are_up().await;
    assert_eq!(passed(&ann, QUERY, 3).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_address_is_used_only_behind_a_trusted_proxy() {
    let flags = ["--rate-window", "1h", "--rate-address-reads", "3"];
    let behind = Server::start(&[&flags[..], &["--trusted-proxies", "127.0.0.0/8,10.0.0.0/8"]].concat());
    let open = Server::start(&flags);
    let send = async |server: &Server, forwarded: &str| {
        let request = reqwest::Client::new().post(format!("{}/graphql", server.url));
        let request = request.header("X-Forwarded-For", forwarded).json(&json!({ "query": QUERY }));
        request.send().await.unwrap().status().as_u16()
    };
    for client in ["198.51.100.1", "198.51.100.2, 10.0.0.1", "2001:db8::1"] {
        let mut statuses = Vec::new();
        for _ in 0..4 {
            statuses.push(send(&behind, client).await);
        }
        assert_eq!(statuses, [200, 200, 200, 429], "{client}");
    }
    // A client behind the proxy cannot invent another address.
    assert_eq!(send(&behind, "192.0.2.9, 198.51.100.1").await, 429);
    let mut statuses = Vec::new();
    for client in ["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4"] {
        statuses.push(send(&open, client).await);
    }
    assert_eq!(statuses, [200, 200, 200, 429]);
    let warnings = |server: &Server| server.log().matches("name it in `trusted_proxies`").count();
    assert_eq!((warnings(&behind), warnings(&open)), (0, 1), "{}", open.log());
    assert!(open.log().contains("peer=127.0.0.1"), "{}", open.log());
}

/// A request of this address, by a connection of its own.
async fn from(address: &str, method: &str, url: String, body: &'static str) -> reqwest::Response {
    let http = reqwest::Client::builder().local_address(Some(address.parse().unwrap())).build().unwrap();
    let request = http.request(method.parse().unwrap(), url).header("content-type", "application/json");
    request.header("origin", "https://app.example.com").body(body).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_answered_counts_for_the_address_except_probes() {
    const READS: usize = 5;
    let server = Server::start(&["--rate-window", "1h", "--rate-address-reads", "5"]);
    let queries = async |address: &str| {
        from(address, "POST", format!("{}/graphql", server.url), r#"{"query":"{ __typename }"}"#)
            .await
            .status()
    };
    let page = from("127.0.0.2", "GET", format!("{}/graphiql", server.url), "").await.text().await.unwrap();
    let script = page.split('"').find(|part| part.starts_with("/assets/")).unwrap().to_owned();
    let requests = [
        ("GET", "/metrics", ""),
        ("GET", "/admin/metrics", ""),
        ("GET", "/status", ""),
        ("GET", "/admin", ""),
        ("GET", "/", ""),
        ("GET", "/graphiql", ""),
        ("GET", &script, ""),
        ("GET", "/nowhere", ""),
        ("GET", "/dev/users", ""),
        ("OPTIONS", "/graphql", ""),
        ("DELETE", "/graphql", ""),
        ("POST", "/graphql", "no JSON"),
        ("GET", "/graphql", ""),
        ("POST", "/graphql/stream", "{}"),
        ("GET", "/graphql/ws", ""),
    ];
    for (n, (method, path, body)) in requests.into_iter().enumerate() {
        let address = format!("127.0.1.{}", n + 1);
        let mut statuses = Vec::new();
        for _ in 0..=READS {
            let answer = from(&address, method, format!("{}{path}", server.url), body).await;
            let (status, retry_after) =
                (answer.status().as_u16(), answer.headers().get("retry-after").cloned());
            assert_eq!(status == 429, retry_after.is_some(), "{path}");
            statuses.push(status);
        }
        assert!(statuses[0] != 429 && statuses[READS] == 429, "{method} {path}: {statuses:?}");
        assert_eq!(queries(&address).await, 429, "{method} {path}");
        for probe in ["livez", "readyz"] {
            let answer = from(&address, "GET", format!("{}/{probe}", server.url), "").await;
            assert_eq!(answer.status(), 200, "{probe}");
        }
    }
    // An upgrade to a WebSocket is one read, too.
    let mut sockets = Vec::new();
    for _ in 0..READS {
        sockets.push(Socket::try_connect_from("127.0.2.1", &server.url).await.unwrap());
    }
    assert_eq!(Socket::try_connect_from("127.0.2.1", &server.url).await.err(), Some(429));
    // Probes alone cost nothing.
    for _ in 0..=READS {
        assert_eq!(from("127.0.2.2", "GET", format!("{}/readyz", server.url), "").await.status(), 200);
    }
    assert_eq!(queries("127.0.2.2").await, 200);
}

#[tokio::test]
async fn an_asset_counts_by_its_bytes() {
    let server = Server::start(&["--rate-window", "1h", "--rate-address-reads", "1000"]);
    let page = server.get("/graphiql").await.text().await.unwrap();
    let script = page.split('"').find(|part| part.starts_with("/assets/") && part.ends_with(".js")).unwrap();
    let bytes = from("127.0.0.2", "GET", format!("{}{script}", server.url), "").await.bytes().await.unwrap();
    let mut passed = 0;
    while from("127.0.0.2", "POST", format!("{}/graphql", server.url), r#"{"query":"{ __typename }"}"#)
        .await
        .status()
        == 200
    {
        passed += 1;
    }
    // 64 bytes are a thousandth of a read.
    assert_eq!(passed, 1_000 - (bytes.len() / 64_000).max(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ipv6_site_has_ten_times_the_limit_of_one_of_its_hosts() {
    let flags = ["--rate-window", "1h", "--rate-address-reads", "2", "--trusted-proxies", "127.0.0.0/8"];
    let server = Server::start(&flags);
    let send = async |client: &str| {
        let request = reqwest::Client::new().post(format!("{}/graphql", server.url));
        let request = request.header("X-Forwarded-For", client).json(&json!({ "query": QUERY }));
        request.send().await.unwrap().status().as_u16()
    };
    for host in 0..10 {
        let client = format!("2001:db8:1:{host}::1");
        assert_eq!([send(&client).await, send(&client).await, send(&client).await], [200, 200, 429]);
    }
    assert_eq!(send("2001:db8:1:10::1").await, 429);
    assert_eq!(send("2001:db8:2::1").await, 200);
}

#[tokio::test]
async fn an_edit_costs_as_many_reads_as_its_bytes() {
    let server = Server::start(&["--rate-window", "1h", "--rate-user-reads", "50"]);
    let ann = server.client("ann edits");
    let input = json!({ "title": "Short", "body": "Text" });
    let note = ann.act("createNote", input, "note { id }").await["note"]["id"].clone();
    let edit =
        "mutation ($n: ID!, $body: String) { updateNote(input: { noteId: $n, body: $body }) { changed } }";
    let written = async || server.metric("plaudit_cost_total{for=\"requests\",work=\"written\"}").await;
    let before = written().await;
    let long = json!({ "n": note, "body": "\u{1F426}".repeat(10_000) });
    assert!(!is_limited(&ann.send(edit, long.clone()).await));
    // 40,000 bytes, 16 for a thousandth of a unit.
    let cost = written().await - before;
    assert!((2_500.0..2_600.0).contains(&cost), "{cost}");
    // Two units, of which the action contains one.
    passed(&ann, QUERY, 60).await;
    assert!(is_limited(&ann.send(edit, long).await));
    assert!(!is_limited(&ann.send(edit, json!({ "n": note, "body": "Short again" })).await));
}

#[tokio::test]
async fn reports_are_creations() {
    let server = Server::start(&FLAGS);
    let ann = server.client("ann reports much");
    let report = "mutation ($n: ID!) { reportNote(input: { noteId: $n, reason: SPAM }) { changed } }";
    let mut limited = Vec::new();
    for _ in 0..3 {
        let n = note(server.stores().new_note().await);
        limited.push(is_limited(&ann.send(report, json!({ "n": n })).await));
    }
    assert_eq!(limited, [false, false, true]);
}

#[tokio::test]
async fn a_query_counts_as_many_reads_as_it_costs() {
    let server = Server::start(&["--rate-window", "1h", "--rate-user-reads", "30"]);
    let (ann, bob) = (server.client("ann of many pages"), server.client("bob of one page"));
    // 1 + 100 · (1 + 1 + 23 · 2) fields: 19 units, and 2 for parsing.
    let pages = "{ feed(first: 100) { nodes { comments(first: 23) { nodes { id } } } } }";
    assert_eq!(passed(&ann, pages, 1).await, 1);
    assert_eq!(passed(&ann, pages, 1).await, 0);
    assert_eq!(passed(&ann, QUERY, 5).await, 5);
    assert_eq!(passed(&bob, QUERY, 31).await, 30);
}

#[tokio::test]
async fn ids_of_nothing_count_by_what_both_stores_are_asked() {
    let server = Server::start(&["--rate-window", "1h", "--rate-user-reads", "30"]);
    let sql = server.stores().sql().await;
    let first: i64 = sqlx::query_scalar("SELECT nextval('note_id_seq')").fetch_one(&sql).await.unwrap();
    let moved = "SELECT setval('note_id_seq', nextval('note_id_seq') + 1000000)";
    let _: i64 = sqlx::query_scalar(moved).fetch_one(&sql).await.unwrap();
    let ids = |from: i64| (from..from + 100).map(|id| format!("\"note_{id}\"")).collect::<String>();
    let query = |from| format!("{{ nodes(ids: [{}]) {{ ... on Note {{ likeCount }} }} }}", ids(from));
    // Beyond all that were given: 2 units or less, one of them for the look. In a gap: 4 for 200 commands of Redis and
    // three statements.
    let (ann, bob) = (server.client("ann far away"), server.client("bob in a gap"));
    assert!(passed(&ann, &query(900_000_000), 12).await >= 12);
    assert!((5..=8).contains(&passed(&bob, &query(first), 12).await));
}

#[tokio::test]
async fn the_bytes_of_an_answer_count_after_it_was_sent() {
    let server = Server::start(&["--rate-window", "1h", "--rate-user-reads", "30"]);
    let ann = server.client("ann of long notes");
    let input = json!({ "title": "Long", "body": "\u{1F426}".repeat(10_000) });
    let note = ann.act("createNote", input, "note { id }").await["note"]["id"].clone();
    let page = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { body } } }";
    let answer = ann.data(page, json!({ "ids": vec![note; 60] })).await;
    assert_eq!(answer["nodes"].as_array().map(Vec::len), Some(60));
    // 2.4 MB are 37 units.
    assert_eq!(passed(&ann, QUERY, 1).await, 0);
}

#[tokio::test]
async fn events_that_cost_much_come_more_slowly_and_refuse_no_request() {
    let flags = ["--rate-window", "1h", "--rate-user-reads", "60", "--rate-address-reads", "0"];
    let server = Server::start(&flags);
    let n = note(server.stores().new_note().await);
    // Each has executions of its own. Nobody pays for the one without a token.
    let query = "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { id likeCount countsVersion viewerHasLiked } }";
    let (mut ann, mut anybody) = (server.socket("ann").await, Socket::open(&server.url, None).await);
    for socket in [&mut ann, &mut anybody] {
        socket.subscribe("notes", query, json!({ "n": [n] })).await;
        socket.note_until(|note| note["likeCount"] == 0).await;
    }
    let executions = async || server.metric("plaudit_fanout_executions_total").await;
    let before = executions().await;
    for likes in 1..=5 {
        server.client(&format!("fan {likes}")).like(&n).await;
        anybody.note_until(|note| note["likeCount"] == likes).await;
    }
    assert_eq!(executions().await - before, 5.0);
    assert_eq!(passed(&server.client("ann"), QUERY, 10).await, 10);
    assert!(server.metric("plaudit_cost_total{for=\"events\",work=\"fields\"}").await >= 5.0 * 12.0);
}
