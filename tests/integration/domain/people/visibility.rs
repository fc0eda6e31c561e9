//! Visibility: edges of hidden users are excluded from counts and lists, and included again after a restore.

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, SOON, Server, Stores, eventually, note, user};

const VISIBILITY: &str = "isHidden isSettled settledCount totalCount";

async fn visibility(moderator: &Client, id: &str) -> Value {
    let query = format!("query ($u: ID!) {{ user(id: $u) {{ visibility {{ {VISIBILITY} }} }} }}");
    moderator.data(&query, json!({ "u": id })).await["user"]["visibility"].clone()
}

async fn until_settled(moderator: &Client, stores: &Stores, id: &str) -> Value {
    let visibility = eventually("the backfill has ended", SOON, || async {
        let visibility = visibility(moderator, id).await;
        (visibility["isSettled"] == true).then_some(visibility)
    })
    .await;
    stores.rest().await;
    visibility
}

/// Counts of everything that the user of these tests touches.
async fn counts(server: &Server, ids: &[&str]) -> Vec<i64> {
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { likeCount collectCount author { likesReceivedCount } }
        ... on User { followerCount followingCount } ... on Group { memberCount } } }";
    let nodes = server.anonymous().data(query, json!({ "ids": ids })).await["nodes"].clone();
    let mut counts = Vec::new();
    for node in nodes.as_array().unwrap() {
        counts.extend(
            node.as_object()
                .unwrap()
                .values()
                .map(|value| value.as_i64().or(value["likesReceivedCount"].as_i64()).unwrap()),
        );
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn edges_of_a_hidden_user_are_excluded_from_all_counts_and_included_again_after_a_restore() {
    let server = Server::shared();
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let actor = server.client("mallory");
    let (n, u) = (note(stores.new_note().await), user(stores.new_user().await));
    let g = format!("group_{}", stores.new_group().await);
    actor.act("likeNote", json!({ "noteId": n }), "changed").await;
    actor.act("collectNote", json!({ "noteId": n }), "changed").await;
    actor.act("follow", json!({ "userId": u }), "changed").await;
    actor.act("joinGroup", json!({ "groupId": g }), "changed").await;
    stores.rest().await;
    let me = user(stores.user_of("mallory").await);
    let all = [n.as_str(), &u, &g, &me];
    // Likes, collects, likes received; followers and following of the followed user; members; both of the hidden user.
    let visible_counts = vec![1, 1, 1, 1, 0, 1, 0, 1];
    let none = vec![0; 8];
    assert_eq!(counts(server, &all).await, visible_counts);

    let fields = format!("changed user {{ id visibility {{ {VISIBILITY} }} }}");
    for changed in [true, false] {
        let payload = moderator.act("hideUser", json!({ "userId": me }), &fields).await;
        assert_eq!(payload["changed"], changed);
        assert_eq!(payload["user"]["visibility"]["isHidden"], true);
        assert_eq!(payload["user"]["id"], me);
    }
    let progress = until_settled(&moderator, &stores, &me).await;
    assert_eq!((&progress["settledCount"], &progress["totalCount"]), (&json!(4), &json!(4)));
    assert_eq!(counts(server, &all).await, none);
    // New edges of a hidden user do not count either; the user sees no difference.
    let other = note(stores.new_note().await);
    assert_eq!(actor.act("likeNote", json!({ "noteId": other }), "changed").await["changed"], true);
    actor.act("uncollectNote", json!({ "noteId": n }), "changed").await;
    stores.rest().await;
    assert_eq!(counts(server, &[&other]).await, [0, 0, 0]);
    assert_eq!(counts(server, &all).await, none);
    let likers = "query ($n: ID!) { note(id: $n) { viewerHasLiked likers { nodes { id } } } }";
    let hidden = actor.data(likers, json!({ "n": n })).await["note"].clone();
    assert_eq!(hidden, json!({ "viewerHasLiked": true, "likers": { "nodes": [] } }));

    for changed in [true, false] {
        let payload = moderator.act("restoreUser", json!({ "userId": me }), "changed").await;
        assert_eq!(payload["changed"], changed);
    }
    until_settled(&moderator, &stores, &me).await;
    let without_collect = vec![1, 0, 1, 1, 0, 1, 0, 1];
    assert_eq!(counts(server, &all).await, without_collect);
    assert_eq!(counts(server, &[&other]).await, [1, 0, 1]);
    let back = actor.data(likers, json!({ "n": n })).await["note"].clone();
    assert_eq!(back["likers"]["nodes"], json!([{ "id": me }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn hiding_a_user_with_thousands_of_likes_continues_after_a_kill_and_excludes_each_like_once() {
    const LIKES: i64 = 12_000;
    let mut server = Server::start(&[]);
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    server.client("trudy").like(&note(stores.new_note().await)).await;
    stores.rest().await;
    let (id, author, sql) = (stores.user_of("trudy").await, stores.new_user().await, stores.sql().await);
    sqlx::query(
        "WITH n AS (INSERT INTO note (author_id, title, body) SELECT $1, 'x', 'x' FROM generate_series(1, $3)
                    RETURNING id)
         INSERT INTO note_like SELECT $2, id, true, true, now(), now() FROM n",
    )
    .bind(author)
    .bind(id)
    .bind(LIKES)
    .execute(&sql)
    .await
    .unwrap();
    sqlx::query(
        "UPDATE note_counts SET likes = 1 FROM note AS n WHERE n.id = note_counts.id AND n.author_id = $1",
    )
    .bind(author)
    .execute(&sql)
    .await
    .unwrap();
    sqlx::query("UPDATE user_counts SET likes_received = $2 WHERE id = $1")
        .bind(author)
        .bind(LIKES)
        .execute(&sql)
        .await
        .unwrap();
    let received = "SELECT likes_received FROM user_counts WHERE id = $1";

    moderator.act("hideUser", json!({ "userId": user(id) }), "changed").await;
    eventually("the backfill has begun", SOON, || async {
        (stores.number(received, author).await < LIKES).then_some(())
    })
    .await;
    server.kill();
    server.start_again();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let progress = until_settled(&moderator, &stores, &user(id)).await;
    assert_eq!((&progress["settledCount"], &progress["totalCount"]), (&json!(LIKES + 1), &json!(LIKES + 1)));
    assert_eq!(stores.number(received, author).await, 0);
    let included = "SELECT count(*) FROM note_like WHERE actor_id = $1 AND included";
    assert_eq!(stores.number(included, id).await, 0);
    let totals =
        "SELECT sum(c.likes)::bigint FROM note_counts AS c JOIN note AS n USING (id) WHERE n.author_id = $1";
    assert_eq!(stores.number(totals, author).await, 0);

    // Restored while hiding is in progress: the newer request wins.
    moderator.act("restoreUser", json!({ "userId": user(id) }), "changed").await;
    moderator.act("hideUser", json!({ "userId": user(id) }), "changed").await;
    moderator.act("restoreUser", json!({ "userId": user(id) }), "changed").await;
    until_settled(&moderator, &stores, &user(id)).await;
    assert_eq!(stores.number(received, author).await, LIKES);
    assert_eq!(stores.number(totals, author).await, LIKES);
    let reply = server
        .anonymous()
        .data("query ($u: ID!) { user(id: $u) { likesReceivedCount } }", json!({ "u": user(author) }))
        .await;
    assert_eq!(reply["user"]["likesReceivedCount"], LIKES);
}

#[tokio::test]
async fn only_moderators_and_services_hide_users_and_see_their_visibility() {
    let server = Server::shared();
    let id = user(server.stores().new_user().await);
    for (client, code) in
        [(server.anonymous(), "UNAUTHENTICATED"), (server.client("ann is no moderator"), "FORBIDDEN")]
    {
        assert_eq!(client.refused("hideUser", json!({ "userId": id })).await.0, code);
        assert_eq!(client.refused("restoreUser", json!({ "userId": id })).await.0, code);
        let query = "query ($u: ID!) { user(id: $u) { visibility { isHidden } } }";
        assert_eq!(client.error(query, json!({ "u": id })).await["extensions"]["code"], code);
    }
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let unknown = moderator.refused("hideUser", json!({ "userId": "user_9000000000" })).await;
    assert_eq!(unknown.0, "NOT_FOUND");
}
