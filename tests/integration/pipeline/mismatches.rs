//! A batch whose rows move otherwise than its events say is counted by cause, logged if nothing explains it, and its
//! counts are right all the same.

use plaudit_token_auth::Role;
use serde_json::json;
use support::{SOON, Server, eventually, note, user};

const LOG_LINE: &str = "rows moved differently than events";

async fn mismatches(server: &Server, cause: &str) -> f64 {
    server.metric(&format!("plaudit_persist_mismatches_total{{cause=\"{cause}\"}}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_like_whose_row_was_on_already_is_counted_and_logged_as_unexplained() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (first, second) = (stores.new_note().await, stores.new_note().await);
    let ann = server.client("ann mismatches");
    // Redis knows ann's likes now.
    ann.like(&note(first)).await;
    stores.rest().await;
    assert_eq!((mismatches(&server, "unexplained").await, mismatches(&server, "excluded").await), (0.0, 0.0));
    let actor = stores.user_of("ann mismatches").await;
    let sql = format!(
        "INSERT INTO note_like VALUES ({actor}, {second}, true, true, now(), now());
         UPDATE note_counts SET likes = likes + 1 WHERE id = {second};
         UPDATE user_counts SET likes_received = likes_received + 1
         WHERE id = (SELECT author_id FROM note WHERE id = {second})"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&stores.sql().await).await.unwrap();
    for changed in [true, false] {
        assert_eq!(ann.like(&note(second)).await["changed"], changed);
    }
    stores.rest().await;
    // The note and its author.
    assert_eq!((mismatches(&server, "unexplained").await, mismatches(&server, "excluded").await), (2.0, 0.0));
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(LOG_LINE)).collect();
    assert!(lines.len() == 1 && lines[0].contains(&format!("note_{second}")), "{lines:?}");
    eventually("the like counts once", SOON, || async {
        (ann.note(&note(second)).await["likeCount"] == 1).then_some(())
    })
    .await;
    assert_eq!(stores.likes(second).await.total, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_of_a_hidden_user_are_counted_as_excluded_and_not_logged() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (liked, actor) = (stores.new_note().await, server.client("mallory mismatches"));
    actor.like(&note(stores.new_note().await)).await;
    stores.rest().await;
    let me = user(stores.user_of("mallory mismatches").await);
    server
        .client_as(Role::Moderator, "the moderator")
        .act("hideUser", json!({ "userId": me }), "changed")
        .await;
    actor.like(&note(liked)).await;
    stores.rest().await;
    assert_eq!(mismatches(&server, "excluded").await, 2.0);
    actor.unlike(&note(liked)).await;
    stores.rest().await;
    assert_eq!(mismatches(&server, "excluded").await, 4.0);
    assert_eq!(mismatches(&server, "unexplained").await, 0.0);
    assert!(!server.log().contains(LOG_LINE), "{}", server.log());
}
