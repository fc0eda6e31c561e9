//! Comments of a note are pushed by their positions: nothing is missed or doubled, whoever reconnects, and where.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, EventStream, SOON, Server, Socket, Stores, eventually, note, token, user};
use tokio::sync::Notify;

const CHANGES: &str = "subscription ($n: ID!, $after: ChangePosition) { noteCommentsChanged(noteId: $n, after: $after) {
    position hasMore comments { id body isRemoved state author { id name } parent { id } likeCount } removedCommentIds } }";
const OWN: &str =
    "subscription ($n: ID!, $after: ChangePosition) { noteCommentsChanged(noteId: $n, after: $after) {
    position hasMore comments { id body viewerHasLiked } removedCommentIds } }";

const EXECUTIONS: &str = "plaudit_fanout_executions_total";
const DELIVERIES: &str = "plaudit_fanout_deliveries_total";

/// A client that watches a note's comments.
struct Watcher {
    socket: Socket,
    position: Value,
}

impl Watcher {
    async fn start(socket: Socket, note: &str, after: &Value) -> (Self, Value) {
        Self::start_by(CHANGES, socket, note, after).await
    }

    /// Subscribes, and reads the first event.
    async fn start_by(query: &str, mut socket: Socket, note: &str, after: &Value) -> (Self, Value) {
        socket.subscribe("comments", query, json!({ "n": note, "after": after })).await;
        let mut watcher = Self { socket, position: Value::Null };
        let first = watcher.next().await;
        (watcher, first)
    }

    async fn next(&mut self) -> Value {
        let event = self.socket.data().await["noteCommentsChanged"].clone();
        assert!(event["position"].is_string(), "{event}");
        self.position = event["position"].clone();
        event
    }
}

fn texts(event: &Value, part: &str) -> Vec<String> {
    let items = event[part].as_array().unwrap_or_else(|| panic!("{event}")).iter();
    let id = |item: &Value| item["id"].as_str().or(item.as_str()).unwrap().to_owned();
    items.map(id).collect()
}

fn shown(event: &Value) -> Vec<String> {
    texts(event, "comments")
}

fn removed(event: &Value) -> Vec<String> {
    texts(event, "removedCommentIds")
}

/// Writes a comment, which is approved soon.
async fn write(client: &Client, note: &str, answers: Option<&str>, body: &str) -> String {
    let key = format!("{note} {answers:?} {body}");
    let input = json!({ "noteId": note, "replyToId": answers, "body": body, "idempotencyKey": key });
    let written = client.retrying().act("addComment", input, "comment { id }").await;
    written["comment"]["id"].as_str().unwrap().to_owned()
}

async fn delete(client: &Client, comment: &str) {
    client.retrying().act("deleteComment", json!({ "commentId": comment }), "changed").await;
}

/// Writes comments, and waits until all are shown.
async fn write_many(server: &Server, note: &str, number: usize) -> BTreeSet<String> {
    let writers: Vec<Client> = (0..number).map(|i| server.client(&format!("writer {i} of {note}"))).collect();
    let before = count(server, note).await;
    let body = format!("After {before}");
    let written = join_all(writers.iter().map(|writer| write(writer, note, None, &body))).await;
    eventually("all comments are shown", SOON, || async {
        (count(server, note).await >= before + number as i64).then_some(())
    })
    .await;
    written.into_iter().collect()
}

async fn count(server: &Server, note: &str) -> i64 {
    let query = "query ($n: ID!) { note(id: $n) { commentCount } }";
    server.anonymous().data(query, json!({ "n": note })).await["note"]["commentCount"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_that_appears_or_goes_is_pushed_to_all_connections_of_all_instances() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let (mut one, other) = (Server::start_on(&stores, &[]), Server::start_on(&stores, &[]));
    let n = note(stores.new_note().await);
    let (ann, bob) = (one.client("ann"), other.client("bob"));
    let (mut here, first) = Watcher::start(one.socket("ann").await, &n, &Value::Null).await;
    assert_eq!((shown(&first), removed(&first), &first["hasMore"]), (vec![], vec![], &json!(false)));
    let (mut there, _) = Watcher::start(Socket::open(&other.url, None).await, &n, &Value::Null).await;
    let mut stream = EventStream::open(&other.url, Some(token("bob")), CHANGES, json!({ "n": n })).await;
    stream.result().await;
    let mut next = async || {
        let events = (here.next().await, there.next().await, stream.result().await);
        assert_eq!((&events.0, &events.2["data"]["noteCommentsChanged"]), (&events.1, &events.1));
        events.0
    };

    let top = write(&ann, &n, None, "First").await;
    let event = next().await;
    assert_eq!((shown(&event), removed(&event)), (vec![top.clone()], vec![]));
    let comment = &event["comments"][0];
    assert_eq!((&comment["body"], &comment["state"]), (&json!("First"), &json!("APPROVED")));
    assert_eq!(comment["author"]["name"], "ann");
    let reply = write(&bob, &n, Some(&top), "Second").await;
    let event = next().await;
    assert_eq!(shown(&event), std::slice::from_ref(&reply));
    assert_eq!(event["comments"][0]["parent"]["id"], top);

    delete(&ann, &top).await;
    let event = next().await;
    assert_eq!((shown(&event), removed(&event)), (vec![top.clone()], vec![]));
    let placeholder = &event["comments"][0];
    assert_eq!((&placeholder["isRemoved"], &placeholder["body"]), (&json!(true), &json!("")));
    delete(&ann, &top).await;
    delete(&bob, &reply).await;
    let event = next().await;
    let gone: BTreeSet<String> = removed(&event).into_iter().collect();
    assert_eq!((shown(&event), gone), (vec![], [top, reply].into()), "and nothing of the repetition");

    // The instance is killed; the client goes on at the other one.
    let position = event["position"].clone();
    one.kill();
    let late = write(&bob, &n, None, "Third").await;
    let (_, missed) = Watcher::start(other.socket("ann").await, &n, &position).await;
    if shown(&missed).is_empty() {
        assert_eq!(there.next().await["comments"][0]["id"], late);
    } else {
        assert_eq!(shown(&missed), [late]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_reconnection_the_newest_50_changes_come_and_the_others_are_in_the_list() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let (watcher, first) = Watcher::start(server.socket("ann reconnects").await, &n, &Value::Null).await;
    drop(watcher);
    let before = first["position"].clone();
    let three = write_many(server, &n, 3).await;
    let again = async |after: &Value| {
        let socket = Socket::open(&server.url, None).await;
        Watcher::start(socket, &n, after).await
    };
    let (_, event) = again(&before).await;
    assert_eq!(shown(&event).into_iter().collect::<BTreeSet<_>>(), three);
    assert_eq!(event["hasMore"], false);
    let after_three = event["position"].clone();
    let (mut idle, event) = again(&after_three).await;
    assert_eq!((shown(&event), &event["hasMore"], &event["position"]), (vec![], &json!(false), &after_three));

    let mut all = BTreeSet::new();
    for _ in 0..2 {
        // Fewer than 50, so that a message has room for all.
        let written = write_many(server, &n, 30).await;
        let mut pushed = BTreeSet::new();
        while pushed.len() < written.len() {
            let event = idle.next().await;
            assert_eq!(event["hasMore"], false);
            for comment in shown(&event) {
                assert!(pushed.insert(comment), "twice: {event}");
            }
        }
        assert_eq!(pushed, written);
        all.extend(written);
    }
    let (mut watcher, event) = again(&after_three).await;
    let newest: BTreeSet<String> = shown(&event).into_iter().collect();
    assert_eq!((newest.len(), &event["hasMore"]), (50, &json!(true)));
    assert!(newest.is_subset(&all));
    let last = write(&server.client("the last writer"), &n, None, "Last").await;
    assert_eq!(shown(&watcher.next().await), std::slice::from_ref(&last));

    // Positions of another database, and those that are beyond, tell nothing.
    let known = watcher.position.as_str().unwrap();
    let beyond = format!("{}00ffffffffffffff{}", &known[..16], &known[32..]);
    for odd in ["0".repeat(48), beyond] {
        let (_, event) = again(&json!(odd)).await;
        assert_eq!((shown(&event).len(), &event["hasMore"]), (50, &json!(true)), "{odd}");
        assert_eq!((&shown(&event)[0], &event["position"]), (&last, &watcher.position));
    }
    let mut socket = server.socket("ann reconnects").await;
    for odd in ["", "5", "note_1", &known[1..]] {
        socket.subscribe("x", CHANGES, json!({ "n": n, "after": odd })).await;
        let error = socket.receive().await["payload"][0].clone();
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{odd}: {error}");
        assert_eq!(error["extensions"]["argument"], "after");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_executed_once_for_all_and_what_changes_no_comment_is_not_executed() {
    let server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    let (first_watcher, first) = Watcher::start(server.socket("ann").await, &n, &Value::Null).await;
    let mut watchers = vec![first_watcher];
    let mut positions = vec![first["position"].clone()];
    let writer = server.client("bob");
    for number in 0..4 {
        let written = write(&writer, &n, None, &format!("{number}")).await;
        let mut events = Vec::new();
        for watcher in &mut watchers {
            events.push(watcher.next().await);
        }
        assert!(events.iter().all(|event| shown(event) == [written.clone()]), "{events:?}");
        positions.push(events[0]["position"].clone());
        // Each reconnects with another position.
        let after = positions[0].clone();
        let (watcher, event) = Watcher::start(server.socket("cat").await, &n, &after).await;
        assert_eq!(shown(&event).len(), number + 1);
        watchers.push(watcher);
    }
    let before = server.metrics().await;
    let written = write(&writer, &n, None, "For all").await;
    for watcher in &mut watchers {
        assert_eq!(shown(&watcher.next().await), std::slice::from_ref(&written));
    }
    server.client("dan").like(&n).await;
    server.client("eve").act("rateNote", json!({ "noteId": n, "score": 5 }), "changed").await;
    let last = write(&writer, &n, None, "Last").await;
    for watcher in &mut watchers {
        assert_eq!(shown(&watcher.next().await), std::slice::from_ref(&last));
    }
    let after = server.metrics().await;
    assert_eq!(after[EXECUTIONS] - before[EXECUTIONS], 2.0);
    assert_eq!(after[DELIVERIES] - before[DELIVERIES], 2.0 * watchers.len() as f64);

    // Own state is executed for each viewer.
    let (mut ann, _) = Watcher::start_by(OWN, server.socket("ann").await, &n, &Value::Null).await;
    let (mut cat, _) = Watcher::start_by(OWN, server.socket("cat").await, &n, &Value::Null).await;
    let seen = write(&writer, &n, None, "Seen").await;
    for watcher in [&mut ann, &mut cat] {
        let event = watcher.next().await;
        assert_eq!(shown(&event), std::slice::from_ref(&seen));
        assert_eq!(event["comments"][0]["viewerHasLiked"], false);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missed_or_doubled_while_64_users_write_and_a_client_reconnects() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let (mut watcher, _) = Watcher::start(server.socket("ann is away often").await, &n, &Value::Null).await;
    let done = Notify::new();
    let writing = async {
        let writers = (0..64).map(|i| {
            let (client, n) = (server.client(&format!("writer {i} beside others")), n.clone());
            async move {
                let first = write(&client, &n, None, "First").await;
                let second = write(&client, &n, None, "Second").await;
                // Before or after it is approved.
                delete(&client, if i % 2 == 0 { &first } else { &second }).await;
            }
        });
        join_all(writers).await;
        eventually("all are decided", SOON, || async { (count(server, &n).await == 64).then_some(()) }).await;
        done.notify_one();
    };
    let mut seen = Seen::default();
    let watching = async {
        for events in 0.. {
            let event = if events % 3 == 2 {
                let (socket, after) = (server.socket("ann is away often").await, watcher.position.clone());
                let (again, event) = Watcher::start(socket, &n, &after).await;
                watcher = again;
                event
            } else {
                tokio::select! {
                    event = watcher.next() => event,
                    () = done.notified() => return,
                }
            };
            seen.add(&event, server, &n).await;
        }
    };
    tokio::join!(writing, watching);
    let expected = listed(server, &n).await;
    while seen.shown() != expected {
        let event = watcher.next().await;
        seen.add(&event, server, &n).await;
    }
}

/// What a client has seen of a note's comments.
#[derive(Default)]
struct Seen {
    position: String,
    /// Whether each is shown.
    comments: BTreeMap<String, bool>,
    /// The list was read, which may have what later events bring.
    has_read_list: bool,
}

impl Seen {
    async fn add(&mut self, event: &Value, server: &Server, note: &str) {
        let position = event["position"].as_str().unwrap().to_owned();
        let changes = shown(event).into_iter().map(|id| (id, true));
        let changes: Vec<_> = changes.chain(removed(event).into_iter().map(|id| (id, false))).collect();
        assert!(position > self.position || position == self.position && changes.is_empty(), "{event}");
        self.position = position;
        if event["hasMore"] == true {
            self.has_read_list = true;
            self.comments = listed(server, note).await.into_iter().map(|comment| (comment, true)).collect();
        }
        for (comment, is_shown) in changes {
            let before = self.comments.insert(comment, is_shown);
            assert!(before != Some(is_shown) || self.has_read_list, "twice: {event}");
        }
    }

    fn shown(&self) -> BTreeSet<String> {
        self.comments.iter().filter(|(_, is_shown)| **is_shown).map(|(comment, _)| comment.clone()).collect()
    }
}

/// The comments of a note, page by page.
async fn listed(server: &Server, note: &str) -> BTreeSet<String> {
    let query = "query ($n: ID!, $after: String) { note(id: $n) {
        comments(orderBy: NEWEST, first: 100, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } } }";
    let (mut found, mut after) = (BTreeSet::new(), Value::Null);
    loop {
        let data = server.anonymous().data(query, json!({ "n": note, "after": after })).await;
        let page = &data["note"]["comments"];
        found.extend(texts(page, "nodes"));
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            return found;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_of_a_hidden_user_go_and_come_back_and_those_of_a_hidden_note_are_not_watched() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let n = note(stores.new_note().await);
    let moderator = server.client_as(Role::Moderator, "mod");
    let (mut watcher, _) = Watcher::start(server.socket("ann").await, &n, &Value::Null).await;
    let comment = write(&server.client("bob"), &n, None, "Words").await;
    assert_eq!(shown(&watcher.next().await), std::slice::from_ref(&comment));
    let bob = user(stores.user_of("bob").await);
    for repeated in [true, false] {
        moderator.act("hideUser", json!({ "userId": bob }), "changed").await;
        let event = watcher.next().await;
        assert_eq!((shown(&event), removed(&event)), (vec![], vec![comment.clone()]));
        if repeated {
            moderator.act("hideUser", json!({ "userId": bob }), "changed").await;
        }
        moderator.act("restoreUser", json!({ "userId": bob }), "changed").await;
        let event = watcher.next().await;
        assert_eq!((shown(&event), removed(&event)), (vec![comment.clone()], vec![]));
        assert_eq!(event["comments"][0]["body"], "Words");
    }

    // All that Redis holds is gone; positions come from PostgreSQL.
    stores.command(&["FLUSHALL"]).await;
    let second = write(&server.client("cat"), &n, None, "After the loss").await;
    assert_eq!(shown(&watcher.next().await), [second]);

    let input = json!({ "title": "Mine", "body": "Text" });
    let hidden = server.client("bob").act("createNote", input, "note { id }").await["note"]["id"].clone();
    moderator.act("hideUser", json!({ "userId": bob }), "changed").await;
    let mut socket = server.socket("bob").await;
    let is_refused = async |socket: &mut Socket, note: &Value| {
        socket.subscribe("x", CHANGES, json!({ "n": note })).await;
        let message = socket.receive().await;
        if message["type"] == "next" {
            socket.send(json!({ "type": "complete", "id": "x" })).await;
        }
        message["payload"][0]["extensions"]["code"] == "NOT_FOUND"
    };
    eventually("the note is hidden", SOON, || async {
        let query = "query ($n: ID!) { note(id: $n) { id } }";
        server.anonymous().data(query, json!({ "n": hidden })).await["note"].is_null().then_some(())
    })
    .await;
    assert!(is_refused(&mut socket, &hidden).await, "also for its author");
    assert!(is_refused(&mut socket, &json!("note_9000000000")).await);
}
