//! How many connections to PostgreSQL a process has.

use plaudit_embedded_stores::AppendFsync;

use crate::support::{SOON, Server, Stores, eventually, note};

#[tokio::test(flavor = "multi_thread")]
async fn connections_do_not_grow_with_shards() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &["--virtual-shards", "16", "--database-connections", "5"]);
    let (sql, liked) = (stores.sql().await, stores.new_note().await);
    let connections = async || {
        let query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'plaudit'";
        sqlx::query_scalar::<_, i64>(query).fetch_one(&sql).await.unwrap()
    };
    let mut most = 0;
    for round in 0..8 {
        let likes = (0..64).map(|user| {
            let (client, liked) = (server.client(&format!("connections: {round} {user}")), note(liked));
            async move { client.like(&liked).await }
        });
        let watched = async {
            for _ in 0..20 {
                most = most.max(connections().await);
            }
        };
        tokio::join!(futures_util::future::join_all(likes), watched);
    }
    eventually("all likes are persisted", SOON, || async {
        let query = "SELECT likes FROM note_counts WHERE id = $1";
        let likes: i64 = sqlx::query_scalar(query).bind(liked).fetch_one(&sql).await.unwrap();
        (likes == 512).then_some(())
    })
    .await;
    println!("16 shards: at most {most} connections were seen");
    assert!(most <= 5 + 16, "{most}");
}
