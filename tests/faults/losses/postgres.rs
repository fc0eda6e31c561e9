//! What a failover of PostgreSQL loses: likes, which the log in Redis still has, and new notes, which nobody else has.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;

use super::{Row, likes::Likes};
use support::{
    Client, OwnPostgres, OwnRedis, Place, Proxy, SOON, Server, Stores, eventually, free_port, number,
    proxy::Line,
};

const TRUST: &str = "host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust";
/// From the primary to the standby.
const AWAY: Duration = Duration::from_millis(20);
/// So many likes, and as many notes, are acknowledged before the primary dies.
const BEFORE: usize = 150;
const AUTHORS: usize = 12;

/// Likes, and new notes.
pub async fn run(is_synchronous: bool) -> [Row; 2] {
    let place = Arc::new(Place::new());
    let mut primary = OwnPostgres::start(&place, TRUST, &[]).await;
    let (far, near) = (Proxy::start(primary.port).await, Proxy::start(primary.port).await);
    let standby = primary.standby("standby", &[]).await;
    let source = format!("host=127.0.0.1 port={} user=admin application_name=standby", far.port);
    standby.administer(&format!("ALTER SYSTEM SET primary_conninfo = '{source}'")).await;
    standby.administer("SELECT pg_reload_conf()").await;
    let port = free_port();
    let _redis = OwnRedis::start(&place, port, &["--port", &port.to_string()]).await;
    let stores = Stores::elsewhere(
        &format!("redis://127.0.0.1:{port}"),
        Vec::new(),
        &format!("postgres://plaudit@127.0.0.1:{}/plaudit", near.port),
    );
    let server = Server::start_on(&stores, &["--lease", "1s", "--reply-wait", "1s"]);
    let likes = Likes::prepare(&server, &stores).await;
    streams(&primary, false).await;
    if is_synchronous {
        primary.administer("ALTER SYSTEM SET synchronous_standby_names = '*'").await;
        primary.administer("SELECT pg_reload_conf()").await;
        streams(&primary, true).await;
    }
    far.set(Line::Slow(AWAY));

    let mut tasks = likes.begin(&server).await;
    let written = Arc::<Mutex<Vec<i64>>>::default();
    let mut writing = JoinSet::new();
    for author in 0..AUTHORS {
        let author = server.client(&format!("author {author}"));
        writing.spawn(writes_until_refused(author, Arc::clone(&written)));
    }
    likes.are_acknowledged(BEFORE).await;
    eventually("notes are acknowledged", SOON, || {
        std::future::ready((written.lock().len() >= BEFORE).then_some(()))
    })
    .await;
    primary.kill();
    let published = likes.published();
    likes.end();
    while writing.join_next().await.is_some() {}
    let notes = written.lock().clone();
    standby.promote().await;
    if is_synchronous {
        // It would wait for a standby of its own.
        standby.administer("ALTER SYSTEM RESET synchronous_standby_names").await;
        standby.administer("SELECT pg_reload_conf()").await;
    }
    near.lead_to(standby.port);
    eventually("PostgreSQL is there", SOON, || async {
        sqlx::PgPool::connect(stores.database_url()).await.ok().map(drop)
    })
    .await;
    stores.rest().await;
    tasks.abort_all();
    while tasks.join_next().await.is_some() {}
    let (acknowledged, rows, shown) = (likes.acknowledged(), likes.rows(&stores).await, likes.shown().await);
    let kept = "SELECT count(*) FROM note WHERE id = ANY($1)";
    let kept: i64 = sqlx::query_scalar(kept).bind(&notes).fetch_one(&stores.sql().await).await.unwrap();
    let of_likes = Row {
        acknowledged: acknowledged.len(),
        published: Some(published.values().sum()),
        lost: acknowledged.difference(&rows).count(),
        taken_back: published.iter().map(|(note, count)| (count - shown[note]).max(0)).sum(),
        told: None,
    };
    let lost = notes.len() - kept as usize;
    [of_likes, Row { acknowledged: notes.len(), published: None, lost, taken_back: 0, told: None }]
}

/// Until the primary is dead.
async fn writes_until_refused(author: Client, written: Arc<Mutex<Vec<i64>>>) {
    let input = json!({ "title": "Under load", "body": "Text" });
    while let Ok(made) = author.try_act("createNote", input.clone(), "note { id }").await {
        written.lock().push(number(&made["note"]["id"]));
    }
}

async fn streams(primary: &OwnPostgres, is_synchronous: bool) {
    let wanted = if is_synchronous { "sync" } else { "async" };
    let admin = primary.admin("postgres").await;
    eventually("the standby streams", SOON, || async {
        let state = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'";
        let state: Option<String> = sqlx::query_scalar(state).fetch_optional(&admin).await.ok()?;
        (state.as_deref() == Some(wanted)).then_some(())
    })
    .await;
}
