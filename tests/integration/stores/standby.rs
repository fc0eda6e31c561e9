//! A streaming standby that is promoted under load: acknowledged likes are counted once, and with synchronous
//! replication no acknowledged change of PostgreSQL is lost.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use sqlx::PgPool;
use support::{
    Client, OwnPostgres, OwnRedis, PgBouncer, Place, Proxy, SOON, Server, eventually, free_port, number,
    refused_start,
};

const LIKERS: usize = 60;
/// So many likes are acknowledged before the primary dies.
const BEFORE: usize = 20;
const LIKE: &str = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { note { id } } }";

/// Where everybody who may connect is trusted.
const TRUST: &str = "host all all 127.0.0.1/32 trust";

struct Failover {
    primary: OwnPostgres,
    standby: OwnPostgres,
    proxy: Proxy,
    server: Server,
    _redis: OwnRedis,
}

/// What clients were told during a failover.
struct Told {
    liked: String,
    notes: Vec<i64>,
}

impl Failover {
    async fn prepare(is_synchronous: bool) -> Self {
        let place = Arc::new(Place::new());
        let primary = OwnPostgres::start(&place, TRUST, &[]).await;
        let standby = primary.standby("own-standby", &[]).await;
        if is_synchronous {
            primary.administer("ALTER SYSTEM SET synchronous_standby_names = '*'").await;
            primary.administer("SELECT pg_reload_conf()").await;
        }
        let wanted = if is_synchronous { "sync" } else { "async" };
        let admin = primary.admin("postgres").await;
        eventually("the standby streams", SOON, || async {
            let state = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'";
            let state: Option<String> = sqlx::query_scalar(state).fetch_optional(&admin).await.unwrap();
            (state.as_deref() == Some(wanted)).then_some(())
        })
        .await;
        let proxy = Proxy::start(primary.port).await;
        let port = free_port();
        let redis = OwnRedis::start(&place, port, &["--port", &port.to_string()]).await;
        let redis_url = format!("redis://127.0.0.1:{port}");
        let database_url = format!("postgres://plaudit@127.0.0.1:{}/plaudit", proxy.port);
        let server = Server::start(&["--redis-url", &redis_url, "--database-url", &database_url]);
        Self { primary, standby, proxy, server, _redis: redis }
    }

    fn liker(&self, number: usize) -> Client {
        self.server.client(&format!("standby: user {number}"))
    }

    /// Kills the primary in the middle of likes and of new notes, and promotes the standby.
    async fn under_load(&mut self) -> Told {
        let author = self.server.client("standby: an author");
        let input = json!({ "title": "Liked", "body": "Text" });
        let made = author.act("createNote", input, "note { id }").await;
        let liked = made["note"]["id"].as_str().unwrap().to_owned();
        for number in 0..LIKERS {
            self.liker(number).data("{ viewer { user { id } } }", json!({})).await;
        }
        replicated(&self.primary).await;

        let acknowledged = Arc::new(AtomicUsize::new(0));
        let like = |number| {
            let (liker, liked, acknowledged) = (self.liker(number), liked.clone(), Arc::clone(&acknowledged));
            async move {
                like_until_acknowledged(&liker, &liked).await;
                acknowledged.fetch_add(1, SeqCst);
            }
        };
        let likes: Vec<_> = (0..LIKERS).map(like).collect();
        let likes = tokio::spawn(stream::iter(likes).buffer_unordered(4).collect::<Vec<()>>());
        let (writing, until) = (author.clone(), Arc::clone(&acknowledged));
        let notes = tokio::spawn(async move { write_notes(&writing, &until).await });
        eventually("likes are acknowledged", SOON, || {
            std::future::ready((acknowledged.load(SeqCst) >= BEFORE).then_some(()))
        })
        .await;
        self.primary.kill();
        self.standby.promote().await;
        self.proxy.lead_to(self.standby.port);
        likes.await.unwrap();
        Told { liked, notes: notes.await.unwrap() }
    }

    async fn likes_are_counted_once(&self, liked: &str, sql: &PgPool) {
        let id = number(&Value::from(liked));
        let anybody = self.server.client("standby: somebody");
        eventually("each like is counted once, everywhere", SOON, || async {
            let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
            let rows: i64 = sqlx::query_scalar(rows).bind(id).fetch_one(sql).await.ok()?;
            let total = "SELECT likes FROM note_counts WHERE id = $1";
            let total: i64 = sqlx::query_scalar(total).bind(id).fetch_one(sql).await.ok()?;
            let query = "query ($id: ID!) { note(id: $id) { likeCount } }";
            let shown =
                anybody.send(query, json!({ "id": liked })).await.body["data"]["note"]["likeCount"].as_i64();
            let all = LIKERS as i64;
            (rows == all && total == all && shown == Some(all)).then_some(())
        })
        .await;
    }
}

/// Waits until the standby has all that was committed until now.
async fn replicated(primary: &OwnPostgres) {
    let admin = primary.admin("postgres").await;
    let here: String =
        sqlx::query_scalar("SELECT pg_current_wal_lsn()::text").fetch_one(&admin).await.unwrap();
    eventually("the standby has it", SOON, || async {
        let has = "SELECT coalesce(bool_and(replay_lsn >= $1::pg_lsn), false) FROM pg_stat_replication";
        let has: bool = sqlx::query_scalar(has).bind(&here).fetch_one(&admin).await.unwrap();
        has.then_some(())
    })
    .await;
}

async fn like_until_acknowledged(liker: &Client, note: &str) {
    eventually("the like is acknowledged", SOON, || async {
        let reply = liker.try_send(LIKE, json!({ "n": note })).await.ok()?;
        reply.body["data"]["likeNote"]["note"]["id"].as_str().map(drop)
    })
    .await;
}

/// Creates notes until all likes are acknowledged; returns those that were acknowledged.
async fn write_notes(author: &Client, acknowledged: &AtomicUsize) -> Vec<i64> {
    let mut notes = Vec::new();
    while acknowledged.load(SeqCst) < LIKERS {
        let input = json!({ "title": "Under load", "body": "Text" });
        if let Ok(made) = author.try_act("createNote", input, "note { id }").await {
            notes.push(number(&made["note"]["id"]));
        }
    }
    notes
}

async fn fail_over(is_synchronous: bool) -> usize {
    let mut failover = Failover::prepare(is_synchronous).await;
    let Told { liked, notes } = failover.under_load().await;
    let sql = failover.standby.admin("plaudit").await;
    failover.likes_are_counted_once(&liked, &sql).await;
    let there = "SELECT count(*) FROM note WHERE id = ANY($1)";
    let there: i64 = sqlx::query_scalar(there).bind(&notes).fetch_one(&sql).await.unwrap();
    let distinct: std::collections::BTreeSet<&i64> = notes.iter().collect();
    assert_eq!(distinct.len(), notes.len(), "no id was given twice");
    let lost = notes.len() - there as usize;
    println!("synchronous: {is_synchronous}: {} notes were acknowledged, {lost} of them lost", notes.len());
    lost
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_survive_the_promotion_of_an_asynchronous_standby_and_are_counted_once() {
    fail_over(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_by_the_promotion_of_a_synchronous_standby() {
    assert_eq!(fail_over(true).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_failover_behind_a_pooler_lost_is_forgotten_and_its_ids_are_never_given_again() {
    let place = Arc::new(Place::new());
    let mut primary = OwnPostgres::start(&place, TRUST, &[]).await;
    let proxy = Proxy::start(primary.port).await;
    let pooler = PgBouncer::start(&place, proxy.port, "max_prepared_statements = 200").await;
    let port = free_port();
    let _redis = OwnRedis::start(&place, port, &["--port", &port.to_string()]).await;
    let (redis_url, database_url) = (format!("redis://127.0.0.1:{port}"), pooler.url());
    let direct_url = format!("postgres://plaudit@127.0.0.1:{}/plaudit", proxy.port);
    let urls = ["--database-url", &database_url, "--database-direct-url", &direct_url];
    let flags = [&["--redis-url", redis_url.as_str()][..], &urls].concat();
    primary.run_what_is_said(&refused_start(&flags)).await;
    pooler.command("RECONNECT").await;
    // This process has no connection of its own to PostgreSQL that would end with it.
    let _pipeline = Server::start(&[&flags[..], &["--roles", "pipeline"]].concat());
    let server = Server::start(&[&flags[..], &["--roles", "api"]].concat());
    let standby = primary.standby("own-standby", &[]).await;

    let author = server.client("behind a pooler: an author");
    let create = async || {
        let input = json!({ "title": "From the app", "body": "Text" });
        author.try_act("createNote", input, "note { id }").await.map(|made| made["note"]["id"].clone())
    };
    let kept = create().await.unwrap();
    replicated(&primary).await;
    standby.administer("ALTER SYSTEM SET primary_conninfo = ''").await;
    standby.administer("SELECT pg_reload_conf()").await;
    let admin = primary.admin("postgres").await;
    eventually("the standby streams no more", SOON, || async {
        let streams = "SELECT count(*) FROM pg_stat_replication";
        let streams: i64 = sqlx::query_scalar(streams).fetch_one(&admin).await.unwrap();
        (streams == 0).then_some(())
    })
    .await;
    let lost = create().await.unwrap();
    let found =
        "query ($kept: ID!, $lost: ID!) { kept: node(id: $kept) { id } lost: node(id: $lost) { id } }";
    let ids = json!({ "kept": kept, "lost": lost });
    let before = author.data(found, ids.clone()).await;
    assert_eq!(before, json!({ "kept": { "id": kept }, "lost": { "id": lost } }));

    primary.kill();
    standby.promote().await;
    proxy.lead_to(standby.port);
    let again = eventually("notes are taken again", SOON, || async { create().await.ok() }).await;
    assert!(number(&again) > number(&lost) + 900_000, "{again} after {lost}");
    eventually("what was lost is forgotten", SOON, || async {
        let reply = author.send(found, ids.clone()).await;
        (reply.body["data"] == json!({ "kept": { "id": kept }, "lost": null })).then_some(())
    })
    .await;
}
