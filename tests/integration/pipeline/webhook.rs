//! The webhook: every event in order, at least once, whatever the endpoint answers and whoever is killed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, Delivery, SOON, Server, WebhookEndpoint, WebhookReply, eventually, token_as};

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

fn start(endpoint: &WebhookEndpoint, secrets: &str) -> Server {
    Server::start(&["--webhook-url", &endpoint.url, "--webhook-secret", secrets])
}

/// Waits until the webhook has begun: it delivers what happens from then on.
async fn begun(server: &Server) {
    eventually("the webhook begins", SOON, || async {
        (server.stores().number("SELECT count(webhook_position) FROM event_stream WHERE $1 > 0", 1).await
            == 1)
            .then_some(())
    })
    .await;
}

/// Only services set keys.
fn author(server: &Server, subject: &str) -> Client {
    server.client_as(Role::Service, subject)
}

/// Creates and removes a note with this key: one event.
async fn removal(author: &Client, key: &str) {
    let input = json!({ "title": "A", "body": "B", "key": key });
    let note = author.act("createNote", input, "note { id }").await["note"]["id"].clone();
    author.act("deleteNote", json!({ "noteId": note }), "changed").await;
}

/// Accepts nothing until the flag is false.
async fn endpoint_that_is_away() -> (WebhookEndpoint, Arc<AtomicBool>) {
    let is_away = Arc::new(AtomicBool::new(true));
    let away = Arc::clone(&is_away);
    let endpoint = WebhookEndpoint::start(move |_, _| {
        WebhookReply::Status(if away.load(Ordering::Relaxed) { 503 } else { 200 })
    });
    (endpoint.await, is_away)
}

fn keys(batches: &[Delivery]) -> Vec<String> {
    let events = batches.iter().flat_map(Delivery::events);
    events.map(|event| event["target"]["key"].as_str().unwrap_or("-").to_owned()).collect()
}

async fn until_delivered(server: &Server, endpoint: &WebhookEndpoint, expected: &[&str]) {
    let open = "SELECT count(*) FROM webhook_batch WHERE died_at IS NULL AND $1 > 0";
    eventually("everything is delivered", SOON, || async {
        let has_arrived = keys(&endpoint.batches()).len() >= expected.len();
        (has_arrived && server.stores().number(open, 1).await == 0).then_some(())
    })
    .await;
    assert_eq!(keys(&endpoint.batches()), expected);
}

/// What `plaudit webhooks` prints.
fn listed(server: &Server) -> Vec<Value> {
    let output = server.command().args(["webhooks"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_arrive_in_order_with_a_signature_per_secret() {
    let endpoint = WebhookEndpoint::start(|_, _| WebhookReply::Status(204)).await;
    let server = start(&endpoint, &format!("{OLD},{NEW}"));
    begun(&server).await;
    let ann = author(&server, "ann");
    for key in ["post-1", "post-2", "post-3"] {
        removal(&ann, key).await;
    }
    until_delivered(&server, &endpoint, &["post-1", "post-2", "post-3"]).await;
    for delivery in endpoint.deliveries() {
        let signatures: Vec<&str> = delivery.signature.split(' ').collect();
        assert!(signatures.len() == 2 && signatures.iter().all(|one| one.starts_with("v1,")), "{delivery:?}");
        assert_ne!(signatures[0], signatures[1]);
        let age = chrono::Utc::now().timestamp() - delivery.timestamp.parse::<i64>().unwrap();
        assert!((0..=60).contains(&age), "{age}");
    }
    // It is measured again at intervals.
    eventually("nothing lags", SOON, || async {
        (server.metric("plaudit_webhook_lag_seconds").await == 0.0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_sent_again_unchanged_and_redirects_are_not_followed() {
    let elsewhere = WebhookEndpoint::start(|_, _| WebhookReply::Status(204)).await;
    let target = elsewhere.url.clone();
    let endpoint = WebhookEndpoint::start(move |before, _| match before {
        0 => WebhookReply::Status(500),
        1 => WebhookReply::Redirect(target.clone()),
        2 => WebhookReply::Bytes(1 << 20),
        3 => WebhookReply::Status(404),
        _ => WebhookReply::Status(200),
    })
    .await;
    let server = start(&endpoint, OLD);
    begun(&server).await;
    let ann = author(&server, "ann");
    for key in ["post-1", "post-2"] {
        removal(&ann, key).await;
    }
    until_delivered(&server, &endpoint, &["post-1", "post-2"]).await;
    let first = &endpoint.deliveries()[0].id;
    let attempts = endpoint.deliveries().iter().filter(|delivery| delivery.id == *first).count();
    assert_eq!(attempts, 5);
    assert!(elsewhere.deliveries().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_the_endpoint_does_not_want_is_dead_and_the_next_one_follows() {
    let endpoint = WebhookEndpoint::start(|_, delivery| {
        let is = |key: &str| delivery.body.contains(key);
        WebhookReply::Status(if is("unwanted") {
            410
        } else if is("too-late") {
            503
        } else {
            200
        })
    })
    .await;
    let server = start(&endpoint, OLD);
    begun(&server).await;
    let ann = author(&server, "ann");
    let dead = || {
        let listed = listed(&server).into_iter();
        listed.filter(|batch| !batch["diedAt"].is_null()).collect::<Vec<Value>>()
    };
    assert!(dead().is_empty());
    removal(&ann, "unwanted").await;
    eventually("the first one is dead", SOON, || async { (dead().len() == 1).then_some(()) }).await;
    removal(&ann, "too-late").await;
    eventually("it is tried", SOON, || async { (endpoint.batches().len() == 2).then_some(()) }).await;
    let age = "UPDATE webhook_batch SET created_at = now() - interval '4 days' WHERE died_at IS NULL";
    sqlx::query(age).execute(&server.stores().sql().await).await.unwrap();
    eventually("the second one is dead", SOON, || async { (dead().len() == 2).then_some(()) }).await;
    removal(&ann, "wanted").await;
    until_delivered(&server, &endpoint, &["unwanted", "too-late", "wanted"]).await;
    let [first, second] = &dead()[..] else { panic!() };
    assert!(
        first["error"].as_str().unwrap().contains("410") && second["error"].as_str().unwrap().contains("503")
    );
    let bodies = "SELECT count(*) FROM webhook_batch WHERE body IS NOT NULL AND $1 > 0";
    assert_eq!(server.stores().number(bodies, 1).await, 0, "a dead batch has no body");
    // Its events can still be read.
    let again =
        server.command().args(["events", "--after", first["after"].as_str().unwrap()]).output().unwrap();
    assert!(String::from_utf8(again.stdout).unwrap().lines().next().unwrap().contains("unwanted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn why_it_fails_is_in_the_log_once_and_what_plaudit_webhooks_and_the_page_of_operators_say() {
    const FAILS: &str = "the webhook fails, and is tried again";
    let (forbid, accept) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let answers = (Arc::clone(&forbid), Arc::clone(&accept));
    let endpoint = WebhookEndpoint::start(move |_, _| {
        if answers.1.load(Ordering::Relaxed) {
            WebhookReply::Status(200)
        } else if answers.0.load(Ordering::Relaxed) {
            WebhookReply::Text(401, "no such\n\u{1b}[31mcustomer")
        } else {
            WebhookReply::Text(500, "sorry")
        }
    })
    .await;
    let server = Server::start(&["--log", "info", "--webhook-url", &endpoint.url, "--webhook-secret", OLD]);
    begun(&server).await;
    removal(&author(&server, "ann"), "post-1").await;
    let tries = async |more: usize| {
        let before = endpoint.deliveries().len();
        eventually("it is tried again", SOON, || async {
            (endpoint.deliveries().len() >= before + more).then_some(())
        })
        .await;
    };
    tries(3).await;
    forbid.store(true, Ordering::Relaxed);
    let reason = "it answers 401 Unauthorized: \"no such\\n\\u{1b}[31mcustomer\"";
    let batch = eventually("the new reason is listed", SOON, || async {
        listed(&server).into_iter().find(|batch| batch["error"] == reason)
    })
    .await;
    assert!(batch["diedAt"].is_null() && batch["tries"].as_i64().unwrap() >= 3, "{batch}");
    assert!(batch["failedAt"].as_str() > batch["createdAt"].as_str(), "{batch}");
    let page = reqwest::Client::new()
        .get(format!("{}/admin/metrics", server.url))
        .bearer_auth(token_as(Role::Moderator, "ops"));
    let page = page.send().await.unwrap().text().await.unwrap();
    let escaped = reason.replace('\\', "\\\\").replace('"', "\\\"");
    assert!(page.contains(&format!("plaudit_webhook_error{{reason=\"{escaped}\"}} 1")), "{page}");

    accept.store(true, Ordering::Relaxed);
    until_delivered(&server, &endpoint, &["post-1"]).await;
    assert_eq!(listed(&server), [] as [Value; 0]);
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(FAILS)).collect();
    let [first, second] = lines[..] else { panic!("{log}") };
    assert!(first.contains("WARN") && first.contains("500 Internal Server Error: \"sorry\""), "{first}");
    assert!(second.contains(reason), "{second}");
    assert!(!log.contains("keeps failing") && log.matches("webhook works again").count() == 1, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn why_there_is_no_answer_is_in_the_log() {
    let flags = ["--log", "info", "--webhook-url", "http://127.0.0.1:1/", "--webhook-secret", OLD];
    let server = Server::start(&flags);
    begun(&server).await;
    removal(&author(&server, "ann"), "post-1").await;
    let failed = eventually("it has failed", SOON, || async { listed(&server).pop() }).await;
    assert!(failed["error"].as_str().unwrap().contains("Connection refused"), "{failed}");
    eventually("the log says why", SOON, || async {
        server.log().contains("the webhook fails, and is tried again: Connection refused").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_does_not_answer_in_time_gets_the_same_batch_again() {
    let endpoint =
        WebhookEndpoint::start(
            |before, _| {
                if before == 0 { WebhookReply::Silence } else { WebhookReply::Status(200) }
            },
        )
        .await;
    let server = start(&endpoint, OLD);
    begun(&server).await;
    removal(&author(&server, "ann"), "post-1").await;
    until_delivered(&server, &endpoint, &["post-1"]).await;
    assert_eq!((endpoint.deliveries().len(), endpoint.batches().len()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_are_not_kept_any_more_are_skipped_and_counted() {
    let (endpoint, is_away) = endpoint_that_is_away().await;
    let server = start(&endpoint, OLD);
    begun(&server).await;
    let ann = author(&server, "ann");
    removal(&ann, "post-1").await;
    eventually("it is tried", SOON, || async { (!endpoint.deliveries().is_empty()).then_some(()) }).await;
    removal(&ann, "post-2").await;
    assert!(server.metric("plaudit_webhook_lag_seconds").await > 0.0);
    server.stores().delete_events().await;
    is_away.store(false, Ordering::Relaxed);
    let skipped = "plaudit_webhook_attempts_total{outcome=\"skipped\"}";
    eventually("the second one is skipped", SOON, || async {
        (server.metric(skipped).await == 1.0).then_some(())
    })
    .await;
    removal(&ann, "post-3").await;
    until_delivered(&server, &endpoint, &["post-1", "post-3"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_while_it_delivers_misses_no_event_and_repeats_only_whole_batches() {
    let is_slow = Arc::new(AtomicBool::new(true));
    let slow = Arc::clone(&is_slow);
    let endpoint = WebhookEndpoint::start(move |_, _| {
        if slow.load(Ordering::Relaxed) { WebhookReply::Silence } else { WebhookReply::Status(200) }
    })
    .await;
    let mut server = start(&endpoint, OLD);
    begun(&server).await;
    let mut expected = Vec::new();
    for round in 0..3 {
        is_slow.store(true, Ordering::Relaxed);
        let before = endpoint.deliveries().len();
        let ann = author(&server, "ann");
        for number in 0..5 {
            expected.push(format!("post-{round}-{number}"));
            removal(&ann, &expected[expected.len() - 1]).await;
        }
        eventually("a delivery is under way", SOON, || async {
            (endpoint.deliveries().len() > before).then_some(())
        })
        .await;
        server.kill();
        is_slow.store(false, Ordering::Relaxed);
        server.start_again();
    }
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    until_delivered(&server, &endpoint, &expected).await;
    assert!(endpoint.deliveries().len() > endpoint.batches().len(), "a batch was sent twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_waits_is_made_again_without_an_erased_user() {
    let (endpoint, is_away) = endpoint_that_is_away().await;
    let server = start(&endpoint, OLD);
    begun(&server).await;
    removal(&author(&server, "erik-at-example"), "post-1").await;
    eventually("it is tried", SOON, || async { (!endpoint.deliveries().is_empty()).then_some(()) }).await;
    let first = endpoint.deliveries()[0].clone();
    assert!(first.body.contains("erik-at-example"));
    let query = "query { userBySubject(subject: \"erik-at-example\") { id } }";
    let service = server.client_as(Role::Service, "a service");
    let erik = service.data(query, json!({})).await["userBySubject"]["id"].clone();
    service.act("eraseUser", json!({ "userId": erik }), "changed").await;
    eventually("the body is emptied", SOON, || async {
        let left = "SELECT count(*) FROM webhook_batch WHERE strpos(body, 'erik-at-example') > 0 AND $1 > 0";
        let unfinished = "SELECT count(*) FROM backfill WHERE finished_at IS NULL AND $1 > 0";
        let stores = server.stores();
        (stores.number(left, 1).await + stores.number(unfinished, 1).await == 0).then_some(())
    })
    .await;
    let tries = endpoint.deliveries().len();
    is_away.store(false, Ordering::Relaxed);
    let last = eventually("it is delivered", SOON, || async {
        endpoint.deliveries().into_iter().skip(tries).find(|delivery| delivery.id == first.id)
    })
    .await;
    assert!(!last.body.contains("erik-at-example") && last.body.contains("post-1"), "{}", last.body);
}
