//! `plaudit check`: says the same as a start of the server, one line for each subject, and changes nothing.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Output},
    sync::Arc,
};
use support::{OwnPostgres, OwnRedis, PgBouncer, Place, Server, free_port, plaudit, refused_start, valkey};

struct Checked {
    code: Option<i32>,
    text: String,
}

impl Checked {
    fn of(output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines_are_whole = text.lines().all(|line| {
            ["ok ", "warning ", "error "].iter().any(|state| line.starts_with(state)) && line.len() > 25
        });
        assert!(lines_are_whole, "{text}{}", String::from_utf8_lossy(&output.stderr));
        Self { code: output.status.code(), text }
    }

    fn lines(&self, state: &str) -> Vec<&str> {
        self.text.lines().filter(|line| line.starts_with(state)).collect()
    }

    /// The text of its only error.
    fn error(&self) -> &str {
        assert_eq!(self.code, Some(1), "{}", self.text);
        let [line] = self.lines("error")[..] else { panic!("not one error: {}", self.text) };
        &line[25..]
    }

    #[track_caller]
    fn is_well(&self) {
        assert!(self.code == Some(0) && self.lines("error").is_empty(), "{}", self.text);
    }

    #[track_caller]
    fn warns(&self, text: &str) {
        self.is_well();
        assert!(self.lines("warning").iter().any(|line| line.contains(text)), "{}", self.text);
    }
}

fn command(place: &Place, flags: &[&str]) -> Command {
    let mut command = plaudit(&place.data());
    command.arg("check").args(flags).env("PLAUDIT_LISTEN", "127.0.0.1:0");
    command
}

fn check(flags: &[&str]) -> Checked {
    Checked::of(&command(&Place::new(), flags).output().unwrap())
}

/// The error of a check, which must be the line by which the server refuses to start.
fn as_a_start_says(flags: &[&str]) -> String {
    let checked = check(flags);
    let said = refused_start(flags);
    let said = said.trim_start_matches("plaudit: ").trim_start_matches("error: ");
    assert_eq!(checked.error(), said, "{}", checked.text);
    said.to_owned()
}

/// A PostgreSQL and a Redis of one's own.
struct World {
    place: Arc<Place>,
    postgres: OwnPostgres,
    redis_port: u16,
    redis: OwnRedis,
}

impl World {
    async fn start(hba: &str, redis: &[&str]) -> Self {
        let place = Arc::new(Place::new());
        let postgres = OwnPostgres::start(&place, hba, &[]).await;
        let redis_port = free_port();
        let port = redis_port.to_string();
        let flags = [&["--port", &port, "--set-max-intset-entries", "8192"][..], redis].concat();
        let redis = OwnRedis::start(&place, redis_port, &flags).await;
        Self { place, postgres, redis_port, redis }
    }

    fn redis_url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.redis_port)
    }

    fn flags(&self) -> Vec<String> {
        vec!["--redis-url".into(), self.redis_url(), "--database-url".into(), self.postgres.url_of("plaudit")]
    }

    async fn sql(&self, statement: &str) {
        let admin = self.postgres.admin("plaudit").await;
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&admin).await.unwrap();
        admin.close().await;
    }

    async fn count(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(&self.postgres.admin("plaudit").await).await.unwrap()
    }

    async fn redis(&self, words: &[&str]) -> redis::Value {
        let client = redis::Client::open(self.redis_url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await.unwrap()
    }
}

fn strs(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}

const RELATIONS: &str = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_are_fit_are_well_before_the_first_start_and_beside_a_server_and_stay_as_they_were() {
    let world = World::start("", &["--enable-debug-command", "yes"]).await;
    let flags = world.flags();
    let place = Place::new();
    let new = Checked::of(&command(&place, &strs(&flags)).output().unwrap());
    new.is_well();
    assert!(
        new.text.contains("appendonly yes, appendfsync everysec, maxmemory-policy noeviction"),
        "{}",
        new.text
    );
    assert!(
        new.text.contains("no tables yet") && new.text.contains("`plaudit serve` begins it"),
        "{}",
        new.text
    );
    assert!(!place.data().exists());
    assert_eq!((world.count(RELATIONS).await, world.redis(&["DBSIZE"]).await), (0, redis::Value::Int(0)));

    let mut server = Server::start(&strs(&flags));
    server
        .client("ann")
        .act("createNote", serde_json::json!({ "title": "A", "body": "B" }), "note { id }")
        .await;
    let used = check(&strs(&flags));
    used.is_well();
    assert!(
        used.text.contains("none is pending") && used.text.contains("2 shards, in both stores"),
        "{}",
        used.text
    );
    server.stop();

    let read = || async {
        (world.count("SELECT count(*) FROM shard").await, world.redis(&["DEBUG", "DIGEST"]).await)
    };
    let before = read().await;
    check(&strs(&flags)).is_well();
    assert_eq!(read().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_and_files_that_cannot_be_used_are_one_error_each_without_asking_a_store() {
    let place = Place::new();
    let write = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let dead =
        ["--offline", "--redis-url", "redis://127.0.0.1:1", "--database-url", "postgres://127.0.0.1:1/p"];
    check(&dead).is_well();
    let (not_toml, unknown) = (write("broken.toml", "listen = = 1"), write("unknown.toml", "lisen = 1"));
    let (no_keys, no_manifest) = (write("keys.json", "{}"), write("manifest.json", "[]"));
    for (flags, mend) in [
        (&["--config", "/nowhere/plaudit.toml"][..], "cannot read the settings file"),
        (&["--config", &not_toml], "line 1"),
        (&["--config", &unknown], "did you mean `listen`?"),
        (&["--only-trusted-documents"], "name a manifest with trusted_documents"),
        (&["--trusted-documents", &no_manifest], "manifest.json"),
        (&["--redis-ca", "/nowhere/ca.pem"], "setting redis_ca"),
        (
            &["--database-replica-url", "postgres://db/p?sslmode=verify-full&sslrootcert=/nowhere"],
            "sslrootcert",
        ),
        (&["--moderator", "blocklist", "--moderator-blocklist", "/nowhere/words"], "/nowhere/words"),
        (&["--listen", "192.0.2.1:80"], "setting listen"),
    ] {
        let checked = check(&[&dead[..], flags].concat());
        assert!(checked.error().contains(mend), "{flags:?}: {}", checked.text);
    }
    let mut with_keys = command(&place, &[&dead[..], &["--jwks-file", &no_keys]].concat());
    let checked = Checked::of(&with_keys.env_remove("PLAUDIT_JWT_SECRET").output().unwrap());
    assert!(checked.error().contains("cannot use the keys of"), "{}", checked.text);

    let secret = write("secret.toml", &format!("jwt_secret = '{}'", "s".repeat(32)));
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
    check(&[&dead[..], &["--config", &secret]].concat()).warns("chmod o=");
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_away_and_passwords_that_are_wrong_are_named_as_a_start_names_them() {
    let world = World::start("host all all 127.0.0.1/32 scram-sha-256", &["--requirepass", "right"]).await;
    let postgres = world.postgres.url_of("plaudit");
    let redis = format!("redis://:right@127.0.0.1:{}", world.redis_port);
    check(&["--redis-url", &redis, "--database-url", &postgres]).is_well();

    let away =
        check(&["--redis-url", "redis://127.0.0.1:1", "--database-url", "postgres://127.0.0.1:1/plaudit"]);
    assert_eq!((away.code, away.lines("error").len()), (Some(1), 2), "{}", away.text);
    assert!(
        away.text.contains("setting redis_url") && away.text.contains("setting database_url"),
        "{}",
        away.text
    );

    let wrong = format!("redis://:wrong@127.0.0.1:{}", world.redis_port);
    let said = as_a_start_says(&["--redis-url", &wrong, "--database-url", &postgres]);
    assert!(said.contains("the password of redis_url") && !said.contains("wrong"), "{said}");
    let wrong = format!("postgres://plaudit:wrong@127.0.0.1:{}/plaudit", world.postgres.port);
    let said = as_a_start_says(&["--redis-url", &redis, "--database-url", &wrong]);
    assert!(said.contains("password authentication failed") && !said.contains("wrong@"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_that_are_half_migrated_or_of_others_are_refused_as_a_start_refuses_them() {
    let world = World::start("", &[]).await;
    let flags = world.flags();
    world.sql("CREATE TABLE note (is_of_the_app boolean); ALTER TABLE note OWNER TO plaudit").await;
    let said = as_a_start_says(&strs(&flags));
    assert!(said.contains("the table note exists") && said.contains("an empty database"), "{said}");
    world.sql("DROP TABLE note").await;
    Server::start(&strs(&flags)).stop();

    for (breaking, mending, what) in [
        (
            "UPDATE _sqlx_migrations SET success = false WHERE version = 3",
            "UPDATE _sqlx_migrations SET success = true",
            "partially applied",
        ),
        (
            "UPDATE _sqlx_migrations SET version = 9999 WHERE version = 9",
            "UPDATE _sqlx_migrations SET version = 9 WHERE version = 9999",
            "9999",
        ),
        (
            "ALTER TABLE repair RENAME TO repaired",
            "ALTER TABLE repaired RENAME TO repair",
            "its table repair is missing",
        ),
        (
            "ALTER TABLE note OWNER TO admin",
            "ALTER TABLE note OWNER TO plaudit",
            "REASSIGN OWNED BY \"admin\" TO \"plaudit\"",
        ),
    ] {
        world.sql(breaking).await;
        let said = as_a_start_says(&strs(&flags));
        assert!(said.contains(what), "{what}: {said}");
        world.sql(mending).await;
    }

    world.sql("DELETE FROM _sqlx_migrations WHERE version = 8; DROP TABLE repair, nightly_reconcile").await;
    check(&strs(&flags)).warns("1 are pending");
    let mut server = Server::start(&strs(&flags));
    check(&strs(&flags)).is_well();
    server.stop();

    world.redis(&["HSET", &support::key(0, "meta"), "installation", "of-another-one"]).await;
    let said = as_a_start_says(&strs(&flags));
    assert!(said.contains("another installation"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_and_disks_without_room_are_refused_as_a_start_refuses_them() {
    let world = World::start("", &[]).await;
    let flags = world.flags();
    world.redis(&["CONFIG", "SET", "maxmemory", "200000"]).await;
    let said = as_a_start_says(&strs(&flags));
    assert!(said.contains("Redis has no room") && said.contains("raise `maxmemory`"), "{said}");
    world.redis(&["CONFIG", "SET", "maxmemory", "0"]).await;

    // Its file may grow no more, as on a full disk.
    let pid = world.redis.id().as_raw_nonzero().to_string();
    let limited = Command::new("prlimit").args(["--pid", &pid, "--fsize=1"]).status().unwrap();
    assert!(limited.success());
    let client = redis::Client::open(world.redis_url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let _refused: Result<(), _> = redis::cmd("SET").arg("a").arg(1).query_async(&mut connection).await;
    support::eventually("Redis has noticed", support::SOON, || async {
        check(&strs(&world.flags())).text.contains("make room there").then_some(())
    })
    .await;

    let disk = world.place.path().join("disk");
    fs::create_dir(&disk).unwrap();
    // A mount that only this process sees.
    let mut full = Command::new("unshare");
    full.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    full.arg("mount -t tmpfs -o size=20m none \"$0\" && exec \"$@\"").arg(&disk);
    let checking = command(&world.place, &["--data-dir", disk.to_str().unwrap()]);
    full.arg(checking.get_program()).args(checking.get_args());
    full.envs(checking.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let checked = Checked::of(&full.output().unwrap());
    assert!(
        checked.error().contains("20 MiB left") || checked.error().contains("19 MiB left"),
        "{}",
        checked.text
    );
    assert!(checked.error().contains("make room there"), "{}", checked.text);

    let limited = command(&world.place, &strs(&flags));
    let mut few = Command::new("prlimit");
    few.arg("--nofile=200:200").arg(limited.get_program()).args(limited.get_args());
    few.envs(limited.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Checked::of(&few.output().unwrap()).warns("LimitNOFILE=");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_and_memory_are_counted_against_what_a_process_of_these_roles_takes() {
    let mut world = World::start("", &[]).await;
    let flags = world.flags();
    let check_as = |roles: &str| check(&[&strs(&flags)[..], &["--roles", roles]].concat());
    for (roles, opened) in [("api,pipeline", 36), ("api", 20), ("pipeline", 16)] {
        let text = check_as(roles).text;
        let expected = format!("opens up to {opened}; PostgreSQL gives 97 (max_connections)");
        assert!(
            text.contains(&expected) && text.contains(&format!("enough for {} such", 97 / opened)),
            "{text}"
        );
    }
    // Of several limits the lowest counts.
    world.sql("ALTER DATABASE plaudit CONNECTION LIMIT 17").await;
    check_as("pipeline").is_well();
    check_as("api").warns("PostgreSQL gives 17 (CONNECTION LIMIT of the database plaudit)");
    world.sql("ALTER ROLE plaudit CONNECTION LIMIT 5").await;
    check_as("pipeline").warns("PostgreSQL gives 5 (CONNECTION LIMIT of the role plaudit)");
    check_as("pipeline").warns("raise that limit, or lower database_connections");
    let fewer = [&strs(&flags)[..], &["--roles", "api", "--database-connections", "4"]].concat();
    assert!(check(&fewer).text.contains("enough for 1 such"));

    let before = check_as("api");
    before.warns("`max_wal_size` to 8192 MB or more");
    before.warns("`shared_buffers` to a quarter");
    before.warns("`maxmemory 0`");
    world.postgres.restart(&["shared_buffers=160MB".to_owned(), "max_wal_size=8GB".to_owned()]).await;
    world.redis(&["CONFIG", "SET", "maxmemory", "1gb"]).await;
    let after = check_as("api");
    after.is_well();
    assert!(after.text.contains("`shared_buffers` 160 MB and `max_wal_size` 8192 MB"), "{}", after.text);
    assert!(!after.lines("warning").iter().any(|line| line.contains("memory")), "{}", after.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_pooler_gives_is_counted_where_its_console_tells() {
    let world = World::start("host all all 127.0.0.1/32 trust", &[]).await;
    let with = "max_prepared_statements = 200\ndefault_pool_size";
    let pooler =
        PgBouncer::start(&world.place, world.postgres.port, &format!("{with} = 3\nmax_client_conn = 30"))
            .await;
    let (redis, direct) = (world.redis_url(), world.postgres.url_of("plaudit"));
    let check_by = |pooler: &PgBouncer| {
        check(&["--redis-url", &redis, "--database-url", &pooler.url(), "--database-direct-url", &direct])
    };
    let said = check_by(&pooler).error().to_owned();
    world.postgres.run_what_is_said(&said).await;
    pooler.command("RECONNECT").await;
    let checked = check_by(&pooler);
    checked.is_well();
    for told in
        ["gives 30 (max_client_conn)", "3 transactions at once (default_pool_size)", "opens up to 16;"]
    {
        assert!(checked.text.contains(told), "{told}: {}", checked.text);
    }
    let few =
        PgBouncer::start(&world.place, world.postgres.port, &format!("{with} = 3\nmax_client_conn = 15"))
            .await;
    check_by(&few).warns("raise max_client_conn");
}

/// The rights that docs/operations/stores.md lists.
fn documented_rights() -> Vec<String> {
    let page = support::text_of("docs/operations/stores.md");
    let (_, rest) = page.split_once("ACL SETUSER plaudit on '>password' ").unwrap();
    let command = rest.split("```").next().unwrap();
    command
        .split([' ', '\n', '\\'])
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_rights_suffice_and_what_is_missing_is_named_with_them() {
    let world = World::start("", &[]).await;
    let postgres = world.postgres.url_of("plaudit");
    let url = format!("redis://plaudit:secret@127.0.0.1:{}", world.redis_port);
    let flags = ["--redis-url", &url, "--database-url", &postgres];
    let rights = documented_rights();
    let give = async |rights: &[&str]| {
        world.redis(&[&["ACL", "SETUSER", "plaudit", "reset", "on", ">secret"][..], rights].concat()).await;
    };
    give(&strs(&rights)).await;
    check(&flags).is_well();
    let mut server = Server::start(&flags);
    let author = server.client("ann has few rights");
    let input = serde_json::json!({ "title": "A", "body": "B" });
    let made = author.act("createNote", input, "note { id }").await;
    let note = made["note"]["id"].as_str().unwrap().to_owned();
    assert_eq!(author.like(&note).await["changed"], true);
    let lists =
        "{ feed(first: 2) { nodes { likeCount viewerHasLiked } } hotNotes(first: 2) { nodes { id } } }";
    author.data(lists, serde_json::json!({})).await;
    for command in
        [&["check"][..], &["reconcile"], &["explain", &note], &["trim"], &["reshard", "--shards", "3"]]
    {
        let output = plaudit(&world.place.data()).args(command).args(flags).output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
    }
    support::eventually("likes go on with another number of shards", support::SOON, || async {
        let query = format!("mutation {{ unlikeNote(input: {{ noteId: \"{note}\" }}) {{ changed }} }}");
        author.send(&query, serde_json::json!({})).await.body["data"]["unlikeNote"].is_object().then_some(())
    })
    .await;
    server.stop();
    let denied = world.redis(&["ACL", "LOG"]).await;
    assert_eq!(denied, redis::Value::Array(Vec::new()), "{denied:?}");

    // What is missing is named, and all that are needed.
    let whole = rights.join(" ");
    let optional = ["+config|get", "+wait", "+cluster|nodes"];
    let without = |missing: &[&str]| -> Vec<String> {
        rights.iter().filter(|right| !missing.contains(&right.as_str())).cloned().collect()
    };
    give(&strs(&without(&optional))).await;
    check(&flags).is_well();
    let first = ["~{*", "&{*", "+info", "+eval"];
    give(&first).await;
    let checked = check(&flags);
    let (missing, mend) = checked.error().split_once(": give it").unwrap();
    assert!(mend.contains(&whole), "{mend}");
    for right in without(&[&first[..], &optional].concat()) {
        let name = right.trim_start_matches('+').to_owned();
        assert!(missing.split([' ', ',']).any(|word| word == name), "{name}: {missing}");
    }
    for missing in ["+info", "+eval", "+xtrim"] {
        give(&strs(&without(&[missing]))).await;
        let said = as_a_start_says(&flags);
        assert!(said.contains(missing.trim_start_matches('+')) && said.contains(&whole), "{missing}: {said}");
        assert!(!said.contains("rediss"), "{missing}: {said}");
    }
    let others = |from: &str, to: &'static str| -> Vec<String> {
        rights.iter().map(|right| if right == from { to.to_owned() } else { right.clone() }).collect()
    };
    for (from, to, what) in [
        ("~{*", "~app:*", "access one of the keys"),
        ("~{*", "%R~{*", "access one of the keys"),
        ("&{*", "&app:*", "may not run spublish, ssubscribe"),
    ] {
        give(&strs(&others(from, to))).await;
        let said = as_a_start_says(&flags);
        assert!(said.contains(what) && said.contains(&whole), "{to}: {said}");
    }
    // A service that manages Redis for others.
    give(&["+@all", "~*", "&*", "-config"]).await;
    let managed = check(&flags);
    managed.is_well();
    assert!(
        managed.text.contains("forbids CONFIG") && managed.text.contains("managed-stores.md"),
        "{}",
        managed.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_looked_at_on_valkey_too_which_goes_on() {
    let world = World::start("", &[]).await;
    let port = free_port();
    let flags = ["--port", &port.to_string(), "--set-max-intset-entries", "8192"];
    let mut running = OwnRedis::start_with(&valkey(), &world.place, port, &[], &flags).await;
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    let mut administrator = client.get_multiplexed_async_connection().await.unwrap();
    let url = format!("redis://plaudit:secret@127.0.0.1:{port}");
    let flags = ["--redis-url", &url, "--database-url", &world.postgres.url_of("plaudit")];
    let rights = documented_rights();
    for lacking in ["+xtrim", "+evalsha", ""] {
        let mut give = redis::cmd("ACL");
        give.arg(&["SETUSER", "plaudit", "reset", "on", ">secret"]);
        give.arg(rights.iter().filter(|right| *right != lacking).collect::<Vec<_>>());
        give.exec_async(&mut administrator).await.unwrap();
        let checked = check(&flags);
        if lacking.is_empty() {
            checked.is_well();
        } else {
            let lacking = lacking.trim_start_matches('+');
            assert!(checked.error().contains(&format!("may not run {lacking}, or")), "{}", checked.text);
        }
        assert!(!running.has_ended());
    }
    let server = Server::start(&flags);
    let input = serde_json::json!({ "title": "A", "body": "B" });
    let made = server.client("ann").act("createNote", input, "note { id }").await;
    assert_eq!(server.client("ann").like(made["note"]["id"].as_str().unwrap()).await["changed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_password_and_one_that_is_not_encoded_are_told_apart_from_tls() {
    let world =
        World::start("host all all 127.0.0.1/32 scram-sha-256", &["--requirepass", "p@ss/w#rd"]).await;
    world.sql("ALTER ROLE plaudit PASSWORD 'p@ss/w#rd'").await;
    let (redis, postgres) = (world.redis_port, world.postgres.port);
    let flags = |redis_login: &str, login: &str| {
        let redis = format!("redis://{redis_login}127.0.0.1:{redis}");
        let database = format!("postgres://plaudit{login}@127.0.0.1:{postgres}/plaudit");
        ["--redis-url".to_owned(), redis, "--database-url".to_owned(), database]
    };
    let (right_redis, right) = (":p%40ss%2Fw%23rd@", ":p%40ss%2Fw%23rd");
    check(&strs(&flags(right_redis, right))).is_well();
    let said = as_a_start_says(&strs(&flags("", right)));
    assert!(said.contains("Redis wants a password") && said.contains("redis://:password@host"), "{said}");
    assert!(!said.contains("rediss"), "{said}");
    for (redis_login, login) in [(":p@ss/w#rd@", right), (right_redis, ":p@ss/w#rd")] {
        let checked = check(&strs(&flags(redis_login, login)));
        let said = checked.error();
        assert!(said.contains("# %23") && said.contains("127.0.0.1") && !said.contains("ss/w"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgresql_that_somebody_else_manages_is_named() {
    let world = World::start("", &[]).await;
    let flags = world.flags();
    assert!(!check(&strs(&flags)).text.contains("managed"));
    world.sql("CREATE ROLE rds_superuser").await;
    let rds = check(&strs(&flags)).text;
    assert!(rds.contains("PostgreSQL is Amazon RDS") && rds.contains("shared_buffers"), "{rds}");
    world.sql("CREATE FUNCTION aurora_version() RETURNS text LANGUAGE sql AS $$ SELECT '16' $$").await;
    let aurora = check(&strs(&flags)).text;
    assert!(aurora.contains("PostgreSQL is Amazon Aurora") && !aurora.contains("shared_buffers"), "{aurora}");
}
