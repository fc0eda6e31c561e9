//! Erasing users: everything of theirs goes, the counts of everybody else stay right, wherever the server is killed.

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use redis::AsyncCommands;
use serde_json::{Value, json};
use support::{
    Client, SOON, Server, Stores, drift, eventually, keys_with, number, rows_of, tables_with, until_erased,
};

const SUBJECT: &str = "erik-at-example";
const NAME: &str = "Erik Examplesson";
const WORDS: &str = "words-of-erik";

async fn id_of(client: &Client) -> Value {
    client.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone()
}

pub async fn note(author: &Client, text: &str) -> Value {
    let input = json!({ "title": text, "body": text });
    author.act("createNote", input, "note { id }").await["note"]["id"].clone()
}

/// Writes a comment and waits until it is approved.
pub async fn comment(author: &Client, note: &Value, reply_to: Option<&Value>, body: &str) -> Value {
    let input = json!({ "noteId": note, "body": body, "replyToId": reply_to });
    let id = author.act("addComment", input, "comment { id }").await["comment"]["id"].clone();
    let query = "query ($id: ID!) { node(id: $id) { ... on Comment { state } } }";
    eventually("the comment is approved", SOON, || async {
        let seen = author.data(query, json!({ "id": id })).await;
        (seen["node"]["state"] == "APPROVED").then_some(())
    })
    .await;
    id
}

/// What Erik and the others did.
struct Scene {
    moderator: Client,
    erik: Client,
    erik_id: Value,
    ann: Client,
    ann_id: Value,
    of_erik: Value,
    of_ann: Value,
    answered: Value,
}

impl Scene {
    async fn new(server: &Server) -> Self {
        let (erik, ann) = (server.client(SUBJECT), server.client("ann"));
        let moderator = server.client_as(Role::Moderator, "the moderator");
        let profile = json!({ "name": NAME, "avatarUrl": "https://erik.example/face.png" });
        erik.act("updateProfile", profile, "changed").await;
        let (of_erik, of_ann) = (note(&erik, WORDS).await, note(&ann, "Of Ann").await);
        let (erik_id, ann_id) = (id_of(&erik).await, id_of(&ann).await);
        let group = ann.act("createGroup", json!({ "name": "Readers", "description": "" }), "group { id }");
        let group = group.await["group"]["id"].clone();
        for (mutation, input) in [
            ("likeNote", json!({ "noteId": of_ann })),
            ("collectNote", json!({ "noteId": of_ann })),
            ("follow", json!({ "userId": ann_id })),
            ("joinGroup", json!({ "groupId": group })),
            ("rateNote", json!({ "noteId": of_ann, "score": 2 })),
        ] {
            erik.act(mutation, input.clone(), "changed").await;
            if mutation != "rateNote" && mutation != "follow" {
                continue;
            }
            let input = if mutation == "follow" {
                json!({ "userId": erik_id })
            } else {
                json!({ "noteId": of_erik, "score": 9 })
            };
            ann.act(mutation, input, "changed").await;
        }
        ann.like(of_erik.as_str().unwrap()).await;
        comment(&ann, &of_erik, None, "Nice.").await;
        let answered = comment(&erik, &of_ann, None, WORDS).await;
        comment(&ann, &of_ann, Some(&answered), "Thank you.").await;
        comment(&erik, &of_ann, None, WORDS).await;
        let edit = "WITH page AS (UPDATE note SET url = 'https://erik.example/words' WHERE id = $3)
                    INSERT INTO edit (kind, target_id, body, images, mentions, rejected_because)
                    VALUES ('comment', $1, $2, '{}', '{}', 'Because')";
        let edit = sqlx::query(edit).bind(number(&answered)).bind(WORDS).bind(number(&of_erik));
        edit.execute(&server.stores().sql().await).await.unwrap();
        let key = json!({ "noteId": of_ann, "score": 3, "idempotencyKey": "erik-s-key" });
        erik.act("rateNote", key, "changed").await;
        let service = server.client_as(Role::Service, "a service");
        let coins = json!({ "userId": erik_id, "amount": 5, "reason": WORDS });
        service.act("grantCoins", coins, "user { id }").await;
        server.stores().rest().await;
        Self { moderator, erik, erik_id, ann, ann_id, of_erik, of_ann, answered }
    }

    /// Every count of the others that Erik had moved.
    async fn others(&self) -> Value {
        let query = "query ($ann: ID!, $note: ID!, $answered: ID!) {
            user(id: $ann) { followerCount followingCount likesReceivedCount collectsReceivedCount commentCount }
            note(id: $note) { likeCount collectCount commentCount ratingCount comments { nodes { id } } }
            node(id: $answered) { ... on Comment { isRemoved body replyCount author { id } } } }";
        let variables = json!({ "ann": self.ann_id, "note": self.of_ann, "answered": self.answered });
        self.ann.data(query, variables).await
    }
}

async fn assert_is_erased(server: &Server, scene: &Scene) {
    let stores = server.stores();
    for text in [SUBJECT, NAME, WORDS, "erik.example", "erik-s-key"] {
        assert_eq!(tables_with(&stores, text).await, Vec::<String>::new(), "{text}");
        assert_eq!(keys_with(&stores, text).await, Vec::<String>::new(), "{text}");
    }
    assert_eq!(rows_of(&stores, &scene.erik_id).await, 0);
    assert_eq!(drift(server), Vec::<String>::new());
    let query = "query ($u: ID!, $n: ID!) { user(id: $u) { name } note(id: $n) { title } }";
    let gone = scene.ann.data(query, json!({ "u": scene.erik_id, "n": scene.of_erik })).await;
    assert_eq!(gone, json!({ "user": null, "note": null }));
    let others = scene.others().await;
    assert_eq!(
        others["user"],
        json!({ "followerCount": 0, "followingCount": 0, "likesReceivedCount": 0, "collectsReceivedCount": 0,
                "commentCount": 1 })
    );
    let note = &others["note"];
    assert_eq!(
        (&note["likeCount"], &note["collectCount"], &note["commentCount"], &note["ratingCount"]),
        (&json!(0), &json!(0), &json!(1), &json!(0))
    );
    // The comment that Ann answered stays as a placeholder.
    assert_eq!(note["comments"]["nodes"], json!([{ "id": scene.answered }]));
    let placeholder = json!({ "isRemoved": true, "body": "", "replyCount": 1, "author": null });
    assert_eq!(others["node"], placeholder);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_user_leaves_nothing_and_everybody_elses_counts_are_right() {
    let server = Server::start(&[]);
    let scene = Scene::new(&server).await;
    for changed in [true, false] {
        let input = json!({ "userId": scene.erik_id });
        let payload = scene.moderator.act("eraseUser", input, "changed erasedUserId").await;
        assert_eq!(payload, json!({ "changed": changed, "erasedUserId": scene.erik_id }));
    }
    until_erased(&server.stores(), &scene.erik_id).await;
    assert_is_erased(&server, &scene).await;

    // The subject comes back as somebody new, who likes nothing.
    scene.erik.like(scene.of_ann.as_str().unwrap()).await;
    let new = id_of(&scene.erik).await;
    assert_ne!(new, scene.erik_id);
    server.stores().rest().await;
    assert_eq!(scene.others().await["note"]["likeCount"], 1);
    assert_eq!(drift(&server), Vec::<String>::new());
}

#[tokio::test]
async fn a_text_that_redis_kept_would_be_found_in_any_type_of_value_also_if_it_expires() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let (mut redis, long) = (stores.redis().await, format!("{}{WORDS}", "compressible ".repeat(100)));
    let planted: [&[&str]; 7] = [
        &["SET", "a string", &long, "EX", "60"],
        &["HSET", "a hash", "field", &long],
        &["SADD", "a set", "1", &long],
        &["RPUSH", "a list", &long],
        &["ZADD", "a sorted set", "1", &long],
        &["XADD", "a stream", "*", "e", &long],
        &["SET", &long, "", "EX", "60"],
    ];
    for command in planted {
        redis::cmd(command[0]).arg(&command[1..]).exec_async(&mut redis).await.unwrap();
        assert_eq!(keys_with(&stores, WORDS).await, [command[1]]);
        assert_eq!(keys_with(&stores, NAME).await, Vec::<String>::new());
        redis.del::<_, ()>(command[1]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn erasing_continues_after_kills_before_and_after_the_commits_of_its_pages() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &["--lease", "2s"]);
    let mut scene = Scene::new(&server).await;
    server.kill();
    assert!(server.try_start(&[("FAILPOINTS", "page.before=1*return(die)")]));
    let moderator = server.client_as(Role::Moderator, "the moderator");
    moderator.act("eraseUser", json!({ "userId": scene.erik_id }), "changed").await;
    let left = "SELECT count(*) FROM backfill WHERE finished_at IS NULL AND $1 > 0";
    let mut kills = 0;
    // Each life does some pages and ends at the next one.
    for life in ["page.after=4*off->1", "page.before=3*off->1"].iter().cycle() {
        // Has ended, or has nothing left to end at.
        let is_done = loop {
            if server.has_ended() {
                break false;
            }
            if stores.number(left, number(&scene.erik_id)).await == 0 {
                break true;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        if is_done {
            break;
        }
        kills += 1;
        server.try_start(&[("FAILPOINTS", &format!("{life}*return(die)"))]);
    }
    assert!(kills > 3, "{kills} kills");
    if server.has_ended() {
        server.start_again();
    }
    scene.ann = server.client("ann");
    until_erased(&stores, &scene.erik_id).await;
    assert_is_erased(&server, &scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_erase_themselves_only_with_a_confirmation_and_nobody_else() {
    let server = Server::shared();
    let (own, other) = (server.client("erases herself"), server.client("erases others"));
    own.follow(&format!("user_{}", server.stores().new_user().await)).await;
    let id = id_of(&own).await;
    assert_eq!(server.anonymous().refused("eraseUser", json!({ "userId": id })).await.0, "UNAUTHENTICATED");
    for confirmation in [Value::Null, json!("user_1")] {
        let input = json!({ "userId": id, "confirmation": confirmation });
        assert_eq!(own.refused("eraseUser", input).await.0, "BAD_USER_INPUT");
    }
    let input = json!({ "userId": id, "confirmation": id });
    for _ in 0..2 {
        assert_eq!(other.refused("eraseUser", input.clone()).await.0, "FORBIDDEN");
        other.like(&support::note(server.stores().new_note().await)).await;
    }
    for (changed, key) in [(true, "once"), (false, "once"), (false, "twice")] {
        let input = json!({ "userId": id, "confirmation": id, "idempotencyKey": key });
        assert_eq!(own.act("eraseUser", input, "changed").await["changed"], changed);
    }
    assert_eq!(id_of(&own).await, Value::Null);
    let unknown = json!({ "userId": "user_9000000000" });
    let moderator = server.client_as(Role::Moderator, "the moderator");
    assert_eq!(moderator.refused("eraseUser", unknown).await.0, "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_erased_in_the_middle_of_their_actions_leaves_nothing() {
    let server = Server::start(&[]);
    let scene = Scene::new(&server).await;
    // All of them wait for the counts of one author.
    let ann = scene.ann.retrying();
    let notes = join_all((0..32).map(|_| note(&ann, "Another"))).await;
    let act = |note: &Value| {
        let (erik, input) = (scene.erik.retrying(), json!({ "noteId": note }));
        async move {
            for mutation in ["likeNote", "collectNote", "unlikeNote", "likeNote"] {
                erik.act(mutation, input.clone(), "changed").await;
            }
        }
    };
    let erase = scene.moderator.act("eraseUser", json!({ "userId": scene.erik_id }), "changed");
    tokio::join!(join_all(notes.iter().map(act)), erase);
    until_erased(&server.stores(), &scene.erik_id).await;
    assert_eq!(rows_of(&server.stores(), &scene.erik_id).await, 0);
    assert_eq!(drift(&server), Vec::<String>::new());
}

/// The records that `plaudit export` prints, by their kind.
fn exported(server: &Server, user: &Value) -> Vec<Value> {
    let output = server.command().args(["export", "--user", user.as_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_is_held_of_a_user_is_exported_by_pages_and_by_command() {
    let server = Server::start(&[]);
    let scene = Scene::new(&server).await;
    let records = exported(&server, &scene.erik_id);
    let kinds: Vec<&str> = records.iter().map(|record| record["type"].as_str().unwrap()).collect();
    let expected = [
        "user",
        "note",
        "comment",
        "comment",
        "rating",
        "inboxEntry",
        "inboxEntry",
        "inboxEntry",
        "inboxEntry",
        "coins",
        "note_like",
        "follow",
        "note_collect",
        "group_join",
    ];
    assert_eq!(kinds, expected);
    assert_eq!((&records[0]["subject"], &records[0]["name"]), (&json!(SUBJECT), &json!(NAME)));
    assert_eq!((&records[1]["id"], &records[1]["title"]), (&scene.of_erik, &json!(WORDS)));
    let like = records.iter().find(|record| record["type"] == "note_like").unwrap();
    assert_eq!((&like["target"], &like["isOn"]), (&scene.of_ann, &json!(true)));
    assert_eq!(like["steps"].as_array().unwrap().len(), 1);

    let query = "query ($u: ID!, $after: String) { exportUser(userId: $u, first: 3, after: $after) {
        nodes { kind json } pageInfo { endCursor hasNextPage } } }";
    for reader in [&scene.erik, &scene.moderator, &server.client_as(Role::Service, "a service")] {
        let (mut after, mut read) = (Value::Null, Vec::new());
        loop {
            let page =
                reader.data(query, json!({ "u": scene.erik_id, "after": after })).await["exportUser"].clone();
            read.extend(
                page["nodes"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|node| serde_json::from_str::<Value>(node["json"].as_str().unwrap()).unwrap()),
            );
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
        assert_eq!(read, records);
    }
    let refused = scene.ann.error(query, json!({ "u": scene.erik_id })).await;
    assert_eq!(refused["extensions"]["code"], "FORBIDDEN");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_erases_a_user_and_shows_when_it_is_done() {
    let server = Server::start(&[]);
    let scene = Scene::new(&server).await;
    let erase = |id: &str, flags: &[&str]| server.command().args(["erase", id]).args(flags).output().unwrap();
    let id = scene.erik_id.as_str().unwrap();
    let unconfirmed = erase(id, &[]);
    assert_eq!(unconfirmed.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unconfirmed.stderr).contains("--yes"));
    assert_eq!(scene.others().await["user"]["followerCount"], 1);
    for said in [format!("{id} is erased\n"), format!("{id} was erased before\n")] {
        let output = erase(id, &["--yes"]);
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            said,
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    until_erased(&server.stores(), &scene.erik_id).await;
    assert_is_erased(&server, &scene).await;
    for (wrong, why) in [("user_9000000000", "there is no user"), ("note_1", "is not a user")] {
        let output = erase(wrong, &["--yes"]);
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains(why));
    }
    let gone = server.command().args(["export", "--user", id]).output().unwrap();
    assert!(String::from_utf8_lossy(&gone.stderr).contains("erased"));
}
