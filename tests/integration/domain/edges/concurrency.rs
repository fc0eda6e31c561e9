//! Concurrent likes of many users, and of one user, are counted exactly.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use support::{Server, eventually, note};

const USERS: usize = 1_000;
const CONCURRENCY: usize = 32;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_likes_of_a_thousand_users_who_like_twice_each_are_a_thousand_everywhere() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let n = note(id);
    let mut socket = server.socket("the audience").await;
    socket.watch_notes(&[&n]).await;
    let last_pushed = tokio::spawn(async move { socket.note_until(|note| note["likeCount"] == USERS).await });

    let likes = (0..USERS).flat_map(|user| [user, user]).map(|user| {
        let (client, n) = (server.client(&format!("user {user}")).retrying(), n.clone());
        async move { client.like(&n).await }
    });
    let replies: Vec<_> = stream::iter(likes).buffer_unordered(CONCURRENCY).collect().await;

    assert_eq!(replies.iter().filter(|reply| reply["changed"] == true).count(), USERS);
    let counts = replies.iter().map(|reply| reply["note"]["likeCount"].as_u64().unwrap());
    assert_eq!(counts.max(), Some(USERS as u64));
    assert_eq!(server.anonymous().note(&n).await["likeCount"], USERS);
    assert_eq!(last_pushed.await.unwrap()["likeCount"], USERS);
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (1000, 1000, Some(1000)));
    assert_eq!(server.anonymous().note(&n).await["author"]["likesReceivedCount"], USERS);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_likes_and_unlikes_of_one_user_from_many_devices_end_consistent() {
    let server = Server::shared();
    let stores = server.stores();
    let id = stores.new_note().await;
    let (n, client) = (note(id), server.client("many devices"));
    let flips = (0..200).map(|i| {
        let (client, n) = (client.clone(), n.clone());
        async move {
            let payload = if i % 2 == 0 { client.like(&n).await } else { client.unlike(&n).await };
            payload["changed"] == true
        }
    });
    let changes = stream::iter(flips)
        .buffer_unordered(CONCURRENCY)
        .filter(|changed| std::future::ready(*changed))
        .count()
        .await;
    let fields = client.note(&n).await;
    let on = fields["viewerHasLiked"] == true;
    assert_eq!(fields["likeCount"], i32::from(on));
    assert_eq!(changes % 2 == 1, on, "flips alternate");
    eventually("rows agree", Duration::from_secs(60), || async {
        let totals = stores.likes(id).await;
        (totals.rows == i64::from(on) && totals.total == i64::from(on)).then_some(())
    })
    .await;
}
