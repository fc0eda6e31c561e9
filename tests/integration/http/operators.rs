//! What operators and balancers ask: probes, the state of a process, and an address for operators alone.

use std::sync::Arc;

use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{
    Client, SOON, Server, Stores, eventually, free_port,
    raw::{Raw, request},
    token_as,
};
use tokio::{net::TcpStream, task::spawn_blocking};

/// What only operators get if they have an address of their own.
const OF_OPERATORS: [&str; 4] = ["/metrics", "/status", "/admin", "/admin/metrics"];

/// The flags for an address of operators, and its URL.
fn operators() -> ([String; 2], String) {
    let address = format!("127.0.0.1:{}", free_port());
    (["--operator-listen".to_owned(), address.clone()], format!("http://{address}"))
}

async fn status(url: &str, path: &str) -> u16 {
    let request = request("GET", &format!("{url}{path}")).bearer_auth(token_as(Role::Moderator, "ops"));
    Raw::of(request).await.status
}

async fn until(url: &str, path: &str, expected: u16) {
    eventually("the process says how it is", SOON, || async {
        (status(url, path).await == expected).then_some(())
    })
    .await;
}

#[tokio::test]
async fn with_an_address_of_their_own_only_operators_get_metrics_state_and_their_page() {
    let ([flag, address], url) = operators();
    let api = Server::start(&[&flag, &address]);
    let ([flag, address], pipelines_url) = operators();
    let pipeline = Server::start(&["--roles", "pipeline", &flag, &address]);
    for path in OF_OPERATORS {
        assert_eq!((status(&api.url, path).await, status(&url, path).await), (404, 200), "{path}");
        let of_pipeline = if path.starts_with("/admin") { 404 } else { 200 };
        let statuses = (status(&pipeline.url, path).await, status(&pipelines_url, path).await);
        assert_eq!(statuses, (404, of_pipeline), "{path} of a pipeline process");
    }
    for path in ["/livez", "/readyz"] {
        for url in [&api.url, &url, &pipeline.url, &pipelines_url] {
            assert_eq!(status(url, path).await, 200, "{path} at {url}");
        }
    }
    // It serves everything.
    for url in [&api.url, &url] {
        let data = Client::new(url, None).data("{ __typename }", json!({})).await;
        assert_eq!(data["__typename"], "Query");
        assert_eq!(status(url, "/graphiql").await, 200);
    }
    assert!(api.printed().contains(&format!("admin     {url}/admin")), "{}", api.printed());
}

#[tokio::test]
async fn clients_with_all_connections_do_not_keep_operators_out() {
    let ([flag, address], url) = operators();
    let server = Server::start(&["--connections", "10", "--client-timeout", "5m", &flag, &address]);
    let public = server.url.trim_start_matches("http://");
    let mut held = Vec::new();
    for _ in 0..30 {
        held.push(TcpStream::connect(public).await.unwrap());
    }
    for path in OF_OPERATORS {
        assert_eq!(status(&url, path).await, 200, "{path}");
    }
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_ready_when_all_was_right_once_and_then_until_it_stops() {
    let stores = Arc::new(Stores::start(AppendFsync::EverySec).await);
    // Leaves tables, and shards that nobody owns.
    let mut pipeline = Server::start_on(&stores, &["--roles", "pipeline", "--lease", "1s"]);
    pipeline.stop();
    let ([flag, address], url) = operators();
    let starting = {
        let stores = Arc::clone(&stores);
        let flags =
            ["--roles".to_owned(), "api".into(), "--shutdown-spread".into(), "10s".into(), flag, address];
        spawn_blocking(move || {
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            Server::start_on(&stores, &flags)
        })
    };
    let state = eventually("the process lives", SOON, || async {
        let alive = reqwest::get(format!("{url}/livez")).await.ok()?;
        assert_eq!(alive.status(), 200);
        let state = reqwest::get(format!("{url}/status")).await.ok()?;
        let is_wrong = state.status() == 503;
        let state: Value = serde_json::from_str(&state.text().await.ok()?).unwrap();
        // Of the parts only the shards are not right.
        let wrong = state["dependencies"].as_array().unwrap().iter().filter(|part| part["ok"] == false);
        let wrong: Vec<&Value> = wrong.map(|part| &part["name"]).collect();
        (is_wrong && wrong == ["shards"]).then_some(state)
    })
    .await;
    assert_eq!((&state["ready"], state["shards"][0]["process"].is_null()), (&json!(false), true), "{state}");
    assert_eq!(status(&url, "/readyz").await, 503);
    assert!(!starting.is_finished());

    pipeline.start_again();
    let mut api = starting.await.unwrap();
    assert_eq!(status(&api.url, "/readyz").await, 200);
    until(&url, "/status", 200).await;
    pipeline.kill();
    until(&url, "/status", 503).await;
    assert_eq!(status(&api.url, "/readyz").await, 200, "it was ready, and clients are served");

    api.begin_stop();
    until(&api.url, "/readyz", 503).await;
    assert_eq!(status(&api.url, "/livez").await, 200);
    api.kill();
}
