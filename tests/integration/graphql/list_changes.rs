//! What is new in the feed and in an inbox is pushed by positions, and the numbers of the moderation queue to
//! moderators.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Answer, Client, ModerationService, SOON, Server, Socket, eventually, note, number, token_as};

const FEED: &str =
    "subscription ($after: ChangePosition) { feedChanged(after: $after) { position hasMore noteIds } }";
const ENTRIES: &str = "subscription ($after: ChangePosition) { inboxEntryAdded(after: $after) {
    position hasMore entries { id kind actors { id } about { id } } } }";
const QUEUE: &str = "subscription { reviewQueueChanged { waitingCount undecidedCount } }";

async fn post(client: &Client) -> String {
    let input = json!({ "title": "A note", "body": "Text" });
    client.act("createNote", input, "note { id }").await["note"]["id"].as_str().unwrap().to_owned()
}

/// Subscribes; returns the first event, too.
async fn watch(mut socket: Socket, query: &str, field: &str, after: &Value) -> (Socket, Value) {
    socket.subscribe("list", query, json!({ "after": after })).await;
    let first = socket.data().await[field].clone();
    (socket, first)
}

async fn watch_feed(server: &Server, after: &Value) -> (Socket, Value) {
    watch(Socket::open(&server.url, None).await, FEED, "feedChanged", after).await
}

fn ids(event: &Value) -> Vec<String> {
    let ids = event["noteIds"].as_array().unwrap_or_else(|| panic!("{event}")).iter();
    ids.map(|id| id.as_str().unwrap().to_owned()).collect()
}

/// Reads events of the feed until they have as many notes; none comes twice.
async fn read_notes(socket: &mut Socket, number: usize) -> (BTreeSet<String>, Value) {
    let (mut found, mut position) = (BTreeSet::new(), Value::Null);
    while found.len() < number {
        let event = socket.data().await["feedChanged"].clone();
        assert_eq!(event["hasMore"], false, "{event}");
        for id in ids(&event) {
            assert!(found.insert(id), "twice: {event}");
        }
        position = event["position"].clone();
    }
    (found, position)
}

#[tokio::test(flavor = "multi_thread")]
async fn new_notes_are_pushed_once_and_after_a_reconnection_the_newest_50() {
    let server = Server::start(&[]);
    let authors: Vec<Client> = (0..60).map(|i| server.client(&format!("author {i}")).retrying()).collect();
    post(&authors[0]).await;
    let (mut socket, first) = watch_feed(&server, &Value::Null).await;
    assert_eq!((ids(&first), &first["hasMore"]), (vec![], &json!(false)));
    let few: BTreeSet<String> = join_all(authors[..3].iter().map(post)).await.into_iter().collect();
    let (found, position) = read_notes(&mut socket, 3).await;
    assert_eq!(found, few);
    // Removed or repeated, nothing is new.
    let gone = few.first().unwrap();
    let owner = server.client_as(Role::Moderator, "mod");
    owner.act("deleteNote", json!({ "noteId": gone }), "changed").await;
    let (_, event) = watch_feed(&server, &first["position"]).await;
    assert_eq!(ids(&event).len(), 2, "{event}");
    let (_, event) = watch_feed(&server, &position).await;
    assert_eq!((ids(&event), &event["position"]), (vec![], &position));

    let (mut many, mut last) = (BTreeSet::new(), Value::Null);
    for authors in authors.chunks(30) {
        let posted: BTreeSet<String> = join_all(authors.iter().map(post)).await.into_iter().collect();
        let (found, position) = read_notes(&mut socket, 30).await;
        assert_eq!(found, posted);
        many.extend(found);
        last = position;
    }
    let (mut again, event) = watch_feed(&server, &position).await;
    let newest: BTreeSet<String> = ids(&event).into_iter().collect();
    assert_eq!((newest.len(), &event["hasMore"], &event["position"]), (50, &json!(true), &last));
    assert!(newest.is_subset(&many));
    let (_, event) = watch_feed(&server, &json!("0".repeat(48))).await;
    assert_eq!((ids(&event).len(), &event["hasMore"]), (50, &json!(true)), "of another database");
    let one_more = post(&authors[0]).await;
    for socket in [&mut socket, &mut again] {
        assert_eq!(ids(&socket.data().await["feedChanged"]), std::slice::from_ref(&one_more));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_from_more_than_an_hour_ago_is_no_news_also_when_it_is_approved() {
    let server = Server::start(&[]);
    let (ann, sql) = (server.client("ann"), server.stores().sql().await);
    post(&ann).await;
    let (mut socket, first) = watch_feed(&server, &Value::Null).await;
    let insert = "WITH new AS (
            INSERT INTO note (author_id, title, body, state, created_at)
            SELECT id, 'Old', 'Text', $1, now() - $2::text::interval FROM app_user WHERE subject = 'ann' RETURNING id, state
        ), queued AS (
            INSERT INTO submission (kind, target_id, undecided_why) SELECT 'note', id, 'a test' FROM new WHERE state = 'pending'
        ), told AS (
            INSERT INTO invalidation (shard, names, reason) SELECT id % 2, 'note_' || id, 'a test' FROM new
        )
        SELECT id FROM new";
    let mut written = Vec::new();
    for (state, ago) in [("approved", "7 years"), ("pending", "61 minutes"), ("pending", "59 minutes")] {
        let id: i64 = sqlx::query_scalar(insert).bind(state).bind(ago).fetch_one(&sql).await.unwrap();
        written.push(note(id));
    }
    let moderator = server.client_as(Role::Moderator, "mod");
    for id in &written[1..] {
        moderator.act("decide", json!({ "aboutId": id, "decision": "APPROVE" }), "changed").await;
    }
    let live = post(&ann).await;
    let news = BTreeSet::from([written[2].clone(), live.clone()]);
    assert_eq!(read_notes(&mut socket, 2).await.0, news);
    let (_, event) = watch_feed(&server, &first["position"]).await;
    assert_eq!(ids(&event).into_iter().collect::<BTreeSet<_>>(), news);
    // They are in the feed.
    let feed = ann.data("{ feed { nodes { id } } }", json!({})).await["feed"]["nodes"].clone();
    let feed: Vec<&Value> = feed.as_array().unwrap().iter().map(|node| &node["id"]).collect();
    assert_eq!(feed[0], &json!(live));
    assert_eq!(
        feed[2..],
        [&written[2], &written[1], &written[0]].map(|id| json!(id)).iter().collect::<Vec<_>>()
    );
}

/// A transaction takes the lower id and the lower number, and commits last.
#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_commits_after_one_with_a_higher_id_is_not_missed() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let author = server.client("ann");
    post(&author).await;
    let number = stores.user_of("ann").await;
    let (mut socket, first) = watch_feed(&server, &Value::Null).await;
    let insert = "WITH counted AS (UPDATE user_counts SET notes = notes + 1 WHERE id = $1)
        INSERT INTO note (author_id, title, body) VALUES ($1, 'Slow', 'Text') RETURNING id";
    let other = stores.new_user().await;
    let mut slow = stores.sql().await.begin().await.unwrap();
    let late: i64 = sqlx::query_scalar(insert).bind(other).fetch_one(&mut *slow).await.unwrap();
    let early = post(&author).await;
    assert!(support::number(&json!(early)) > late);
    let (_, event) = watch_feed(&server, &first["position"]).await;
    assert_eq!(
        (ids(&event), &event["position"]),
        (vec![], &first["position"]),
        "one before it may still come"
    );
    slow.commit().await.unwrap();
    let (found, _) = read_notes(&mut socket, 2).await;
    assert_eq!(found, [early, note(late)].into());
    assert!(number > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_entries_of_an_inbox_are_pushed_to_its_owner_alone() {
    let server = Server::start(&[]);
    let (ann, bob) = (server.client("ann"), server.client("bob"));
    // Before the first action there is no inbox.
    let mut early = server.socket("ann").await;
    early.subscribe("list", ENTRIES, json!({})).await;
    let n = post(&ann).await;
    let first = early.data().await["inboxEntryAdded"].clone();
    assert_eq!((&first["entries"], &first["hasMore"]), (&json!([]), &json!(false)));
    post(&bob).await;
    let (mut others, _) = watch(server.socket("bob").await, ENTRIES, "inboxEntryAdded", &Value::Null).await;

    bob.like(&n).await;
    let event = early.data().await["inboxEntryAdded"].clone();
    let bob_id = bob.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    let [entry] = &event["entries"].as_array().unwrap()[..] else { panic!("{event}") };
    assert_eq!(
        (&entry["kind"], &entry["actors"][0]["id"], &entry["about"]["id"]),
        (&json!("NOTE_LIKED"), &bob_id, &json!(n))
    );
    ann.follow(bob_id.as_str().unwrap()).await;
    let event_of_bob = others.data().await["inboxEntryAdded"].clone();
    assert_eq!(event_of_bob["entries"][0]["kind"], "FOLLOWED", "the first that bob receives");

    let (_, missed) = watch(server.socket("ann").await, ENTRIES, "inboxEntryAdded", &first["position"]).await;
    assert_eq!((&missed["entries"], &missed["position"]), (&event["entries"], &event["position"]));
    let (mut again, nothing) =
        watch(server.socket("ann").await, ENTRIES, "inboxEntryAdded", &event["position"]).await;
    assert_eq!(nothing["entries"], json!([]));
    // Likes of one note would be one entry.
    let mut fans = Vec::<(Client, String)>::new();
    for i in 0..60 {
        fans.push((server.client(&format!("fan {i}")).retrying(), post(&ann).await));
    }
    let mut pushed = BTreeSet::new();
    for fans in fans.chunks(30) {
        join_all(fans.iter().map(|(fan, note)| fan.like(note))).await;
        let before = pushed.len();
        while pushed.len() < before + fans.len() {
            let event = again.data().await["inboxEntryAdded"].clone();
            for entry in event["entries"].as_array().unwrap() {
                assert!(pushed.insert(entry["id"].to_string()), "twice: {event}");
            }
        }
    }
    let (_, event) = watch(server.socket("ann").await, ENTRIES, "inboxEntryAdded", &event["position"]).await;
    assert_eq!((event["entries"].as_array().unwrap().len(), &event["hasMore"]), (50, &json!(true)));

    let mut nobody = Socket::open(&server.url, None).await;
    nobody.subscribe("list", ENTRIES, json!({})).await;
    assert_eq!(nobody.receive().await["payload"][0]["extensions"]["code"], "UNAUTHENTICATED");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_numbers_of_the_moderation_queue_are_pushed_to_moderators() {
    let service =
        ModerationService::start(|_| Answer::Says(r#"{"verdict":"unsure","reason":"irony?"}"#)).await;
    let server = Server::start(&service.flags("5s"));
    let author = server.client("ann");
    let n = post(&author).await;
    let mut refused = Socket::open(&server.url, Some(token_as(Role::User, "somebody"))).await;
    refused.subscribe("list", QUEUE, json!({})).await;
    assert_eq!(refused.receive().await["payload"][0]["extensions"]["code"], "FORBIDDEN");
    let moderator = token_as(Role::Moderator, "mod");
    let mut sockets = Vec::new();
    for _ in 0..2 {
        let mut socket = Socket::open(&server.url, Some(moderator.clone())).await;
        socket.subscribe("list", QUEUE, json!({})).await;
        let state = socket.data().await["reviewQueueChanged"].clone();
        assert_eq!(state, json!({ "waitingCount": 0, "undecidedCount": 0 }));
        sockets.push(socket);
    }
    let input = json!({ "noteId": n, "body": "Words" });
    let comment = author.act("addComment", input, "comment { id }").await["comment"]["id"].clone();
    let mut until = async |undecided: i64| {
        for socket in &mut sockets {
            let mut last = Value::Null;
            loop {
                let state = socket.data().await["reviewQueueChanged"].clone();
                assert_ne!(state, last, "nothing is new");
                if state == json!({ "waitingCount": 0, "undecidedCount": undecided }) {
                    break;
                }
                last = state;
            }
        }
    };
    until(1).await;
    // Another text waits in place of the first, within one second: the numbers are the same.
    let other = "WITH other AS (UPDATE submission SET number = DEFAULT WHERE kind = 'comment' AND target_id = $1)
                 INSERT INTO invalidation (shard, names, reason) VALUES ($1::bigint % 2, 'comment_' || $1, 'a test')";
    sqlx::query(other).bind(number(&comment)).execute(&server.stores().sql().await).await.unwrap();
    until(1).await;
    let deciding = server.client_as(Role::Moderator, "mod");
    deciding.act("decide", json!({ "aboutId": comment, "decision": "APPROVE" }), "changed").await;
    until(0).await;
    eventually("it is approved", SOON, || async {
        let query = "query ($n: ID!) { note(id: $n) { commentCount } }";
        let data = server.anonymous().data(query, json!({ "n": n })).await;
        (data["note"]["commentCount"] == 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_review_queue_pushes_its_items_and_a_report_is_one_to_services_too() {
    let service =
        ModerationService::start(|_| Answer::Says(r#"{"verdict":"unsure","reason":"irony?"}"#)).await;
    let server = Server::start(&service.flags("5s"));
    let author = server.client("ann");
    let n = post(&author).await;
    let query = "subscription { reviewQueueChanged { reportedCount items(kind: COMMENT) { nodes { about { id } reason } }
        reported: items(state: REPORTED) { nodes { about { id } reportCount } } } }";
    let mut sockets = Vec::new();
    for role in [Role::Moderator, Role::Service] {
        let mut socket = Socket::open(&server.url, Some(token_as(role, "who decides"))).await;
        socket.subscribe("list", query, json!({})).await;
        let none = json!({ "nodes": [] });
        let first = json!({ "reportedCount": 0, "items": none, "reported": none });
        assert_eq!(socket.data().await["reviewQueueChanged"], first, "{role:?}");
        sockets.push(socket);
    }
    let input = json!({ "noteId": n, "body": "Words" });
    let comment = author.act("addComment", input, "comment { id }").await["comment"]["id"].clone();
    let reason = "the moderator is not sure: irony?";
    let waits = json!({ "nodes": [{ "about": { "id": comment }, "reason": reason }] });
    for socket in &mut sockets {
        while socket.data().await["reviewQueueChanged"]["items"] != waits {}
    }
    for reports in [1, 2] {
        let input = json!({ "noteId": n, "reason": "SPAM" });
        server.client(&format!("reporter {reports}")).act("reportNote", input, "changed").await;
        let reported = json!({ "nodes": [{ "about": { "id": n }, "reportCount": reports }] });
        for socket in &mut sockets {
            while socket.data().await["reviewQueueChanged"]["reported"] != reported {}
        }
    }
}
