//! Follows: counts of both users, rows, inbox entry and the limit of follows per user.

use serde_json::json;
use support::{SOON, Server, eventually, user};

#[tokio::test]
async fn a_follow_is_counted_once_for_both_users_and_undone_once() {
    let server = Server::shared();
    let target = user(server.stores().new_user().await);
    let follower = server.client("ann follows");
    for changed in [true, false] {
        let payload = follower.follow(&target).await;
        assert_eq!(payload["changed"], changed);
        assert_eq!(payload["user"]["followerCount"], 1);
        assert_eq!(payload["user"]["viewerIsFollowing"], true);
        assert_eq!(payload["viewer"]["user"]["followingCount"], 1);
    }
    for changed in [true, false] {
        let payload = follower.unfollow(&target).await;
        assert_eq!(payload["changed"], changed);
        assert_eq!(payload["user"]["followerCount"], 0);
        assert_eq!(payload["viewer"]["user"]["followingCount"], 0);
    }
}

#[tokio::test]
async fn a_follow_reaches_the_rows_and_the_inbox() {
    let server = Server::shared();
    let stores = server.stores();
    let target = stores.new_user().await;
    server.client("ben is persisted").follow(&user(target)).await;
    let sql = stores.sql().await;
    eventually("the follower in PostgreSQL", SOON, || async {
        let counts: (i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM follow WHERE target_id = $1 AND is_on),
                    (SELECT followers FROM user_counts WHERE id = $1),
                    (SELECT followers FROM inbox_counts WHERE id = $1)",
        )
        .bind(target)
        .fetch_one(&sql)
        .await
        .unwrap();
        (counts == (1, 1, 1)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn users_cannot_follow_themselves() {
    let server = Server::shared();
    let loner = server.client("cat is alone");
    let me = loner.follow(&user(server.stores().new_user().await)).await["viewer"]["user"]["id"].clone();
    let query = "mutation ($u: ID!) { follow(input: { userId: $u }) { changed } }";
    let error = loner.error(query, json!({ "u": me })).await;
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT");
    assert_eq!(error["extensions"]["argument"], "userId");
}

#[tokio::test]
async fn the_follow_limit_holds_exactly_also_for_concurrent_follows() {
    let server = Server::start(&["--follow-limit", "5"]);
    let stores = server.stores();
    let mut targets = Vec::new();
    for _ in 0..20 {
        targets.push(user(stores.new_user().await));
    }
    let follower = server.client("dot follows everybody").retrying();
    let query = "mutation ($u: ID!) { follow(input: { userId: $u }) { changed } }";
    let replies =
        futures_util::future::join_all(targets.iter().map(|u| follower.send(query, json!({ "u": u })))).await;
    let followed: Vec<_> =
        targets.iter().zip(&replies).filter(|(_, reply)| reply.body.get("errors").is_none()).collect();
    assert_eq!(followed.len(), 5);
    for reply in replies.iter().filter(|reply| reply.body.get("errors").is_some()) {
        let extensions = &reply.body["errors"][0]["extensions"];
        assert_eq!(
            (&extensions["code"], &extensions["reason"]),
            (&json!("BAD_USER_INPUT"), &json!("FOLLOW_LIMIT"))
        );
    }
    // Following the same user again changes nothing; after an unfollow another follow is possible.
    let (target, _) = followed[0];
    assert_eq!(follower.follow(target).await["changed"], false);
    follower.unfollow(target).await;
    assert_eq!(follower.follow(target).await["changed"], true);
    assert_eq!(
        follower.error(query, json!({ "u": first_unfollowed(&targets, &followed) })).await["extensions"]["reason"],
        "FOLLOW_LIMIT"
    );
}

fn first_unfollowed<T>(targets: &[String], followed: &[(&String, T)]) -> String {
    targets.iter().find(|target| followed.iter().all(|(other, _)| other != target)).unwrap().clone()
}
