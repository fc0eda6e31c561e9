//! Reads of what nobody has: they write nothing, and a creation ends them at once, in every process.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use futures_util::{StreamExt, future::join_all};
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, Server, Stores, note, user};

const NODES: &str = "query ($ids: [ID!]!) { nodes(ids: $ids) {
    id ... on Note { title likeCount } ... on User { followerCount } ... on Group { memberCount } ... on Comment { likeCount } } }";

/// How many ids one request asks for.
const IDS: i64 = 100;

async fn nodes(client: &Client, ids: &[String]) -> Vec<Value> {
    client.data(NODES, json!({ "ids": ids })).await["nodes"].as_array().unwrap().clone()
}

fn ids(kind: &str, from: i64) -> Vec<String> {
    (from..from + IDS).map(|id| format!("{kind}_{id}")).collect()
}

/// The last id that a table's sequence has given.
async fn last_id(stores: &Stores, table: &str) -> i64 {
    let last = format!("SELECT last_value FROM {table}_id_seq");
    sqlx::query_scalar(sqlx::AssertSqlSafe(last)).fetch_one(&stores.sql().await).await.unwrap()
}

/// The commands that Redis executes during `work`, those of scripts included.
async fn commands(stores: &Stores, work: impl Future<Output = ()>) -> Vec<String> {
    let monitor = redis::Client::open(stores.redis_url()).unwrap().get_async_monitor().await.unwrap();
    work.await;
    stores.command(&["ECHO", "the work has ended"]).await;
    let all = monitor.into_on_message::<String>();
    all.take_while(|line| std::future::ready(!line.contains("the work has ended"))).collect().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_beyond_the_greatest_that_was_given_is_asked_of_redis_by_nobody() {
    let server = Server::start(&[]);
    let (stores, reader) = (server.stores(), server.anonymous());
    let known = note(stores.new_note().await);
    for kind in ["note", "user", "comment", "group", "note"] {
        let reply = reader.send(NODES, json!({ "ids": ids(kind, 900_000_000) })).await;
        assert_eq!(reply.body["data"]["nodes"], json!(vec![Value::Null; IDS as usize]));
        assert_eq!(reply.redis_round_trips, 0, "{reply:?}");
        assert!(reply.sql_statements <= 2, "a look for rows and counts together, or one for each: {reply:?}");
    }
    // What exists beside them is read as before.
    let mut mixed = ids("note", 900_000_000);
    mixed[7].clone_from(&known);
    assert_eq!(nodes(&reader, &mixed).await[7]["id"], known);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_exists_is_read_also_after_its_sequence_was_restarted() {
    let server = Server::start(&[]);
    let (stores, reader) = (server.stores(), server.anonymous());
    let known = note(stores.new_note().await);
    let restart = "ALTER SEQUENCE note_id_seq RESTART WITH 1000000";
    sqlx::query(restart).execute(&stores.sql().await).await.unwrap();
    assert_eq!(nodes(&reader, std::slice::from_ref(&known)).await[0]["id"], known);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_keys_and_subjects_of_nothing_write_nothing_to_redis() {
    let server = Server::start(&[]);
    let (stores, reader) = (server.stores(), server.client("somebody who reads"));
    stores.new_note().await;
    // Transactions that were rolled back, or a failover, have left a gap.
    let first = last_id(&stores, "note").await + 1;
    let moved = "SELECT setval('note_id_seq', nextval('note_id_seq') + 1000000)";
    let _: i64 = sqlx::query_scalar(moved).fetch_one(&stores.sql().await).await.unwrap();
    let wanted: Vec<Vec<String>> = (0..5)
        .map(|page| ids("note", first + page * IDS))
        .chain([
            (0..IDS).map(|number| format!("user:of-nobody/{number}")).collect(),
            (0..IDS).map(|number| format!("note:of-nothing/{number}")).collect(),
        ])
        .collect();
    let names = ["of-nobody", "of-nothing"].map(str::to_owned);
    let names: Vec<String> = wanted[..5].concat().iter().map(|id| format!(":{id}\"")).chain(names).collect();
    let reading = async {
        for wanted in &wanted {
            for _ in 0..2 {
                let found = nodes(&reader, wanted).await;
                assert!(found.iter().all(Value::is_null), "{found:?}");
            }
        }
    };
    let of_absent = |line: &String| names.iter().any(|name| line.contains(name));
    let commands: Vec<String> = commands(&stores, reading).await.into_iter().filter(of_absent).collect();
    assert!(commands.len() >= 5 * IDS as usize, "the test sees the commands: {}", commands.len());
    let is_read = |line: &&String| line.contains("] \"MGET\" ") || line.contains("] \"HMGET\" ");
    assert_eq!(commands.iter().find(|line| !is_read(line)), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_process_creates_another_reads_at_once_also_while_it_is_asked_for() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let one = Server::start_on(&stores, &[]);
    let two = Server::start_on(&stores, &["--roles", "api"]);
    let service = one.client_as(Role::Service, "the app");
    let reader = two.anonymous();
    for round in 0..20 {
        let (subject, key) = (format!("author-{round}"), format!("post-{round}"));
        // Who asks now is answered before the creation, or after it.
        let next = [note(last_id(&stores, "note").await + 1), user(last_id(&stores, "app_user").await + 1)];
        let asked: Vec<String> =
            next.into_iter().chain([format!("note:{key}"), format!("user:{subject}")]).collect();
        let is_created = AtomicBool::new(false);
        let asking = (0..4).map(|_| async {
            while !is_created.load(Relaxed) {
                nodes(&reader, &asked).await;
            }
        });
        let creating = async {
            let input = json!({ "title": "New", "body": "Text", "key": key });
            let author = service.acting_for(&subject);
            let created = author.act("createNote", input, "note { id author { id } }").await["note"].clone();
            let text = |of: &Value| of.as_str().unwrap().to_owned();
            let ids = [text(&created["id"]), text(&created["author"]["id"])];
            let names = [format!("note:{key}"), format!("user:{subject}")];
            let found = nodes(&reader, &[ids.as_slice(), &names].concat()).await;
            is_created.store(true, Relaxed);
            let shown = [
                json!({ "id": ids[0], "title": "New", "likeCount": 0 }),
                json!({ "id": ids[1], "followerCount": 0 }),
            ];
            assert_eq!(found, [&shown[..], &shown[..]].concat(), "round {round}");
        };
        tokio::join!(creating, join_all(asking));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_before_its_transaction_commits_is_there_after_it() {
    let server = Server::start(&[]);
    let (stores, reader) = (server.stores(), server.anonymous());
    let sql = stores.sql().await;
    let mut transaction = sql.begin().await.unwrap();
    let author: i64 =
        sqlx::query_scalar("INSERT INTO app_user (subject, name) VALUES ('late', 'L') RETURNING id")
            .fetch_one(&mut *transaction)
            .await
            .unwrap();
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO note (author_id, title, body) VALUES ($1, 'Late', 'Text') RETURNING id",
    )
    .bind(author)
    .fetch_one(&mut *transaction)
    .await
    .unwrap();
    let ids = [note(id), user(author), "user:late".to_owned()];
    for _ in 0..3 {
        assert_eq!(nodes(&reader, &ids[..2]).await, [Value::Null, Value::Null]);
    }
    // No invalidation follows.
    transaction.commit().await.unwrap();
    let shown = json!({ "id": ids[1], "followerCount": 0 });
    let expected = [json!({ "id": ids[0], "title": "Late", "likeCount": 0 }), shown.clone(), shown];
    assert_eq!(nodes(&reader, &ids).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn that_something_was_removed_is_remembered_in_the_process() {
    let server = Server::start(&[]);
    let (author, reader) = (server.client("ann removes"), server.anonymous());
    let input = json!({ "title": "Here", "body": "Text" });
    let id = author.act("createNote", input, "note { id }").await["note"]["id"].clone();
    author.act("deleteNote", json!({ "noteId": id }), "changed").await;
    let read = async || reader.send(NODES, json!({ "ids": [id] })).await;
    let first = read().await;
    let second = read().await;
    for reply in [&first, &second] {
        assert_eq!(reply.body["data"]["nodes"], json!([null]), "{reply:?}");
    }
    assert_eq!((second.redis_round_trips, second.sql_statements), (0, 0), "{first:?}");
}
