//! A disk without room (ENOSPC): what was acknowledged stays, the rest answers `RETRY_LATER`, and everything
//! goes on when there is room.

use std::sync::Arc;

use serde_json::{Value, json};
use sqlx::PgPool;
use support::{Client, OwnPostgres, OwnRedis, Place, SOON, Server, eventually, free_port, note};

const FANS: i64 = 30;
const TRUST: &str = "host all all 127.0.0.1/32 trust";

/// Users who have acted before, so that a like needs only Redis.
async fn fans(server: &Server, n: &str) -> Vec<Client> {
    let fans: Vec<Client> = (0..FANS).map(|at| server.client(&format!("fan {at}"))).collect();
    for fan in &fans {
        fan.act("likeNote", json!({ "noteId": n }), "changed").await;
    }
    fans
}

/// Waits until rows, the total and what everybody is shown are this number.
async fn has_likes(server: &Server, sql: &PgPool, n: &str, likes: i64) {
    let id: i64 = n.strip_prefix("note_").unwrap().parse().unwrap();
    let counted = "SELECT (SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on), likes
                   FROM note_counts WHERE id = $1";
    eventually("each like is counted once", SOON, || async {
        let counted: (i64, i64) = sqlx::query_as(counted).bind(id).fetch_one(sql).await.ok()?;
        let shown = server.anonymous().note(n).await["likeCount"].clone();
        (counted == (likes, likes) && shown == likes).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_disk_of_redis_is_full_likes_are_refused_pages_go_on_and_each_like_counts_once() {
    let place = Arc::new(Place::new());
    let port = free_port();
    let redis = OwnRedis::start_on_small_disk(&place, port, 48, &["--port", &port.to_string()]).await;
    let server = Server::start(&["--redis-url", &format!("redis://127.0.0.1:{port}")]);
    let stores = server.stores();
    let (other, n) = (note(stores.new_note().await), note(stores.new_note().await));
    let fans = fans(&server, &other).await;
    let sql = stores.sql().await;
    has_likes(&server, &sql, &other, FANS).await;

    redis.fill_disk();
    let like = json!({ "noteId": n });
    let mut refused = 0;
    for fan in &fans {
        // The last page of the file may have room for some.
        if let Err(code) = fan.try_act("likeNote", like.clone(), "changed").await {
            assert_eq!(code, "RETRY_LATER");
            refused += 1;
        }
    }
    assert!(refused > 0);
    assert_eq!(server.anonymous().note(&other).await["likeCount"], FANS);

    redis.make_room();
    for fan in &fans {
        fan.retrying().act("likeNote", like.clone(), "changed").await;
    }
    has_likes(&server, &sql, &n, FANS).await;
}

/// Text that PostgreSQL cannot compress to nothing.
fn long_text() -> String {
    (0..1_000).map(|_| format!("{:08x}", rand::random::<u32>())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_disk_of_postgresql_is_full_notes_are_refused_likes_go_on_and_nothing_acknowledged_is_lost()
{
    let place = Arc::new(Place::new());
    let mut postgres = OwnPostgres::start(&place, TRUST, &[]).await;
    postgres.move_to_small_disk(256).await;
    let url = |user| format!("postgres://{user}@127.0.0.1:{}/plaudit", postgres.port);
    let server = Server::start(&["--database-url", &url("plaudit")]);
    let author = server.client("ann");
    let input = || json!({ "title": "A long note", "body": long_text() });
    let create = async || author.try_act("createNote", input(), "note { id }").await;
    let id_of = |created: Value| created["note"]["id"].as_str().unwrap().to_owned();
    let (other, n) = (id_of(create().await.unwrap()), id_of(create().await.unwrap()));
    let fans = fans(&server, &other).await;
    author.note(&n).await;
    let sql = PgPool::connect(&url("plaudit")).await.unwrap();
    has_likes(&server, &sql, &other, FANS).await;
    // In a new file of the write-ahead log, tables are the first to find no room. The file is created by the
    // first commit in it; without it, PostgreSQL would end.
    let admin = PgPool::connect(&url("admin")).await.unwrap();
    for statement in ["SELECT pg_switch_wal()", "CREATE TABLE first_in_the_new_file ()"] {
        sqlx::query(statement).execute(&admin).await.unwrap();
    }

    postgres.fill_disk();
    let mut notes = Vec::new();
    let refused = loop {
        match create().await {
            Ok(created) => notes.push(id_of(created)),
            Err(code) => break code,
        }
        assert!(notes.len() < 1_000, "the disk is not full");
    };
    assert_eq!(refused, "RETRY_LATER");
    for fan in &fans {
        fan.act("likeNote", json!({ "noteId": n }), "changed").await;
    }

    postgres.make_room();
    eventually("notes are created again", SOON, || async { create().await.ok() }).await;
    has_likes(&server, &sql, &n, FANS).await;
    for id in notes {
        assert_eq!(author.note(&id).await["id"], id);
    }
}
