//! `plaudit explain` shows what all stores hold of one entity, and reports drift.

use serde_json::{Value, json};

use crate::support::{Server, note, user};

fn explain(server: &Server, flags: &[&str]) -> String {
    let output = server.command().arg("explain").args(flags).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_shows_a_note_in_all_stores_and_reports_drift_and_its_repair() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let ann = server.client("ann explains");
    ann.like(&note(id)).await;
    stores.rest().await;
    let actor = stores.user_of("ann explains").await;

    for spelling in [note(id), format!("note:{id}")] {
        let page = explain(&server, &[&spelling, "--actor", &user(actor)]);
        assert!(page.ends_with("=> all agree\n"), "{page}");
        for part in [
            &format!("note_like on  by user:{actor}, new total 1"),
            &format!("note_like by user:{actor}: on"),
            "row            on, included",
            "cached set     in it",
            "retired    1 note_like",
            "version ",
        ] {
            assert!(page.contains(part), "{part:?} is missing in\n{page}");
        }
    }

    let plant = format!("UPDATE note_counts SET likes = 4 WHERE id = {id}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(plant)).execute(&stores.sql().await).await.unwrap();
    let page = explain(&server, &[&note(id)]);
    assert!(page.contains("=> likes: the total is 4, the rows say 1 (+3)"), "{page}");
    assert!(page.ends_with(&format!("plaudit reconcile --repair --entity note:{id}\n")), "{page}");
    let repair = ["reconcile", "--repair", "--entity", &note(id)];
    assert!(server.command().args(repair).output().unwrap().status.success());
    stores.rest().await;
    let page = explain(&server, &[&note(id)]);
    assert!(page.contains("(command): total likes 4 -> 1") && page.ends_with("=> all agree\n"), "{page}");

    let report: Value = serde_json::from_str(&explain(&server, &[&note(id), "--format", "json"])).unwrap();
    let likes = &report["counters"][0];
    assert_eq!(
        (&likes["name"], &likes["total"], &likes["rows"]),
        (&json!("likes"), &json!(1), &json!({ "counted": 1 }))
    );
    assert_eq!(report["last_repairs"][0]["from"], 4);
    assert_eq!(report["logs"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_likes_are_shown_as_pending() {
    let server = Server::start(&["--batch-wait", "5s"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let ann = server.client("ann is explained");
    ann.note(&note(id)).await; // loads the counts
    ann.like(&note(id)).await;
    let actor = stores.user_of("ann is explained").await;
    let output = explain(&server, &[&note(id), "--actor", &user(actor), "--format", "json"]);
    let report: Value = serde_json::from_str(&output).unwrap();
    let likes = &report["counters"][0];
    assert_eq!((&likes["total"], &likes["redis"], &likes["pending"]), (&json!(0), &json!(1), &json!(1)));
    assert_eq!(report["last_events"][0]["state"], "folded");
    assert_eq!(report["edges"][0]["pending"]["is_on"], true);
    assert_eq!((&report["edges"][0]["row"], &report["findings"]), (&Value::Null, &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entity_that_never_existed_is_reported_as_such() {
    let page = explain(Server::shared(), &["comment:8000000000"]);
    assert!(page.starts_with("comment:8000000000   never existed"), "{page}");
    assert!(page.ends_with("=> it does not exist\n"), "{page}");
}
