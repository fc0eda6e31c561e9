//! Development endpoints: tokens, users to sign in as, and the storm.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use reqwest::Response;
use serde_json::{Value, json};
use support::{
    Client, SOON, Server, Stores, eventually, note,
    raw::{Raw, request},
};
use tokio::task::spawn_blocking;

async fn get(server: &Server, path: &str) -> Raw {
    Raw::of(request("GET", &format!("{}{path}", server.url))).await
}

/// The session that the server issues for this query, and a client with its token.
async fn signed_in(server: &Server, query: &str) -> (Value, Client) {
    let session = get(server, &format!("/dev/token{query}")).await;
    assert_eq!(session.status, 200, "{query}: {}", String::from_utf8_lossy(&session.bytes));
    let session = session.json();
    let client = server.anonymous().with_token(session["token"].as_str().unwrap());
    (session, client)
}

#[tokio::test]
async fn a_token_is_for_the_requested_user_and_role() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    for (query, user, role) in [
        ("", "mira.okafor", "user"),
        ("?user=ann%20of%20dev%20%C3%A9", "ann of dev é", "user"),
        ("?user=ann%20of%20dev%20%C3%A9&role=user", "ann of dev é", "user"),
        ("?role=moderator", "moderator", "moderator"),
        ("?role=moderator&user=bob%20moderates", "bob moderates", "moderator"),
    ] {
        let (session, client) = signed_in(server, query).await;
        assert_eq!((&session["user"], &session["role"]), (&json!(user), &json!(role)), "{query}");
        assert!(session["noteId"].as_str().unwrap().starts_with("note_"), "{session}");
        let ends: DateTime<Utc> = session["expiresAt"].as_str().unwrap().parse().unwrap();
        assert!((11..=12).contains(&(ends - Utc::now()).num_hours()), "{ends}");
        // The token grants what the session says.
        client.like(&n).await;
        let queue = client.send("{ reviewQueue { waitingCount } }", json!({})).await;
        assert_eq!(queue.body.get("errors").is_none(), role == "moderator", "{}", queue.body);
        let viewer =
            client.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
        let of_subject = "query ($s: String!) { userBySubject(subject: $s) { id } }";
        assert_eq!(client.data(of_subject, json!({ "s": user })).await["userBySubject"]["id"], viewer);
    }
}

#[tokio::test]
async fn a_bad_user_or_role_is_refused_with_the_reason() {
    let server = Server::shared();
    for (query, reason) in [
        ("?user=", "user: a subject has 1 to 255 bytes"),
        (&format!("?user={}", "x".repeat(256)), "this one has 256 bytes"),
        ("?user=a%00b", "no NUL character"),
        ("?role=service", "`user` or `moderator`"),
        ("?role=Moderator", "`user` or `moderator`"),
        ("?subject=ann", "`user` or `role`"),
        ("?user=ann&user=bob", "duplicate field `user`"),
    ] {
        let refused = get(server, &format!("/dev/token{query}")).await;
        assert_eq!(refused.status, 400, "{query}");
        let message = refused.refusal();
        assert!(message.contains(reason), "{query}: {message}");
    }
}

#[tokio::test]
async fn the_listed_users_have_content_and_can_act() {
    let server = Server::start(&["--seed-if-empty"]);
    let users = get(&server, "/dev/users").await.json()["users"].as_array().unwrap().clone();
    assert_eq!(users[0], json!({ "subject": "mira.okafor", "role": "user" }));
    assert_eq!(users.last(), Some(&json!({ "subject": "moderator", "role": "moderator" })));
    let subjects: BTreeSet<_> = users.iter().map(|user| user["subject"].as_str().unwrap()).collect();
    assert_eq!((users.len(), subjects.len()), (9, 9), "{users:?}");
    for user in &users {
        let (subject, role) = (user["subject"].as_str().unwrap(), user["role"].as_str().unwrap());
        let (session, client) = signed_in(&server, &format!("?user={subject}&role={role}")).await;
        let payload = client.like(session["noteId"].as_str().unwrap()).await;
        assert_eq!(payload["note"]["viewerHasLiked"], true, "{subject}");
        if role == "user" {
            let query = "{ viewer { user { noteCount followerCount followingCount } inbox { unreadLikeCount unreadReplyCount } } }";
            let viewer = client.data(query, json!({})).await["viewer"].clone();
            let count = |name: &str| viewer.pointer(name).and_then(Value::as_i64).unwrap();
            for name in [
                "/user/noteCount",
                "/user/followerCount",
                "/user/followingCount",
                "/inbox/unreadLikeCount",
                "/inbox/unreadReplyCount",
            ] {
                assert!(count(name) >= 8, "{subject}{name}: {viewer}");
            }
        }
    }
}

#[tokio::test]
async fn without_demo_data_the_first_user_and_a_moderator_are_listed() {
    let users = get(Server::shared(), "/dev/users").await.json();
    assert_eq!(
        users,
        json!({ "users": [
            { "subject": "mira.okafor", "role": "user" },
            { "subject": "moderator", "role": "moderator" },
        ] })
    );
}

/// As a page of another site asks whose name was resolved to a loopback address (DNS rebinding), and as a proxy on the
/// same machine passes on.
#[tokio::test]
async fn requests_from_elsewhere_are_refused_with_the_reason() {
    let server = Server::start(&["--dev-hosts", "my-laptop.local,192.0.2.7"]);
    let ask = async |method: &str, path: &str, headers: &[(&str, &str)]| {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        Raw::of(request(method, &format!("{}{path}", server.url)).headers(headers.collect())).await
    };
    let rebound = ("host", "rebound.example:8080");
    for (method, path) in
        [("GET", "/dev/token?role=moderator"), ("GET", "/dev/users"), ("POST", "/dev/storm")]
    {
        let refused = ask(method, path, &[rebound]).await;
        assert_eq!(refused.status, 403, "{path}");
        let why = refused.refusal();
        assert!(why.contains("rebound.example:8080") && why.contains("dev_hosts"), "{why}");
    }
    for (header, named) in [
        (("origin", "http://rebound.example"), "http://rebound.example"),
        (("origin", "null"), "null"),
        (("sec-fetch-site", "cross-site"), "cross-site"),
        (("forwarded", "for=192.0.2.60"), "forwarded"),
        (("x-forwarded-for", "192.0.2.60"), "x-forwarded-for"),
        (("via", "1.1 proxy"), "via"),
    ] {
        let refused = ask("GET", "/dev/token", &[header]).await;
        assert_eq!(refused.status, 403, "{header:?}");
        assert!(refused.refusal().contains(named), "{header:?}");
    }
    let own_page = [("origin", &*server.url), ("sec-fetch-site", "same-origin")];
    assert_eq!(ask("GET", "/dev/token", &own_page).await.status, 200);
    for host in ["localhost:3000", "my-laptop.local:8080", "192.0.2.7"] {
        assert_eq!(ask("GET", "/dev/token", &[("host", host)]).await.status, 200, "{host}");
    }
    // Other addresses answer to any name: they give nobody a token.
    assert_eq!(ask("GET", "/livez", &[rebound]).await.status, 200);
}

#[tokio::test]
async fn tools_for_developers_are_on_with_the_generated_secret_only_and_the_start_names_them() {
    let secret = "a secret of the operator, 32 bytes or more";
    for (flags, on) in [
        (&[][..], "demo, graphiql, introspection, dev_token"),
        (&["--jwt-secret", secret], ""),
        (&["--jwt-secret", secret, "--dev-token"], "dev_token"),
    ] {
        let server = Server::start_without_secret(flags);
        eventually("the server printed its addresses", SOON, || async {
            server.printed().contains("  admin     ").then_some(())
        })
        .await;
        let printed = server.printed();
        let line = printed.lines().find_map(|line| line.split_once("a setting of its name: "));
        assert_eq!(line.map_or("", |(_, tools)| tools), on, "{flags:?}: {printed}");
        for (tool, path) in [("demo", "/"), ("graphiql", "/graphiql"), ("dev_token", "/dev/token")] {
            let status = get(&server, path).await.status;
            assert_eq!(status == 200, on.contains(tool), "{flags:?}: {path} answered {status}");
        }
        let schema = server.anonymous().send("{ __schema { queryType { name } } }", json!({})).await;
        let is_told = schema.body["data"]["__schema"].is_object();
        assert_eq!(is_told, on.contains("introspection"), "{flags:?}: {}", schema.body);
    }
}

#[tokio::test]
async fn without_dev_tokens_nothing_under_dev_is_served() {
    let server = Server::start(&["--dev-token", "false"]);
    for path in ["/dev/token", "/dev/users", "/dev/storm"] {
        assert_eq!(get(&server, path).await.status, 404, "{path}");
        let posted = request("POST", &format!("{}{path}", server.url)).json(&json!({}));
        assert_eq!(Raw::of(posted).await.status, 404, "{path}");
    }
}

/// The response to `POST /dev/storm`.
async fn storm(server: &Server, body: &Value) -> Response {
    request("POST", &format!("{}/dev/storm", server.url)).json(body).send().await.unwrap()
}

/// All lines of the response.
async fn lines(response: Response) -> Vec<Value> {
    let text = response.text().await.unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Number of actions of simulated users in the history after `since`, without those of the subject `except`.
async fn steps_since(stores: &Stores, since: DateTime<Utc>, except: &str) -> i64 {
    let query = "SELECT count(*) FROM activity JOIN app_user u ON u.id = actor_id
         WHERE subject LIKE 'storm.%' AND at > $1 AND subject <> $2";
    sqlx::query_scalar(query).bind(since).bind(except).fetch_one(&stores.sql().await).await.unwrap()
}

/// The drift that `plaudit reconcile` reports.
async fn drift(server: &Server) -> Vec<String> {
    let mut command = server.command();
    command.args(["reconcile", "--format", "json"]);
    let output = spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    // The last line has the sums.
    stdout.lines().rev().skip(1).map(str::to_owned).collect()
}

/// With the default rate limits, which must not delay simulated users.
#[tokio::test(flavor = "multi_thread")]
async fn a_storm_changes_counts_by_what_it_reports_and_rows_and_counters_agree_afterwards() {
    let server = Server::start(&["--rate-user-writes", "600", "--rate-address-writes", "3000"]);
    let stores = server.stores();
    let mut ids = Vec::new();
    for _ in 0..4 {
        let id = stores.new_note().await;
        stores.new_comment(id).await;
        ids.push(id);
    }
    let elsewhere = stores.new_note().await;
    let named: Vec<String> = ids.iter().copied().map(note).collect();
    let response = storm(&server, &json!({ "users": 40, "seconds": 3, "noteIds": named })).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    let lines = lines(response).await;

    let number = |line: &Value, name: &str| line[name].as_u64().unwrap();
    assert!((10..=16).contains(&lines.len()), "four lines a second: {lines:?}");
    for (before, line) in lines.iter().zip(&lines[1..]) {
        assert!(number(before, "elapsedMs") <= number(line, "elapsedMs"), "{lines:?}");
        assert!(number(before, "acted") <= number(line, "acted"), "{lines:?}");
        assert_eq!(before["done"], false);
    }
    let last = lines.last().unwrap();
    assert_eq!((&last["done"], &last["failed"]), (&json!(true), &json!(0)));
    let acted = number(last, "acted") as i64;
    assert!(acted > 100, "{last}");
    assert!(lines.iter().any(|line| number(line, "perSecond") > 30), "{lines:?}");

    let views = async || {
        let views = "SELECT sum(views)::bigint FROM note_counts";
        sqlx::query_scalar::<_, i64>(views).fetch_one(&stores.sql().await).await.unwrap()
    };
    eventually("each action is a step of the history or a view", SOON, async || {
        (steps_since(&stores, DateTime::UNIX_EPOCH, "").await + views().await == acted).then_some(())
    })
    .await;
    stores.rest().await;
    let mut likes = 0;
    for id in ids {
        let totals = stores.likes(id).await;
        assert_eq!((totals.rows, Some(totals.rows)), (totals.total, totals.redis), "note_{id}");
        likes += totals.rows;
    }
    assert!(likes > 40, "{likes}");
    assert_eq!(stores.number("SELECT likes + views FROM note_counts WHERE id = $1", elsewhere).await, 0);
    assert_eq!(drift(&server).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_storm_runs_at_a_time_and_it_ends_when_its_client_disconnects() {
    let server = Server::start(&[]);
    let stores = server.stores();
    stores.new_note().await;
    let start = Instant::now();
    let long = json!({ "users": 30, "seconds": 30 });
    let mut first = storm(&server, &long).await;
    let line = first.chunk().await.unwrap().unwrap();
    assert!(line.starts_with(b"{\"elapsedMs\":"), "a line comes at once: {line:?}");
    for _ in 0..2 {
        let second = storm(&server, &long).await;
        assert_eq!(second.status(), 409);
        assert!(second.text().await.unwrap().contains("a storm is running"));
    }
    eventually("the storm acts", SOON, async || {
        (steps_since(&stores, DateTime::UNIX_EPOCH, "").await > 0).then_some(())
    })
    .await;
    drop(first);
    let next = json!({ "users": 1, "seconds": 1 });
    let second = eventually("the next storm is accepted", SOON, async || {
        let response = storm(&server, &next).await;
        (response.status() == 200).then_some(response)
    })
    .await;
    assert!(start.elapsed() < Duration::from_secs(29), "the first storm ended early");
    assert_eq!(lines(second).await.last().unwrap()["done"], true);
    // What was under way when the first storm ended is over after a second.
    let since = Utc::now();
    assert_eq!(lines(storm(&server, &next).await).await.last().unwrap()["done"], true);
    stores.rest().await;
    assert_eq!(steps_since(&stores, since, "storm.001").await, 0, "no user of the first storm continues");
}

#[tokio::test]
async fn a_storm_has_limits_and_the_error_names_the_exceeded_one() {
    let server = Server::start(&[]);
    let nowhere = storm(&server, &json!({})).await;
    assert_eq!(nowhere.status(), 400);
    assert!(nowhere.text().await.unwrap().contains("there are no notes"));
    let id = server.stores().new_note().await;
    for (body, reason) in [
        (json!({ "users": 0 }), "users must be 1 to 500, not 0"),
        (json!({ "users": 501 }), "users must be 1 to 500, not 501"),
        (json!({ "users": -1 }), "users must be 1 to 500, not -1"),
        (json!({ "seconds": 0 }), "seconds must be 1 to 30, not 0"),
        (json!({ "seconds": 31 }), "seconds must be 1 to 30, not 31"),
        (json!({ "seconds": 1.5 }), "invalid type"),
        (json!({ "user": 1 }), "`users`, `seconds`, `noteIds`"),
        (json!({ "noteIds": vec![note(id); 101] }), "noteIds may have 100 ids at most, not 101"),
        (json!({ "noteIds": ["nothing"] }), "noteIds: "),
        (json!({ "noteIds": ["note_999999"] }), "noteIds: none of these is a note"),
        (json!({ "noteIds": ["user_1"] }), "noteIds: none of these is a note"),
    ] {
        let refused = Raw::of(request("POST", &format!("{}/dev/storm", server.url)).json(&body)).await;
        assert_eq!(refused.status, 400, "{body}");
        let message = refused.refusal();
        assert!(message.contains(reason), "{body}: {message}");
    }
    // A page of another origin can send text without a preflight.
    let text =
        request("POST", &format!("{}/dev/storm", server.url)).header("content-type", "text/plain").body("{}");
    assert_eq!(Raw::of(text).await.status, 415);
    // None of these requests has started a storm.
    let most = json!({ "users": 1, "seconds": 1, "noteIds": vec![note(id); 100] });
    assert_eq!(storm(&server, &most).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_does_not_delay_a_stop() {
    let mut server = Server::start(&[]);
    server.stores().new_note().await;
    let mut response = storm(&server, &json!({ "users": 100, "seconds": 30 })).await;
    response.chunk().await.unwrap().unwrap();
    let start = Instant::now();
    let stopping = spawn_blocking(move || {
        server.stop();
        server
    });
    let rest = response.text().await.unwrap_or_default();
    assert!(!rest.contains("\"done\":true"), "{rest}");
    let server = stopping.await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(!server.log().contains("requests under way"), "{}", server.log());
}
