use std::collections::BTreeSet;

use serde_json::json;

use crate::support::{SOON, Server, eventually, note};

/// Names in the README's table.
fn documented() -> BTreeSet<String> {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let rows = readme.lines().filter_map(|line| line.strip_prefix("| `plaudit_"));
    rows.map(|rest| format!("plaudit_{}", rest.split('`').next().unwrap())).collect()
}

/// Names that a server exports.
async fn exported(server: &Server) -> BTreeSet<String> {
    let text = reqwest::get(format!("{}/metrics", server.url)).await.unwrap().text().await.unwrap();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.map(|rest| rest.split(' ').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_metric_stands_in_the_readme_and_everything_there_is_exported() {
    let server = Server::start(&["--reconcile-sample", "20"]);
    let id = server.stores().new_note().await;
    server.client("ann is measured").like(&note(id)).await;
    server.anonymous().error("{ note(id: \"note_0\") { id } }", json!({})).await;
    server.stores().rest().await;
    // Some are told once a second.
    eventually("all metrics are exported", SOON, || async {
        documented().is_subset(&exported(&server).await).then_some(())
    })
    .await;
    let (documented, exported) = (documented(), exported(&server).await);
    let missing: Vec<_> = exported.difference(&documented).collect();
    assert!(missing.is_empty(), "not in the README's table of metrics: {missing:?}");
}

#[tokio::test]
async fn a_process_that_runs_only_the_pipeline_is_measured_too() {
    let server = Server::start(&["--roles", "pipeline"]);
    let metrics = server.metrics().await;
    for store in ["Redis", "PostgreSQL"] {
        assert_eq!(metrics[&format!("plaudit_breaker_open{{dependency=\"{store}\"}}")], 0.0);
    }
    assert_eq!(metrics["plaudit_lost_events_total{shard=\"0\"}"], 0.0);
}
