//! Configuration: bad settings and unsuitable stores are refused with a message that names the cause.

use std::{fs, process::Output};

use plaudit_embedded_stores::AppendFsync;
use support::{Place, Server, Stores};

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// Runs a command that must fail; returns its output.
fn refused(server: &Server, flags: &[&str], environment: &[(&str, &str)]) -> String {
    let mut command = server.command();
    command.args(flags).envs(environment.iter().copied());
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{}", text(&output));
    text(&output)
}

#[test]
fn unknown_and_bad_settings_of_any_source_are_named() {
    let server = Server::shared();
    let place = Place::new();
    let file = place.path().join("plaudit.toml");
    let in_file = |line: &str| {
        fs::write(&file, line).unwrap();
        refused(server, &["serve", "--config", file.to_str().unwrap()], &[])
    };
    assert!(refused(server, &["serve", "--lease", "soon"], &[]).contains("--lease"));
    assert!(refused(server, &["serve", "--lisen", "x"], &[]).contains("--listen"));
    assert!(
        refused(server, &["serve"], &[("PLAUDIT_FOLLOW_LIMIT", "many")]).contains("PLAUDIT_FOLLOW_LIMIT")
    );
    assert!(refused(server, &["serve"], &[("PLAUDIT_LISEN", "x")]).contains("PLAUDIT_LISTEN"));
    assert!(refused(server, &["serve", "--moderator", "blocklist"], &[]).contains("moderator_blocklist"));
    assert!(refused(server, &["serve"], &[("PLAUDIT_MODERATOR", "http")]).contains("PLAUDIT_MODERATOR_URL"));
    assert!(in_file("batch_events = 0").contains("batch_events"));
    assert!(in_file("batch_event = 10").contains("batch_events"));
}

#[test]
fn without_a_secret_a_server_that_other_machines_can_reach_does_not_start() {
    let server = Server::shared();
    let serve = |flags: &[&str]| {
        let flags = [&["serve", "--listen"][..], flags].concat();
        refused(server, &flags, &[("PLAUDIT_JWT_SECRET", "")])
    };
    for flags in [&["0.0.0.0:0"][..], &["[::]:0"], &["127.0.0.1:0", "--redis-url", "redis://127.0.0.1:1"]] {
        let output = serve(flags);
        assert!(output.contains("PLAUDIT_JWT_SECRET") && output.contains("loopback"), "{output}");
    }
    // A secret and public keys exclude each other.
    let keys = ["serve", "--listen", "127.0.0.1:0", "--jwks-file", "keys.json"];
    assert!(refused(server, &keys, &[]).contains("jwt_secret and jwks_file"));
}

#[test]
fn a_second_server_on_the_same_data_directory_is_refused_and_the_message_names_the_first() {
    let server = Server::shared();
    for _ in 0..2 {
        let output = refused(server, &["serve", "--listen", "127.0.0.1:0"], &[]);
        assert!(output.contains("in use by plaudit (process "), "{output}");
        assert!(output.contains(server.data_dir().to_str().unwrap()), "{output}");
    }
}

#[test]
fn a_token_of_the_command_line_is_accepted_by_the_server_and_nothing_else_is_printed() {
    let server = Server::shared();
    let output =
        server.command().args(["token", "--user", "ann from the shell", "--ttl", "5m"]).output().unwrap();
    let token = String::from_utf8(output.stdout).unwrap();
    assert!(output.stderr.is_empty() && token.trim_end().split('.').count() == 3, "{token}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let reply = runtime.block_on(
        server
            .anonymous()
            .with_token(token.trim_end())
            .send("{ viewer { user { id } } }", serde_json::json!({})),
    );
    assert_eq!(reply.status, 200);
}

#[test]
fn every_setting_is_documented_with_its_default() {
    let output = Server::shared().command().args(["serve", "--help"]).output().unwrap();
    for setting in
        ["--listen", "PLAUDIT_LISTEN", "127.0.0.1:8080", "--data-dir", "PLAUDIT_REDIS_URL", "--follow-limit"]
    {
        assert!(text(&output).contains(setting), "{setting}");
    }
}

#[test]
fn seed_without_a_server_names_the_command_to_run_first() {
    let place = Place::new();
    let output = support::plaudit(&place.path().join("nothing")).args(["seed"]).output().unwrap();
    assert!(text(&output).contains("plaudit serve"), "{}", text(&output));
    assert!(!place.path().join("nothing").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn unsuitable_stores_are_refused_in_one_line_that_names_what_to_change() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::shared();
    let serve = |redis: &str, database: &str| {
        refused(
            server,
            &["serve", "--listen", "127.0.0.1:0", "--redis-url", redis, "--database-url", database],
            &[],
        )
    };
    let nowhere = "redis://127.0.0.1:1";
    let output = serve(nowhere, stores.database_url());
    assert!(
        output.contains("cannot use Redis at redis://127.0.0.1:1") && output.contains("redis_url"),
        "{output}"
    );
    assert_eq!(output.lines().filter(|line| line.starts_with("plaudit: ")).count(), 1, "{output}");
    let output = serve(stores.redis_url(), "postgres://app:secret@127.0.0.1:1/app");
    assert!(output.contains("cannot use PostgreSQL at postgres://127.0.0.1:1/app"), "{output}");
    assert!(!output.contains("secret@"), "{output}");

    let mut redis = stores.redis().await;
    let mut set = async |name: &str, value: &str| {
        let () = redis::cmd("CONFIG").arg("SET").arg(name).arg(value).query_async(&mut redis).await.unwrap();
    };
    set("maxmemory-policy", "allkeys-lru").await;
    assert!(serve(stores.redis_url(), stores.database_url()).contains("allkeys-lru"));
    set("maxmemory-policy", "noeviction").await;
    set("appendonly", "no").await;
    assert!(serve(stores.redis_url(), stores.database_url()).contains("appendonly yes"));
    let allowed = Server::start_on(&stores, &["--redis-allow-unsafe"]);
    assert!(allowed.log().contains("appendonly"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_with_another_schema_is_refused_in_one_line_that_names_what_to_change() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::shared();
    let serve = || {
        let urls = ["--redis-url", "redis://127.0.0.1:1", "--database-url", stores.database_url()];
        refused(server, &[&["serve", "--listen", "127.0.0.1:0"], &urls[..]].concat(), &[])
    };
    assert!(serve().contains("cannot use Redis"), "the database is migrated before Redis is checked");
    let sql = stores.sql().await;
    for change in [
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'of a later version', true, '', 0)",
        "DELETE FROM _sqlx_migrations WHERE version = 9999;
         UPDATE _sqlx_migrations SET checksum = '' WHERE version = 1",
        "UPDATE _sqlx_migrations SET success = false WHERE version = 1",
        "DROP TABLE _sqlx_migrations",
    ] {
        sqlx::raw_sql(change).execute(&sql).await.unwrap();
        let output = serve();
        assert!(output.contains("its tables are of another version of Plaudit"), "{change}: {output}");
        assert!(
            output.contains("create an empty database and name it with --database-url"),
            "{change}: {output}"
        );
        assert_eq!(
            output.lines().filter(|line| line.starts_with("plaudit: ")).count(),
            1,
            "{change}: {output}"
        );
    }
}
