//! A schema of Plaudit's own, beside other tables of the same database.

use std::sync::Arc;

use serde_json::json;
use support::{OwnPostgres, OwnRedis, Place, Server, free_port, refused_start};

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_in_the_schema_that_the_settings_name() {
    let place = Arc::new(Place::new());
    let postgres = OwnPostgres::start(&place, "", &[]).await;
    let url = postgres.url_of("plaudit");
    let admin = postgres.admin("plaudit").await;
    // Tables of the app, of the same names.
    for table in ["note", "shard", "_sqlx_migrations"] {
        let create = sqlx::AssertSqlSafe(format!("CREATE TABLE {table} (is_of_the_app boolean)"));
        sqlx::query(create).execute(&admin).await.unwrap();
    }
    let (ports, mut redis) = ([free_port(), free_port()], Vec::new());
    for port in ports {
        redis.push(OwnRedis::start(&place, port, &["--port", &port.to_string()]).await);
    }
    // Two installations in one database do not disturb each other.
    let start = |port: u16, schema: &str| {
        let redis_url = format!("redis://127.0.0.1:{port}");
        Server::start(&["--redis-url", &redis_url, "--database-url", &url, "--database-schema", schema])
    };
    let mut servers = [start(ports[0], "plaudit"), start(ports[1], "second_one")];
    let mut newest = String::new();
    for _ in 0..2 {
        for server in &servers {
            let author = server.client("schema: an author");
            let input = json!({ "title": "Here", "body": "Text" });
            let made = author.act("createNote", input, "note { id }").await;
            newest = made["note"]["id"].as_str().unwrap().to_owned();
            assert_eq!(author.like(&newest).await["note"]["likeCount"], 1);
        }
        for server in &mut servers {
            server.stop();
            server.start_again();
        }
    }
    for (schema, notes) in [("plaudit", 2), ("second_one", 2), ("public", 0)] {
        let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {schema}.note"));
        let found: i64 = sqlx::query_scalar(count).fetch_one(&admin).await.unwrap();
        assert_eq!(found, notes, "{schema}");
    }
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(sqlx::query_scalar::<_, i64>(tables).fetch_one(&admin).await.unwrap(), 3);
    let redis_url = format!("redis://127.0.0.1:{}", ports[1]);
    let mut explain = servers[1].command();
    explain.args(["explain", &newest, "--database-url", &url, "--redis-url", &redis_url]);
    let output = explain.args(["--database-schema", "second_one"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_cannot_be_used_is_refused_in_one_line_that_says_what_to_run() {
    let place = Arc::new(Place::new());
    let postgres = OwnPostgres::start(&place, "", &[]).await;
    for statement in ["CREATE ROLE poor LOGIN", "REVOKE CREATE ON DATABASE plaudit FROM PUBLIC"] {
        postgres.administer(statement).await;
    }
    let url = postgres.url_of("poor");
    let refused = |schema: &str| {
        let flags =
            ["--redis-url", "redis://127.0.0.1:1", "--database-url", &url, "--database-schema", schema];
        refused_start(&flags)
    };
    let said = refused("plaudit");
    assert!(said.contains("run `CREATE SCHEMA plaudit AUTHORIZATION"), "{said}");
    let said = refused("public");
    assert!(said.contains("run `GRANT CREATE, USAGE ON SCHEMA public TO \"poor\"`"), "{said}");
    let said = refused("Not plain");
    assert!(said.contains("the name of a schema is needed"), "{said}");
    let admin = postgres.admin("plaudit").await;
    sqlx::query("CREATE SCHEMA plaudit AUTHORIZATION poor").execute(&admin).await.unwrap();
    assert!(refused("plaudit").contains("cannot use Redis"));
}
