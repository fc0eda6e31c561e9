//! A pooler in transaction mode for requests.

use std::sync::Arc;

use serde_json::json;
use support::{
    Client, OwnPostgres, OwnRedis, PgBouncer, Place, SOON, Server, eventually, free_port, refused_start,
};

/// Settings of a PgBouncer whose sessions are few, so that clients share them.
const SHARED: &str = "default_pool_size = 4\nmax_prepared_statements = 200\nmax_client_conn = 200";

struct Pooled {
    postgres: OwnPostgres,
    pooler: PgBouncer,
    redis_url: String,
    _redis: OwnRedis,
    place: Arc<Place>,
}

impl Pooled {
    async fn start(settings: &str) -> Self {
        let place = Arc::new(Place::new());
        let postgres = OwnPostgres::start(&place, "host all all 127.0.0.1/32 trust", &[]).await;
        let pooler = PgBouncer::start(&place, postgres.port, settings).await;
        let port = free_port();
        let redis = OwnRedis::start(&place, port, &["--port", &port.to_string()]).await;
        Self { postgres, pooler, redis_url: format!("redis://127.0.0.1:{port}"), _redis: redis, place }
    }

    fn flags(&self) -> Vec<String> {
        let urls = [
            ("--redis-url", self.redis_url.clone()),
            ("--database-url", self.pooler.url()),
            ("--database-direct-url", self.postgres.url_of("plaudit")),
        ];
        urls.into_iter().flat_map(|(flag, url)| [flag.to_owned(), url]).collect()
    }
}

fn as_strs(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}

async fn create_note(author: &Client) -> String {
    let input = json!({ "title": "Through a pooler", "body": "Text" });
    let made = author.act("createNote", input, "note { id }").await;
    made["note"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_go_through_a_pooler_which_may_be_restarted_and_the_pipeline_does_not() {
    let mut stores = Pooled::start(SHARED).await;
    let flags = stores.flags();
    let said = refused_start(&as_strs(&flags));
    assert!(said.contains("ALTER ROLE plaudit SET statement_timeout = '1000';"), "{said}");
    stores.postgres.run_what_is_said(&said).await;
    stores.pooler.command("RECONNECT").await;

    let server = Server::start(&as_strs(&flags));
    let author = server.client("pooler: an author");
    let note = create_note(&author).await;
    let like_as = |name: String| {
        let client = server.client(&name).retrying();
        let note = note.clone();
        async move { client.like(&note).await }
    };
    let likes = (0..40).map(|number| like_as(format!("pooler: user {number}")));
    futures_util::future::join_all(likes).await;
    let admin = stores.postgres.admin("plaudit").await;
    let persisted = async |likes: i64| {
        eventually("the likes are in PostgreSQL", SOON, || async {
            let query = "SELECT sum(likes)::bigint FROM note_counts";
            let found: i64 = sqlx::query_scalar(query).fetch_one(&admin).await.unwrap();
            (found == likes).then_some(())
        })
        .await;
    };
    persisted(40).await;
    let likers =
        "query ($id: ID!) { note(id: $id) { likeCount likers(first: 50) { edges { node { name } } } } }";
    for _ in 0..3 {
        let reads = (0..30).map(|_| author.data(likers, json!({ "id": note })));
        for read in futures_util::future::join_all(reads).await {
            assert_eq!(read["note"]["likeCount"], 40);
            assert_eq!(read["note"]["likers"]["edges"].as_array().unwrap().len(), 40);
        }
    }
    // PgBouncer has at most four sessions, all for requests; the pipeline has its own beside them.
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'plaudit'";
    let sessions: i64 = sqlx::query_scalar(sessions).fetch_one(&admin).await.unwrap();
    assert!(sessions <= 4 + 16, "{sessions}");

    stores.pooler.restart().await;
    eventually("requests go on after a restart of the pooler", SOON, || async {
        let reply = author.send(likers, json!({ "id": note })).await;
        (reply.body["data"]["note"]["likers"]["edges"].as_array()?.len() == 40).then_some(())
    })
    .await;
    for _ in 0..2 {
        server.client("pooler: a late user").like(&note).await;
    }
    create_note(&author).await;
    persisted(41).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_where_a_direct_connection_is_needed_is_refused_in_one_line() {
    let stores = Pooled::start(SHARED).await;
    let pooler = stores.pooler.url();
    let refused = |flags: &[&str]| refused_start(&[&["--redis-url", &stores.redis_url], flags].concat());
    let said = refused(&["--database-url", &pooler]);
    assert!(said.contains("a pooler answers there") && said.contains("database_direct_url"), "{said}");

    let silent = format!("{SHARED}\nignore_startup_parameters = options");
    let silent = PgBouncer::start(&stores.place, stores.postgres.port, &silent).await;
    let said = refused(&["--database-url", &pooler, "--database-direct-url", &silent.url()]);
    assert!(
        said.contains("a pooler answers there") && said.contains("(setting database_direct_url)"),
        "{said}"
    );
    // It is noticed also when the role happens to have the settings.
    for setting in [
        "statement_timeout = 15000",
        "idle_in_transaction_session_timeout = 5000",
        "plan_cache_mode = force_generic_plan",
        "enable_seqscan = off",
        "enable_hashjoin = off",
        "enable_mergejoin = off",
        "random_page_cost = 1.1",
        "jit = off",
        "search_path = public",
    ] {
        stores.postgres.administer(&format!("ALTER ROLE plaudit SET {setting}")).await;
    }
    silent.command("RECONNECT").await;
    let said = refused(&["--database-url", &silent.url()]);
    assert!(said.contains("a pooler answers there"), "{said}");

    let said = refused(&["--database-direct-url", &stores.postgres.url_of("plaudit")]);
    assert!(said.contains("without a pooler"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_loses_prepared_statements_is_refused_in_one_line() {
    let stores = Pooled::start("default_pool_size = 4\nmax_prepared_statements = 0").await;
    let said = refused_start(&as_strs(&stores.flags()));
    assert!(said.contains("max_prepared_statements"), "{said}");
}
