//! Likes: idempotent, counted once, persisted with totals, inbox entry and history.

use serde_json::{Value, json};
use support::{SOON, Server, eventually, note, user};

#[tokio::test]
async fn a_like_is_counted_once_and_undone_once_also_when_requests_repeat() {
    let server = Server::shared();
    let stores = server.stores();
    let id = stores.new_note().await;
    let (n, liker) = (note(id), server.client("ada likes"));

    assert_eq!(liker.note(&n).await["viewerHasLiked"], false);
    for changed in [true, false] {
        let payload = liker.like(&n).await;
        assert_eq!(payload["changed"], changed);
        assert_eq!(payload["note"]["likeCount"], 1);
        assert_eq!(payload["note"]["viewerHasLiked"], true);
    }
    assert_eq!(liker.note(&n).await["author"]["likesReceivedCount"], 1);
    for changed in [true, false] {
        let payload = liker.unlike(&n).await;
        assert_eq!(payload["changed"], changed);
        assert_eq!(payload["note"]["likeCount"], 0);
        assert_eq!(payload["note"]["viewerHasLiked"], false);
    }
    assert_eq!(liker.note(&n).await["author"]["likesReceivedCount"], 0);
}

#[tokio::test]
async fn an_unlike_without_a_like_changes_nothing() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let payload = server.client("bea never liked").unlike(&n).await;
    assert_eq!(payload["changed"], false);
    assert_eq!(payload["note"]["likeCount"], 0);
}

#[tokio::test]
async fn a_like_is_persisted_with_its_totals_inbox_entry_and_history() {
    let server = Server::shared();
    let stores = server.stores();
    let id = stores.new_note().await;
    let liker = server.client("cyd is persisted");
    liker.like(&note(id)).await;
    liker.unlike(&note(id)).await;
    liker.like(&note(id)).await;

    let sql = stores.sql().await;
    eventually("three steps in the history", SOON, || async {
        let steps: Vec<(bool, i64)> = sqlx::query_as(
            "SELECT is_on, total_after FROM activity NATURAL JOIN kind_name WHERE name = 'note_like' AND target_id = $1 ORDER BY at, total_after",
        )
        .bind(id)
        .fetch_all(&sql)
        .await
        .unwrap();
        (steps.len() == 3).then(|| {
            let ups = steps.iter().filter(|step| **step == (true, 1)).count();
            assert_eq!((ups, steps.contains(&(false, 0))), (2, true), "{steps:?}");
        })
    })
    .await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (1, 1, Some(1)));
    let inbox: (i64, i64) = sqlx::query_as(
        "SELECT count(*), max(c.likes) FROM inbox_entry AS e JOIN kind_name AS k ON k.kind = e.kind
         JOIN note AS n ON n.author_id = e.recipient_id JOIN inbox_counts AS c ON c.id = e.recipient_id
         WHERE n.id = $1 AND k.name = 'note_like'",
    )
    .bind(id)
    .fetch_one(&sql)
    .await
    .unwrap();
    assert_eq!(inbox, (1, 1));
}

#[tokio::test]
async fn the_same_idempotency_key_gives_the_first_result_again_also_after_the_unlike() {
    let server = Server::shared();
    let stores = server.stores();
    let n = note(stores.new_note().await);
    let liker = server.client("dan retries");
    let like = |key: &str| {
        let query = "mutation ($n: ID!, $k: String) {
            likeNote(input: { noteId: $n, idempotencyKey: $k }) { changed note { likeCount } } }";
        let (liker, n, key) = (liker.clone(), n.clone(), key.to_owned());
        async move { liker.data(query, json!({ "n": n, "k": key })).await["likeNote"].clone() }
    };
    assert_eq!(like("key 1").await["changed"], true);
    assert_eq!(like("key 1").await["changed"], true);
    liker.unlike(&n).await;
    let late = like("key 1").await;
    assert_eq!((&late["changed"], &late["note"]["likeCount"]), (&json!(true), &json!(0)));
    assert_eq!(like("key 2").await["changed"], true);

    let other = note(stores.new_note().await);
    let query =
        "mutation ($n: ID!) { likeNote(input: { noteId: $n, idempotencyKey: \"key 1\" }) { changed } }";
    let error = liker.error(query, json!({ "n": other })).await;
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT");
    assert_eq!(error["extensions"]["reason"], "KEY_REUSED");
}

#[tokio::test]
async fn a_user_without_an_account_gets_one_at_the_first_mutation() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let newcomer = server.client(&format!("newcomer {}", uuid::Uuid::new_v4()));
    assert_eq!(newcomer.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"], Value::Null);
    assert_eq!(newcomer.note(&n).await["viewerHasLiked"], false);
    newcomer.like(&n).await;
    assert!(newcomer.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].is_string());
}

#[tokio::test]
async fn whoever_has_no_user_switches_nothing_off_and_gets_none() {
    let server = Server::shared();
    let stores = server.stores();
    let id = stores.new_note().await;
    let n = note(id);
    let (other, group) = (user(stores.new_user().await), format!("group_{}", stores.new_group().await));
    let comment = format!("comment_{}", stores.new_comment(id).await);
    let newcomer = server.client(&format!("newcomer {}", uuid::Uuid::new_v4()));
    for (mutation, input, shown) in [
        ("unlikeNote", json!({ "noteId": n }), "note { id viewerHasLiked }"),
        ("uncollectNote", json!({ "noteId": n }), "note { id }"),
        ("unlikeComment", json!({ "commentId": comment }), "comment { id }"),
        ("unfollow", json!({ "userId": other }), "user { id } viewer { user { id } }"),
        ("leaveGroup", json!({ "groupId": group }), "group { id } viewer { user { id } }"),
    ] {
        let undone = newcomer.act(mutation, input, &format!("changed {shown}")).await;
        assert_eq!(undone["changed"], false, "{mutation}");
        assert!(undone.get("viewer").is_none_or(|viewer| viewer["user"].is_null()), "{undone}");
    }
    assert_eq!(newcomer.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"], Value::Null);
    let unknown = "mutation { unlikeNote(input: { noteId: \"note_999999999\" }) { changed } }";
    assert_eq!(newcomer.error(unknown, json!({})).await["extensions"]["code"], "NOT_FOUND");
}

#[tokio::test]
async fn an_event_that_changes_no_row_invalidates_the_count() {
    let server = Server::shared();
    let stores = server.stores();
    let (id, sql) = (stores.new_note().await, stores.sql().await);
    let (n, liker) = (note(id), server.client("fay has a row already"));
    liker.follow(&user(stores.new_user().await)).await;
    let me: i64 = sqlx::query_scalar("SELECT id FROM app_user WHERE subject = 'fay has a row already'")
        .fetch_one(&sql)
        .await
        .unwrap();
    // The cached set has no like of this note; then a row is inserted directly.
    assert_eq!(liker.note(&n).await["viewerHasLiked"], false);
    sqlx::query("INSERT INTO note_like VALUES ($1, $2, true, true, now(), now())")
        .bind(me)
        .bind(id)
        .execute(&sql)
        .await
        .unwrap();
    sqlx::query("UPDATE note_counts SET likes = 1 WHERE id = $1").bind(id).execute(&sql).await.unwrap();
    let mut socket = server.socket("fay watches").await;
    socket.watch_notes(&[&n]).await;
    assert_eq!(socket.note_until(|_| true).await["id"], n);

    // The row and the event are both counted until the persister meets the existing row.
    assert_eq!(liker.like(&n).await["changed"], true);
    socket.note_until(|note| note["likeCount"] == 1).await;
    eventually("the count agrees with the rows", SOON, || async {
        (liker.note(&n).await["likeCount"] == 1).then_some(())
    })
    .await;
}
