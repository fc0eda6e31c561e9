//! A streaming standby that answers reads of lists: what it may be asked, and what happens while it is late, broken or
//! promoted.

use std::sync::Arc;

use serde_json::{Value, json};
use support::{Client, OwnPostgres, OwnRedis, Place, SOON, Server, eventually, free_port, in_days, number};

const TRUST: &str = "host all all 127.0.0.1/32 trust";
const OWN: &str = "{ viewer { likedNotes(first: 10) { nodes { id } } } }";
const LIKERS: &str = "query ($n: ID!) { note(id: $n) { likers(first: 10) { nodes { name } } } }";

struct Stores {
    primary: OwnPostgres,
    standby: OwnPostgres,
    server: Server,
    _redis: OwnRedis,
}

impl Stores {
    async fn start() -> Self {
        let place = Arc::new(Place::new());
        let primary = OwnPostgres::start(&place, TRUST, &[]).await;
        let standby = primary.standby("own-replica", &[]).await;
        let port = free_port();
        let redis = OwnRedis::start(&place, port, &["--port", &port.to_string()]).await;
        let redis_url = format!("redis://127.0.0.1:{port}");
        let (database, replica) = (url(&primary), url(&standby));
        let server = Server::start(&[
            "--redis-url",
            &redis_url,
            "--database-url",
            &database,
            "--database-replica-url",
            &replica,
        ]);
        let stores = Self { primary, standby, server, _redis: redis };
        stores.until_log_says("lists are read from the replica").await;
        stores
    }

    async fn until_log_says(&self, text: &str) {
        eventually(text, SOON, || std::future::ready(self.server.log().contains(text).then_some(()))).await;
    }

    async fn new_note(&self, author: &Client) -> String {
        let made = author.act("createNote", json!({ "title": "Liked", "body": "Text" }), "note { id }").await;
        made["note"]["id"].as_str().unwrap().to_owned()
    }

    async fn is_persisted(&self, note: &str) {
        let admin = self.primary.admin("plaudit").await;
        eventually("the like is a row", SOON, || async {
            let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
            let rows: i64 =
                sqlx::query_scalar(rows).bind(number(&note.into())).fetch_one(&admin).await.unwrap();
            (rows > 0).then_some(())
        })
        .await;
    }

    /// The replica receives all, and shows nothing of it from now on.
    async fn pause(&self) {
        self.standby.administer("SELECT pg_wal_replay_pause()").await;
    }

    /// Statements that the replica answered, beside those that compare the places of both. `of` is a pattern.
    async fn reads_of_replica(&self, of: &str) -> i64 {
        let admin = self.standby.admin("plaudit").await;
        let scans = "SELECT coalesce(sum(idx_scan + seq_scan), 0)::bigint FROM pg_stat_user_tables WHERE relname LIKE $1";
        sqlx::query_scalar(scans).bind(of).fetch_one(&admin).await.unwrap()
    }

    /// Waits until the replica has answered: its statistics follow a statement by up to a second.
    async fn replica_is_asked(&self, of: &str) {
        eventually("the replica was asked", SOON, || async {
            (self.reads_of_replica(of).await > 0).then_some(())
        })
        .await;
    }
}

fn url(postgres: &OwnPostgres) -> String {
    format!("postgres://plaudit@127.0.0.1:{}/plaudit", postgres.port)
}

fn ids(data: &Value) -> Vec<&str> {
    let nodes = data["viewer"]["likedNotes"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["id"].as_str().unwrap()).collect()
}

fn names(data: &Value) -> usize {
    data["note"]["likers"]["nodes"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn likers_come_from_the_replica_and_own_likes_are_exact_while_it_is_late() {
    let stores = Stores::start().await;
    let (ann, ben) = (stores.server.client("replica: ann"), stores.server.client("replica: ben"));
    let (first, second) = (stores.new_note(&ann).await, stores.new_note(&ann).await);
    ben.like(&first).await;
    stores.is_persisted(&first).await;
    eventually("the replica shows the liker", SOON, || async {
        (names(&ann.data(LIKERS, json!({ "n": first })).await) == 1).then_some(())
    })
    .await;
    stores.replica_is_asked("note_like").await;

    stores.pause().await;
    ben.like(&second).await;
    stores.is_persisted(&second).await;
    ben.unlike(&first).await;
    // The list of likers may be some seconds old. One's own likes may not: the answer of the replica is refused.
    for _ in 0..10 {
        assert_eq!(ids(&ben.data(OWN, json!({})).await), [second.as_str()]);
    }
    eventually("after ten seconds the late replica is asked nothing", SOON, || async {
        (names(&ann.data(LIKERS, json!({ "n": second })).await) == 1).then_some(())
    })
    .await;
    assert_eq!(names(&ann.data(LIKERS, json!({ "n": first })).await), 0);
    stores.until_log_says("not from the replica: it is more than 10 s behind").await;
}

/// What the replica is asked: a pattern of the table's name, the query, and what is where in its answer. A
/// table is named once, because what is counted of a table may be counted late. Own collects are no part of
/// this: like own likes they are in Redis, which is filled from PostgreSQL itself.
type Read = (&'static str, String, &'static str, Value);

fn reads_of_others(note: &str, group: &Value) -> Vec<Read> {
    let yesterday = in_days(-1);
    vec![
        (
            "follow",
            "{ user(id: \"user:replica: ann\") { followers { nodes { name } } } }".into(),
            "/user/followers/nodes/0/name",
            json!("replica: ben"),
        ),
        (
            "group_join",
            format!("{{ group(id: {group}) {{ members {{ nodes {{ name }} }} }} }}"),
            "/group/members/nodes/0/name",
            json!("replica: ben"),
        ),
        (
            "activity_%",
            format!("{{ note(id: {note:?}) {{ activity(from: {yesterday:?}) {{ gained }} }} }}"),
            "/note/activity/1/gained",
            json!(1),
        ),
    ]
}

fn reads_of_own() -> Vec<Read> {
    vec![
        (
            "follow",
            "{ viewer { user { following { nodes { name } } } } }".into(),
            "/viewer/user/following/nodes/0/name",
            json!("replica: ann"),
        ),
        (
            "group_join",
            "{ viewer { user { groups { nodes { name } } } } }".into(),
            "/viewer/user/groups/nodes/0/name",
            json!("Readers"),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_members_history_and_own_follows_and_groups_come_from_the_replica() {
    for is_own in [false, true] {
        let stores = Stores::start().await;
        let (ann, ben) = (stores.server.client("replica: ann"), stores.server.client("replica: ben"));
        let note = stores.new_note(&ann).await;
        let group = ann.act("createGroup", json!({ "name": "Readers" }), "group { id }").await;
        let group = &group["group"]["id"];
        ben.like(&note).await;
        ben.follow("user:replica: ann").await;
        ben.act("joinGroup", json!({ "groupId": group }), "changed").await;
        let (reader, reads) =
            if is_own { (&ben, reads_of_own()) } else { (&ann, reads_of_others(&note, group)) };
        for (table, query, place, expected) in reads {
            eventually(table, SOON, || async {
                let data = reader.data(&query, json!({})).await;
                let is_shown = data.pointer(place) == Some(&expected);
                (is_shown && stores.reads_of_replica(table).await > 0).then_some(())
            })
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn likers_are_listed_while_only_one_of_both_is_there() {
    for primary_stays in [false, true] {
        let mut stores = Stores::start().await;
        let ann = stores.server.client("replica: ann");
        let note = stores.new_note(&ann).await;
        ann.like(&note).await;
        stores.is_persisted(&note).await;
        let list = async || ann.send(LIKERS, json!({ "n": note })).await.body;
        eventually("the replica shows the liker", SOON, || async {
            (names(&list().await["data"]) == 1).then_some(())
        })
        .await;
        if primary_stays {
            stores.standby.kill()
        } else {
            stores.primary.kill()
        }
        // The first request may wait for the server that ended.
        eventually("likers are listed", SOON, || async {
            let body = list().await;
            (body.get("errors").is_none() && names(&body["data"]) == 1).then_some(())
        })
        .await;
        if primary_stays {
            stores.until_log_says("lists are read from PostgreSQL itself").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_was_promoted_is_asked_nothing() {
    let stores = Stores::start().await;
    let ann = stores.server.client("replica: ann");
    stores.standby.promote().await;
    stores.until_log_says("not from the replica: it is no standby").await;
    let note = stores.new_note(&ann).await;
    ann.like(&note).await;
    stores.is_persisted(&note).await;
    assert_eq!(names(&ann.data(LIKERS, json!({ "n": note })).await), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_reads_the_replica_once_it_has_all() {
    let stores = Stores::start().await;
    let ann = stores.server.client("replica: ann");
    let note = stores.new_note(&ann).await;
    ann.like(&note).await;
    stores.is_persisted(&note).await;
    let (database, replica) = (url(&stores.primary), url(&stores.standby));
    let export = ["export", "--database-url", &database, "--database-replica-url", &replica];
    let printed = stores.server.command().args(export).output().unwrap();
    let lines = String::from_utf8_lossy(&printed.stdout);
    assert!(printed.status.success() && lines.contains(r#""like""#), "{printed:?}");
    stores.replica_is_asked("note_like").await;

    stores.pause().await;
    ann.unlike(&note).await;
    eventually("the unlike is a row", SOON, || async {
        let admin = stores.primary.admin("plaudit").await;
        let on: i64 =
            sqlx::query_scalar("SELECT count(*) FROM note_like WHERE is_on").fetch_one(&admin).await.unwrap();
        (on == 0).then_some(())
    })
    .await;
    let refused = stores.server.command().args(export).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("database_replica_url cannot be used: it is more than 10 s behind"), "{said}");
}
