//! Backups of PostgreSQL that are made under load and restored later, beside a Redis that lost everything or beside the
//! old one: docs/operations/backup.md.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Output,
    sync::Arc,
};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use support::{
    Client, OwnPostgres, OwnRedis, Place, SOON, Server, Stores, eventually, free_port, key, number, plaudit,
};

const TRUST: &str = "host all all 127.0.0.1/32 trust";
/// As many like before the backup, during it, and after it.
const LIKERS: i64 = 20;

/// Both stores, and a server beside them.
struct Stack {
    place: Arc<Place>,
    postgres: OwnPostgres,
    redis_port: u16,
    redis: Option<OwnRedis>,
    server: Server,
}

/// What clients know when the backup is restored.
struct Known {
    liked: String,
    /// Made after the backup.
    late: i64,
    shown: Shown,
}

/// The newest counts that a client has, which drops older ones.
#[derive(Clone, Copy, Debug)]
struct Shown {
    likes: i64,
    version: i64,
}

impl Shown {
    fn of(note: &Value) -> Option<Self> {
        Some(Self { likes: note["likeCount"].as_i64()?, version: note["countsVersion"].as_i64()? })
    }

    fn see(&mut self, other: Self) {
        if other.version > self.version {
            *self = other;
        }
    }
}

impl Stack {
    async fn start(settings: &[String]) -> Self {
        let place = Arc::new(Place::new());
        let postgres = OwnPostgres::start(&place, TRUST, settings).await;
        Self::with(place, postgres, free_port()).await
    }

    async fn with(place: Arc<Place>, postgres: OwnPostgres, redis_port: u16) -> Self {
        let redis = OwnRedis::start(&place, redis_port, &["--port", &redis_port.to_string()]).await;
        let server = Server::start(&flags(&postgres, redis_port).each_ref().map(String::as_str));
        Self { place, postgres, redis_port, redis: Some(redis), server }
    }

    fn stores(&self) -> Stores {
        let [_, redis_url, _, database_url] = flags(&self.postgres, self.redis_port);
        Stores::elsewhere(&redis_url, Vec::new(), &database_url)
    }

    fn liker(&self, number: i64) -> Client {
        self.server.client(&format!("backup: user {number}"))
    }

    async fn new_note(&self, title: &str) -> Value {
        let author = self.server.client("backup: the author");
        let input = json!({ "title": title, "body": "Text" });
        author.act("createNote", input, "note { id }").await["note"]["id"].clone()
    }

    /// A note that some like before a backup, some during it and some after it, and a note from after it.
    async fn with_backup<T>(&self, backup: impl AsyncFnOnce() -> T) -> (T, Known) {
        let liked = self.new_note("Kept").await.as_str().unwrap().to_owned();
        // A user begins with the first action.
        let first = self.new_note("First").await.as_str().unwrap().to_owned();
        let begin = |number| {
            let (liker, first) = (self.liker(number), first.clone());
            async move { like_until_acknowledged(&liker, &first).await }
        };
        stream::iter((0..3 * LIKERS).map(begin)).buffer_unordered(4).collect::<Vec<()>>().await;
        let like = |number| {
            let (liker, liked) = (self.liker(number), liked.clone());
            async move { like_until_acknowledged(&liker, &liked).await }
        };
        stream::iter((0..LIKERS).map(like)).buffer_unordered(4).collect::<Vec<()>>().await;
        self.stores().rest().await;
        let meanwhile = stream::iter((LIKERS..2 * LIKERS).map(like)).buffer_unordered(2).collect::<Vec<()>>();
        let (backup, _) = tokio::join!(backup(), meanwhile);
        stream::iter((2 * LIKERS..3 * LIKERS).map(like)).buffer_unordered(4).collect::<Vec<()>>().await;
        let late = number(&self.new_note("Late").await);
        let shown = self.counts(&liked, 3 * LIKERS).await;
        (backup, Known { liked, late, shown })
    }

    /// Waits until the note has so many likes.
    async fn counts(&self, note: &str, likes: i64) -> Shown {
        eventually("the likes are counted", SOON, || async {
            self.shown(note).await.filter(|shown| shown.likes == likes)
        })
        .await
    }

    async fn shown(&self, note: &str) -> Option<Shown> {
        let query = "query ($id: ID!) { note(id: $id) { likeCount countsVersion } }";
        let reply = self.server.anonymous().try_send(query, json!({ "id": note })).await.ok()?;
        Shown::of(&reply.body["data"]["note"])
    }

    /// A command of the program beside these stores.
    fn run(&self, args: &[&str]) -> Output {
        run_beside(&self.postgres, self.redis_port, args)
    }

    /// Rows, totals, Redis and the client that stayed open agree; own state is as rows say; nothing is given twice.
    async fn is_right(&self, known: &Known) -> i64 {
        let stores = self.stores();
        let id = number(&json!(known.liked));
        let mut open = known.shown;
        let likes = eventually("rows, totals, counts and an open client agree", SOON, || async {
            stores.rest().await;
            let totals = stores.likes(id).await;
            let shown = self.shown(&known.liked).await?;
            let is_reset = shown.version >> 37 > known.shown.version >> 37;
            (is_reset && totals.rows == totals.total && shown.likes == totals.rows).then_some(totals.rows)
        })
        .await;
        open.see(self.shown(&known.liked).await.unwrap());
        assert_eq!(open.likes, likes, "a client that stayed open: {open:?}");
        self.own_state_is_as_rows(&stores, &known.liked).await;
        let next = self.new_note("Next").await;
        assert!(number(&next) > known.late + 900_000, "{next} after note_{}", known.late);
        let lost = json!({ "id": format!("note_{}", known.late) });
        let lost = self.server.anonymous().data("query ($id: ID!) { node(id: $id) { id } }", lost).await;
        assert_eq!(lost, json!({ "node": null }));
        let reconciled = self.run(&["reconcile", "--format", "json"]);
        assert!(reconciled.status.success(), "{}", String::from_utf8_lossy(&reconciled.stdout));
        likes
    }

    async fn own_state_is_as_rows(&self, stores: &Stores, liked: &str) {
        let on =
            "SELECT count(*) FROM note_like AS l JOIN app_user AS u ON u.id = l.actor_id AND u.subject = $2
                  WHERE l.target_id = $1 AND l.is_on";
        let sql = stores.sql().await;
        for liker in 0..3 * LIKERS {
            let subject = format!("backup: user {liker}");
            let on = sqlx::query_scalar(on).bind(number(&json!(liked))).bind(subject);
            let on: i64 = on.fetch_one(&sql).await.unwrap();
            let client = self.liker(liker);
            let has_liked = eventually("own state is known", SOON, || async {
                let query = "query ($n: ID!) { note(id: $n) { viewerHasLiked } }";
                let reply = client.send(query, json!({ "n": liked })).await;
                reply.body["data"]["note"]["viewerHasLiked"].as_bool()
            })
            .await;
            assert_eq!(has_liked, on == 1, "user {liker}");
        }
    }
}

fn flags(postgres: &OwnPostgres, redis_port: u16) -> [String; 4] {
    [
        "--redis-url".into(),
        format!("redis://127.0.0.1:{redis_port}"),
        "--database-url".into(),
        format!("postgres://plaudit@127.0.0.1:{}/plaudit", postgres.port),
    ]
}

fn run_beside(postgres: &OwnPostgres, redis_port: u16, args: &[&str]) -> Output {
    let [_, redis_url, _, database_url] = flags(postgres, redis_port);
    let mut command = plaudit(Path::new("/nonexistent/plaudit"));
    command.args(args).env("PLAUDIT_DATABASE_URL", database_url).env("PLAUDIT_REDIS_URL", redis_url);
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

async fn like_until_acknowledged(liker: &Client, note: &str) {
    let like = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { note { id } } }";
    eventually("the like is acknowledged", SOON, || async {
        let reply = liker.try_send(like, json!({ "n": note })).await.ok()?;
        reply.body["data"]["likeNote"]["note"]["id"].as_str().map(drop)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_beside_an_empty_redis_has_the_counts_of_its_rows_and_newer_versions_and_ids() {
    let mut old = Stack::start(&[]).await;
    let erased = old.server.client("backup: erased since");
    let input = json!({ "title": "By her", "body": "Text" });
    let made = erased.act("createNote", input, "note { author { id } }").await;
    let erased_id = made["note"]["author"]["id"].clone();
    let (dump, mut known) = old.with_backup(async || old.postgres.dump().await).await;
    let confirmed = json!({ "userId": erased_id, "confirmation": erased_id });
    erased.act("eraseUser", confirmed, "changed").await;
    let gone = text(&old.run(&["export", "--erased"]));
    assert_eq!(gone, format!("{}\n", erased_id.as_str().unwrap()));
    // Each loss of Redis raises the epochs beyond those of the dump.
    old.stores().rest().await;
    for _ in 0..3 {
        let before = old.shown(&known.liked).await.unwrap();
        old.stores().command(&["FLUSHALL"]).await;
        known.shown = eventually("counts have a new epoch", SOON, || async {
            let shown = old.shown(&known.liked).await?;
            (shown.likes == 3 * LIKERS && shown.version >> 37 > before.version >> 37).then_some(shown)
        })
        .await;
    }
    old.server.kill();
    old.postgres.kill();
    drop(old.redis.take());

    let place = Arc::new(Place::new());
    let file = place.path().join("erased");
    fs::write(&file, &gone).unwrap();
    let postgres = OwnPostgres::start(&place, TRUST, &[]).await;
    postgres.restore(&dump).await;
    let port = free_port();
    let again = ["erase", "--file", file.to_str().unwrap(), "--yes", "--no-wait"];
    assert_eq!(
        text(&run_beside(&postgres, port, &again)),
        "1 being erased, 0 erased before, 0 not in this database\n"
    );
    let new = Stack::with(place, postgres, port).await;
    let likes = new.is_right(&known).await;
    assert!((LIKERS..=3 * LIKERS).contains(&likes), "{likes}");
    let users = "query ($id: ID!) { user(id: $id) { name } }";
    let shown = new.server.anonymous().data(users, json!({ "id": erased_id })).await;
    assert_eq!(shown, json!({ "user": null }));
    let subjects = "SELECT count(subject) FROM app_user WHERE id = $1";
    assert_eq!(new.stores().number(subjects, number(&erased_id)).await, 0);
    let checked = new.run(&["check", "--listen", "127.0.0.1:0"]);
    let checked = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.lines().any(|line| line.starts_with("ok") && line.contains("was restored")), "{checked}");
    drop(old);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_beside_the_old_redis_gets_again_all_likes_that_its_log_has() {
    let mut stack = Stack::start(&[]).await;
    let (dump, known) = stack.with_backup(async || stack.postgres.dump().await).await;
    stack.server.stop();
    stack.postgres.restore(&dump).await;
    let warned = stack.run(&["check", "--listen", "127.0.0.1:0"]);
    let warned = String::from_utf8_lossy(&warned.stdout).into_owned();
    assert!(
        warned.lines().any(|line| line.starts_with("warning") && line.contains("erase --file")),
        "{warned}"
    );
    stack.server.start_again();
    assert_eq!(stack.is_right(&known).await, 3 * LIKERS);
    assert!(stack.server.log().contains("PostgreSQL was restored"), "{}", stack.server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_neither_the_dump_nor_the_old_redis_has_is_lost_and_told() {
    let mut stack = Stack::start(&[]).await;
    let (dump, known) = stack.with_backup(async || stack.postgres.dump().await).await;
    let stores = stack.stores();
    stores.rest().await;
    text(&stack.run(&["trim"]));
    like_until_acknowledged(&stack.liker(0), &format!("note_{}", known.late)).await;
    stack.server.stop();
    stack.postgres.restore(&dump).await;
    let lost = lost_events(&stores).await;
    assert!(lost > 0, "the logs have what the dump lacks");
    stack.server.start_again();
    let likes = stack.is_right(&known).await;
    assert!((LIKERS..3 * LIKERS).contains(&likes), "{likes}");
    let metrics = stack.server.metrics().await;
    let told = metrics.iter().filter(|(series, _)| series.starts_with("plaudit_lost_events_total"));
    let told: f64 = told.map(|(_, value)| value).sum();
    assert_eq!(told as i64, lost);
    assert!(stack.server.log().contains("PostgreSQL went back"), "{}", stack.server.log());
}

/// Entries between what PostgreSQL has of each log and what the log has.
async fn lost_events(stores: &Stores) -> i64 {
    let shards: Vec<(i16, i64, i64)> = sqlx::query_as("SELECT id, generation, number FROM shard ORDER BY id")
        .fetch_all(&stores.sql().await)
        .await
        .unwrap();
    let mut lost = 0;
    for (shard, generation, number) in shards {
        let log: Vec<(String, Vec<String>)> = redis::cmd("XRANGE")
            .arg(key(shard, "log"))
            .arg(format!("{generation}-{}", number + 1))
            .arg("+")
            .arg("COUNT")
            .arg(1)
            .query_async(&mut stores.redis().await)
            .await
            .unwrap();
        if let [(first, _)] = &log[..] {
            lost += first.split_once('-').unwrap().1.parse::<i64>().unwrap() - number - 1;
        }
    }
    lost
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_backup_with_its_archive_has_all_that_was_archived_and_gives_no_id_again() {
    let archive = Place::new();
    let archived = archive.path().join("archive");
    fs::create_dir(&archived).unwrap();
    fs::set_permissions(&archived, Permissions::from_mode(0o777)).unwrap();
    let command = format!("archive_command=cp %p {}/%f", archived.display());
    let mut stack = Stack::start(&["archive_mode=on".into(), command]).await;
    let backup = async || stack.postgres.base_backup("base", &["--wal-method=none"]);
    let (_, mut known) = stack.with_backup(backup).await;
    stack.stores().rest().await;
    let admin = stack.postgres.admin("postgres").await;
    let last = "SELECT pg_walfile_name(pg_switch_wal())";
    let last: String = sqlx::query_scalar(last).fetch_one(&admin).await.unwrap();
    eventually("the last file is archived", SOON, || {
        std::future::ready(archived.join(&last).exists().then_some(()))
    })
    .await;
    known.late = number(&stack.new_note("Not archived").await);

    stack.server.kill();
    stack.postgres.kill();
    let postgres = stack.postgres.recovered_from("base", &archived).await;
    let Stack { place, redis_port, redis, .. } = stack;
    let server = Server::start(&flags(&postgres, redis_port).each_ref().map(String::as_str));
    let recovered = Stack { place, postgres, redis_port, redis, server };
    assert_eq!(recovered.is_right(&known).await, 3 * LIKERS);
}
