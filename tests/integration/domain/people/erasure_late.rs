//! What comes late for an erased user: texts that are approved after the erasure, and actions under way during it.

use plaudit_token_auth::Role;
use serde_json::json;

use super::erasure::{comment, note};
use support::{
    Answer, ModerationService, SOON, Server, drift, eventually, number, rows_of, tables_with, until_erased,
};

const NAME: &str = "Lena Latesdottir";
const WORDS: &str = "words-of-lena";

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_and_a_mention_that_are_approved_after_an_erasure_tell_nobody() {
    let service =
        ModerationService::start(|text| if text == "Held" { Answer::Held } else { Answer::Approve }).await;
    let server = Server::start(&service.flags("60s"));
    let stores = server.stores();
    let (lena, ann) = (server.client("lena is told"), server.client("ann tells"));
    let of_ann = note(&ann, "Of Ann").await;
    let answered = comment(&lena, &of_ann, None, "Answer me").await;
    let erased = json!(format!("user_{}", stores.user_of("lena is told").await));
    for input in [
        json!({ "noteId": of_ann, "body": "Held", "replyToId": answered }),
        json!({ "noteId": of_ann, "body": "Held", "mentions": [erased] }),
    ] {
        ann.act("addComment", input, "comment { id }").await;
    }
    let moderator = server.client_as(Role::Moderator, "the moderator");
    moderator.act("eraseUser", json!({ "userId": erased }), "changed").await;
    until_erased(&stores, &erased).await;
    service.open();
    let query = "query ($n: ID!) { note(id: $n) { commentCount } }";
    eventually("both are approved", SOON, || async {
        let seen = ann.data(query, json!({ "n": of_ann })).await;
        (seen["note"]["commentCount"] == 2).then_some(())
    })
    .await;
    let told = "SELECT count(*) FROM inbox_entry WHERE recipient_id = $1";
    assert_eq!(stores.number(told, number(&erased)).await, 0);
    assert_eq!(drift(&server), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_and_a_message_under_way_during_an_erasure_leave_nothing() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (lena, ann) = (server.client("lena is paid"), server.client("ann is written to"));
    lena.act("updateProfile", json!({ "name": NAME }), "changed").await;
    ann.act("updateProfile", json!({ "name": "Ann" }), "changed").await;
    let erased = json!(format!("user_{}", stores.user_of("lena is paid").await));
    let other = stores.user_of("ann is written to").await;
    // Both actions have begun, and wait for totals.
    let mut held = stores.sql().await.begin().await.unwrap();
    for (table, id) in [("user_counts", number(&erased)), ("inbox_counts", other)] {
        let lock = format!("SELECT id FROM {table} WHERE id = {id} FOR UPDATE");
        sqlx::query(sqlx::AssertSqlSafe(lock)).fetch_one(&mut *held).await.unwrap();
    }
    let service = server.client_as(Role::Service, "a service");
    let coins = json!({ "userId": erased, "amount": 5, "reason": WORDS });
    let message = json!({ "senderId": erased, "recipientId": format!("user_{other}") });
    let acting = [("grantCoins", coins), ("recordMessage", message)].map(|(mutation, input)| {
        let service = service.clone();
        tokio::spawn(async move { service.act(mutation, input, "__typename").await })
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND $1 > 0";
    eventually("both wait", SOON, || async { (stores.number(waiting, 1).await == 2).then_some(()) }).await;
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let input = json!({ "userId": erased });
    let erasing = tokio::spawn(async move { moderator.act("eraseUser", input, "changed").await });
    // It must wait for them, too, or else it is over before they go on.
    let left = "SELECT count(*) FROM backfill WHERE finished_at IS NULL AND $1 > 0";
    eventually("the erasure waits or is over", SOON, || async {
        let is_over = erasing.is_finished() && stores.number(left, 1).await == 0;
        (is_over || stores.number(waiting, 1).await == 3).then_some(())
    })
    .await;
    held.rollback().await.unwrap();
    for action in acting {
        action.await.unwrap();
    }
    erasing.await.unwrap();
    until_erased(&stores, &erased).await;
    assert_eq!(rows_of(&stores, &erased).await, 0);
    assert_eq!(tables_with(&stores, WORDS).await, Vec::<String>::new());
    assert_eq!(drift(&server), Vec::<String>::new());
}
