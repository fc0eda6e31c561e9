//! How many connections to the stores a process has.

use plaudit_embedded_stores::AppendFsync;
use support::{SOON, Server, Stores, eventually, note};

#[tokio::test(flavor = "multi_thread")]
async fn connections_to_postgresql_do_not_grow_with_shards() {
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
            let (client, liked) =
                (server.client(&format!("connections: {round} {user}")).retrying(), note(liked));
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

#[tokio::test(flavor = "multi_thread")]
async fn connections_to_redis_do_not_grow_with_shards() {
    let mut most = Vec::new();
    for shards in ["2", "16"] {
        let stores = Stores::start(AppendFsync::EverySec).await;
        let server = Server::start_on(&stores, &["--virtual-shards", shards]);
        let (mut redis, liked) = (stores.redis().await, stores.new_note().await);
        let mut connections = 0;
        for user in 0..64 {
            server.client(&format!("connections to Redis: {user}")).like(&note(liked)).await;
            let clients: String = redis::cmd("CLIENT").arg("LIST").query_async(&mut redis).await.unwrap();
            connections = connections.max(clients.lines().count());
        }
        stores.rest().await;
        most.push(connections);
    }
    println!("2 and 16 shards: at most {most:?} connections were seen");
    // One for commands, one for changes, one for logs, that of the test, and those of a load of scripts.
    assert!(most.iter().all(|connections| *connections <= 6), "{most:?}");
}
