//! Two releases side by side on the same stores, under likes: `make test-upgrade` builds the other one.

use std::{fs, path::PathBuf, process::Command, sync::Arc};

use futures_util::{StreamExt, stream};
use serde_json::json;
use support::{
    OwnPostgres, OwnRedis, Place, SOON, Server, Socket, Stores, eventually, free_port, number, token,
};

const LIKES: i64 = 200;

/// The programs, in the order in which they are started.
struct Order {
    name: &'static str,
    first: PathBuf,
    second: PathBuf,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs another build of the program: make test-upgrade"]
async fn two_releases_side_by_side_count_each_like_once_whichever_is_started_first() {
    let other = PathBuf::from(std::env::var_os("OTHER_PLAUDIT").expect("OTHER_PLAUDIT names the program"));
    let this = support::program().to_owned();
    for order in [
        Order { name: "an upgrade", first: other.clone(), second: this.clone() },
        Order { name: "the way back", first: this, second: other },
    ] {
        side_by_side(&order).await;
    }
}

#[test]
fn the_revision_to_run_beside_is_the_newest_with_another_program_and_equal_migrations() {
    let place = Place::new();
    let root = place.path();
    let write = |file: &str, text: &str| {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), text).unwrap();
    };
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=ann", "-c", "user.email=ann@example.com"]).args(arguments);
        let output = command.current_dir(root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let commit = || {
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "a change"]);
        git(&["rev-parse", "HEAD"])
    };
    let which = || {
        let script = root.join("scripts/test-upgrade.sh");
        let output = Command::new("bash").arg(script).arg("--which").env_remove("REV").output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap().trim().to_owned())
    };
    git(&["init", "--quiet"]);
    let script = support::path_of("scripts/test-upgrade.sh");
    write("scripts/test-upgrade.sh", &fs::read_to_string(script).unwrap());
    for file in ["src/file", "lua/file", "crates/file", "Cargo.toml", "Cargo.lock"] {
        write(file, "1");
    }
    write("migrations/0001.sql", "of a former version");
    commit();
    let (refused, said) = which();
    assert!(!refused && said.contains("REV=main~20"), "{said}");
    write("migrations/0001.sql", "of this version");
    write("src/file", "2");
    let with_equal_migrations = commit();
    write("src/file", "3");
    let newest = commit();
    write("docs/file", "1");
    commit();
    assert_eq!(which(), (true, with_equal_migrations));
    write("lua/file", "not committed");
    assert_eq!(which(), (true, newest));
    write("migrations/0001.sql", "not committed");
    assert!(!which().0);
}

/// The first one runs alone, then both, then the second one alone; both were asked for likes while they ran.
async fn side_by_side(order: &Order) {
    let place = Arc::new(Place::new());
    let postgres = OwnPostgres::start(&place, "host all all 127.0.0.1/32 trust", &[]).await;
    let port = free_port();
    let _redis = OwnRedis::start(&place, port, &["--port", &port.to_string()]).await;
    let redis_url = format!("redis://127.0.0.1:{port}");
    let database_url = format!("postgres://plaudit@127.0.0.1:{}/plaudit", postgres.port);
    let flags = ["--redis-url", &redis_url, "--database-url", &database_url, "--lease", "2s"];
    let stores = Stores::elsewhere(&redis_url, Vec::new(), &database_url);

    let mut first = Server::start_program(&order.first, &flags);
    let input = json!({ "title": "Liked", "body": "Text" });
    let author = first.client("upgrade: an author");
    let made = author.retrying().act("createNote", input, "note { id }").await;
    let note = made["note"]["id"].as_str().unwrap().to_owned();
    like(&[&first], &note, 0..LIKES).await;
    let second = Server::start_program(&order.second, &flags);
    let mut watching = Socket::open(&second.url, Some(token("upgrade: a reader"))).await;
    watching.watch_notes(&[&note]).await;
    // So each reads what the other one has written to the log and published.
    like(&[&first, &second], &note, LIKES..2 * LIKES).await;
    first.stop();
    like(&[&second], &note, 2 * LIKES..3 * LIKES).await;
    watching.note_until(|note| note["likeCount"] == 3 * LIKES).await;
    stores.rest().await;

    let id = number(&json!(note));
    eventually("counts, totals and rows agree", SOON, || async {
        let totals = stores.likes(id).await;
        let counts = (totals.rows, totals.total, totals.redis);
        (counts == (3 * LIKES, 3 * LIKES, Some(3 * LIKES))).then_some(())
    })
    .await;
    assert_eq!(stores.number("SELECT count(*) FROM dead_event WHERE $1 > 0", id).await, 0, "{}", order.name);
    println!("{}: {} likes, each counted once", order.name, 3 * LIKES);
}

/// Each liker goes to one of the servers, and asks again until it is acknowledged.
async fn like(servers: &[&Server], note: &str, likers: std::ops::Range<i64>) {
    let clients: Vec<_> = likers
        .map(|liker| servers[liker as usize % servers.len()].client(&format!("upgrade: user {liker}")))
        .collect();
    let query = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { note { id } } }";
    let like = |client: &support::Client| {
        let (client, note) = (client.clone(), note.to_owned());
        async move {
            eventually("the like is acknowledged", SOON, || async {
                let reply = client.try_send(query, json!({ "n": note })).await.ok()?;
                reply.body["data"]["likeNote"]["note"]["id"].as_str().map(drop)
            })
            .await;
        }
    };
    stream::iter(clients.iter().map(like)).buffer_unordered(8).collect::<Vec<()>>().await;
}
