//! Coins: an append-only ledger and a balance that is never negative.

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::json;
use support::{Server, user};

#[tokio::test(flavor = "multi_thread")]
async fn coins_are_granted_and_taken_and_a_balance_is_never_negative() {
    let server = Server::shared();
    let stores = server.stores();
    let (service, id) = (server.client_as(Role::Service, "the shop"), stores.new_user().await);
    let grant = |amount: i64| {
        let input = json!({ "userId": user(id), "amount": amount, "reason": "A test" });
        let service = &service;
        async move { service.act("grantCoins", input, "user { coinCount }").await }
    };
    assert_eq!(grant(10).await, json!({ "user": { "coinCount": 10 } }));
    assert_eq!(grant(-4).await["user"]["coinCount"], 6);
    let too_many = json!({ "userId": user(id), "amount": -7, "reason": "A test" });
    assert_eq!(
        service.refused("grantCoins", too_many).await,
        ("BAD_USER_INPUT".into(), Some("amount".into()))
    );
    // 64 concurrent grants, half of them with the same key.
    let race = (0..64).map(|i| {
        let key = if i % 2 == 0 { "the same".to_owned() } else { format!("grant {i}") };
        let input = json!({ "userId": user(id), "amount": 1, "reason": "A race", "idempotencyKey": key });
        service.act("grantCoins", input, "__typename")
    });
    join_all(race).await;
    let reply = server
        .anonymous()
        .data("query ($u: ID!) { user(id: $u) { coinCount } }", json!({ "u": user(id) }))
        .await;
    assert_eq!(reply["user"]["coinCount"], 6 + 33);
    assert_eq!(stores.number("SELECT sum(amount)::bigint FROM coin_ledger WHERE user_id = $1", id).await, 39);
    let last = "SELECT balance_after FROM coin_ledger WHERE user_id = $1 ORDER BY id DESC LIMIT 1";
    assert_eq!(stores.number(last, id).await, 39);
    assert_eq!(stores.number("SELECT coins FROM user_counts WHERE id = $1", id).await, 39);
}

#[tokio::test]
async fn the_ledger_is_append_only() {
    let server = Server::shared();
    let stores = server.stores();
    let service = server.client_as(Role::Service, "the bank");
    let input = json!({ "userId": user(stores.new_user().await), "amount": 5, "reason": "A test" });
    service.act("grantCoins", input, "__typename").await;
    for change in ["UPDATE coin_ledger SET amount = 500", "DELETE FROM coin_ledger", "TRUNCATE coin_ledger"] {
        let error = sqlx::query(change).execute(&stores.sql().await).await.unwrap_err();
        assert!(error.to_string().contains("append-only"), "{error}");
    }
}

#[tokio::test]
async fn only_services_grant_coins() {
    let server = Server::shared();
    let input = json!({ "userId": user(server.stores().new_user().await), "amount": 5, "reason": "Me" });
    for (client, code) in [
        (server.anonymous(), "UNAUTHENTICATED"),
        (server.client("ann is greedy"), "FORBIDDEN"),
        (server.client_as(Role::Moderator, "bob moderates"), "FORBIDDEN"),
    ] {
        assert_eq!(client.refused("grantCoins", input.clone()).await.0, code);
    }
}
