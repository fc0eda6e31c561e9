//! Notes that are judged before others see them, under the setting `moderate_notes`.

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use super::{choosing_service, queue};
use support::{Client, ModerationService, SOON, Server, Socket, Stores, eventually, number};

fn moderating(service: &ModerationService) -> Server {
    Server::start(&[&service.flags("60s")[..], &["--moderate-notes"]].concat())
}

async fn post(author: &Client, title: &str) -> Value {
    let input = json!({ "title": title, "body": "A text" });
    author.act("createNote", input, "note { id state author { id noteCount } }").await["note"].clone()
}

/// The note as this client sees it; null if it does not.
async fn seen(client: &Client, note: &Value) -> Value {
    let query = "query ($id: ID!) { note(id: $id) { state title body rejectionReason editedAt
        pendingEdit { title body state rejectionReason } author { noteCount } group { noteCount } } }";
    client.data(query, json!({ "id": note["id"] })).await["note"].clone()
}

async fn until_state(author: &Client, note: &Value, state: &str) {
    eventually(&format!("the note is {state}"), SOON, || async {
        (seen(author, note).await["state"] == state).then_some(())
    })
    .await;
}

async fn ids(client: &Client, list: &str) -> Vec<Value> {
    let data = client.data(&format!("{{ {list} {{ nodes {{ id }} }} }}"), json!({})).await;
    data["feed"]["nodes"].as_array().unwrap().iter().map(|node| node["id"].clone()).collect()
}

async fn unpublished(client: &Client) -> Vec<Value> {
    let query = "{ viewer { unpublishedNotes { nodes { id state } } } }";
    let data = client.data(query, json!({})).await;
    data["viewer"]["unpublishedNotes"]["nodes"].as_array().unwrap().clone()
}

async fn decisions(server: &Server, note: &Value) -> Vec<(String, String)> {
    let rows = "SELECT verdict, reason FROM decision WHERE kind = 'note' AND target_id = $1 ORDER BY id";
    sqlx::query_as(rows).bind(number(&note["id"])).fetch_all(&server.stores().sql().await).await.unwrap()
}

/// Rows of notes that wait, and of their next texts.
async fn waiting(server: &Server) -> i64 {
    let rows = "SELECT (SELECT count(*) FROM submission) + (SELECT count(*) FROM edit) WHERE $1 >= 0";
    server.stores().number(rows, 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_seen_counted_and_acted_on_by_nobody_before_it_is_approved() {
    let service = choosing_service().await;
    let server = moderating(&service);
    let (ann, bea) = (server.client("ann waits"), server.client("bea cannot see"));
    let mia = server.client_as(Role::Moderator, "mia sees");
    let group = ann.act("createGroup", json!({ "name": "All" }), "group { id }").await["group"]["id"].clone();
    let input = json!({ "title": "hold me", "body": "A text", "groupId": group });
    let note = ann.act("createNote", input, "note { id state author { noteCount } }").await["note"].clone();
    assert_eq!((&note["state"], &note["author"]["noteCount"]), (&json!("PENDING"), &json!(0)));
    let mut feed = Socket::open(&server.url, None).await;
    feed.subscribe("1", "subscription { feedChanged { noteIds position } }", json!({})).await;
    assert_eq!(feed.data().await["feedChanged"]["noteIds"], json!([]));

    for client in [&bea, &server.anonymous()] {
        assert_eq!(seen(client, &note).await, Value::Null);
    }
    let mut stranger = Socket::open(&server.url, None).await;
    let watch = "subscription ($id: ID!) { noteCountsChanged(noteIds: [$id]) { title likeCount } }";
    stranger.subscribe("1", watch, json!({ "id": note["id"] })).await;
    assert_eq!(stranger.receive().await["payload"][0]["extensions"]["code"], "NOT_FOUND");
    for client in [&ann, &mia] {
        assert_eq!(seen(client, &note).await["state"], "PENDING");
        assert_eq!(ids(client, "feed").await, Vec::<Value>::new());
    }
    assert_eq!(unpublished(&ann).await, [json!({ "id": note["id"], "state": "PENDING" })]);
    assert_eq!(unpublished(&bea).await, Vec::<Value>::new());
    let id = json!({ "noteId": note["id"] });
    let with = |more: Value| {
        let mut input = id.clone();
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    for (mutation, input) in [
        ("likeNote", id.clone()),
        ("unlikeNote", id.clone()),
        ("collectNote", id.clone()),
        ("rateNote", with(json!({ "score": 7 }))),
        ("addComment", with(json!({ "body": "First" }))),
    ] {
        assert_eq!(bea.refused(mutation, input.clone()).await.0, "NOT_FOUND", "{mutation}");
        let own = ann.refused(mutation, input).await;
        assert_eq!(own, ("BAD_USER_INPUT".into(), Some("noteId".into())), "{mutation}");
    }
    for (mutation, input) in [
        ("reportNote", with(json!({ "reason": "SPAM" }))),
        ("deleteNote", id.clone()),
        ("updateNote", with(json!({ "title": "Mine" }))),
    ] {
        assert_eq!(bea.refused(mutation, input).await.0, "NOT_FOUND", "{mutation}");
    }
    assert_eq!(mia.refused("featureNote", id.clone()).await.0, "NOT_FOUND");
    ann.act("recordViews", json!({ "noteIds": [note["id"]] }), "__typename").await;

    service.open();
    until_state(&bea, &note, "APPROVED").await;
    server.stores().rest().await;
    let shown = seen(&bea, &note).await;
    assert_eq!((&shown["author"]["noteCount"], &shown["group"]["noteCount"]), (&json!(1), &json!(1)));
    assert_eq!(shown["editedAt"], Value::Null);
    assert_eq!(ids(&bea, "feed").await, [note["id"].clone()]);
    assert_eq!(unpublished(&ann).await, Vec::<Value>::new());
    assert_eq!(feed.data().await["feedChanged"]["noteIds"], json!([note["id"]]));
    for client in [&ann, &bea] {
        assert_eq!(client.like(note["id"].as_str().unwrap()).await["changed"], true);
    }
    let counts = "query ($id: ID!) { note(id: $id) { likeCount viewCount } }";
    let counts = bea.data(counts, json!({ "id": note["id"] })).await["note"].clone();
    assert_eq!(counts, json!({ "likeCount": 2, "viewCount": 0 }));
    assert_eq!(decisions(&server, &note).await, [("approved".into(), String::new())]);
    assert_eq!(waiting(&server).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_note_stays_with_its_author_until_an_edit_is_approved() {
    let service = choosing_service().await;
    let server = moderating(&service);
    let (ann, bea) = (server.client("ann writes badly"), server.client("bea reads"));
    let note = post(&ann, "bad").await;
    until_state(&ann, &note, "REJECTED").await;
    assert_eq!(seen(&ann, &note).await["rejectionReason"], "Bad words");
    assert_eq!(seen(&bea, &note).await, Value::Null);
    for changed in [true, false] {
        let input = json!({ "noteId": note["id"], "title": "Good" });
        let edited = ann.act("updateNote", input, "changed note { title }").await;
        assert_eq!(edited, json!({ "changed": changed, "note": { "title": "Good" } }));
    }
    until_state(&bea, &note, "APPROVED").await;
    server.stores().rest().await;
    let shown = seen(&bea, &note).await;
    assert_eq!(shown["editedAt"], Value::Null, "nobody saw the text before");
    assert_eq!((&shown["title"], &shown["author"]["noteCount"]), (&json!("Good"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_a_note_shows_once_it_is_approved_and_the_old_text_stays_until_then() {
    let service = choosing_service().await;
    let server = moderating(&service);
    let (ann, bea) = (server.client("ann edits"), server.client("bea sees the old text"));
    let note = post(&ann, "Fine").await;
    until_state(&bea, &note, "APPROVED").await;
    let edit = |title: &str| json!({ "noteId": note["id"], "title": title });
    let edited = ann.act("updateNote", edit("bad"), "changed note { title }").await;
    assert_eq!(edited, json!({ "changed": true, "note": { "title": "Fine" } }));
    eventually("the edit is rejected", SOON, || async {
        (seen(&ann, &note).await["pendingEdit"]["state"] == "REJECTED").then_some(())
    })
    .await;
    let pending =
        json!({ "title": "bad", "body": "A text", "state": "REJECTED", "rejectionReason": "Bad words" });
    assert_eq!(seen(&ann, &note).await["pendingEdit"], pending);
    let others = seen(&bea, &note).await;
    assert_eq!((&others["title"], &others["pendingEdit"]), (&json!("Fine"), &Value::Null));

    // Going back to the text that everybody sees withdraws the edit.
    assert_eq!(ann.act("updateNote", edit("Fine"), "changed").await["changed"], true);
    assert_eq!(seen(&ann, &note).await["pendingEdit"], Value::Null);
    assert_eq!(waiting(&server).await, 0);

    ann.act("updateNote", edit("hold it"), "changed").await;
    assert_eq!(seen(&ann, &note).await["pendingEdit"]["state"], "PENDING");
    // A newer edit replaces one that waits, whose late approval has no effect.
    ann.act("updateNote", edit("Finer"), "changed").await;
    eventually("the edit shows", SOON, || async {
        (seen(&bea, &note).await["title"] == "Finer").then_some(())
    })
    .await;
    service.open();
    let last = post(&ann, "Last").await;
    until_state(&ann, &last, "APPROVED").await;
    server.stores().rest().await;
    let shown = seen(&bea, &note).await;
    assert_eq!((&shown["title"], &shown["author"]["noteCount"]), (&json!("Finer"), &json!(2)));
    assert!(shown["editedAt"].is_string());
    assert_eq!(waiting(&server).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn moderators_decide_the_notes_that_wait_for_a_person_and_nobody_else_does() {
    let service = choosing_service().await;
    let server = moderating(&service);
    let (ann, mia) = (server.client("ann is ironic"), server.client_as(Role::Moderator, "mia decides notes"));
    let (good, poor) = (post(&ann, "unsure 1").await, post(&ann, "unsure 2").await);
    let listed =
        "{ reviewQueue { items(kind: NOTE) { nodes { reason about { ... on Note { id title } } } } } }";
    let expected = json!([
        { "reason": "the moderator is not sure: irony?", "about": { "id": good["id"], "title": "unsure 1" } },
        { "reason": "the moderator is not sure: irony?", "about": { "id": poor["id"], "title": "unsure 2" } },
    ]);
    eventually("both wait for a person", SOON, || async {
        (mia.data(listed, json!({})).await["reviewQueue"]["items"]["nodes"] == expected).then_some(())
    })
    .await;
    assert_eq!(queue(&mia).await["undecidedCount"], 2);
    let approve = json!({ "aboutId": good["id"], "decision": "APPROVE" });
    let reject = json!({ "aboutId": poor["id"], "decision": "REJECT", "reason": "Not here" });
    let unexplained = json!({ "aboutId": poor["id"], "decision": "REJECT" });
    let refused = mia.refused("decide", unexplained).await;
    assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("reason".into())));
    for (client, code) in [(&ann, "FORBIDDEN"), (&server.anonymous(), "UNAUTHENTICATED")] {
        assert_eq!(client.refused("decide", approve.clone()).await.0, code);
        assert_eq!(client.refused("decide", reject.clone()).await.0, code);
        assert_eq!(client.error(listed, json!({})).await["extensions"]["code"], code);
    }
    // Of 64 concurrent decisions one takes effect.
    for input in [&approve, &reject] {
        let moderators: Vec<Client> = (0..64)
            .map(|i| server.client_as(Role::Moderator, &format!("moderator {i}")).retrying())
            .collect();
        let sent = moderators.iter().map(|moderator| moderator.act("decide", input.clone(), "changed"));
        let changed = join_all(sent).await.iter().filter(|payload| payload["changed"] == true).count();
        assert_eq!(changed, 1, "{input}");
    }
    for opposite in [
        json!({ "aboutId": good["id"], "decision": "REJECT", "reason": "No" }),
        json!({ "aboutId": poor["id"], "decision": "APPROVE" }),
    ] {
        let refused = mia.refused("decide", opposite.clone()).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("decision".into())), "{opposite}");
    }
    let unknown = json!({ "aboutId": "note_9000000000", "decision": "APPROVE" });
    assert_eq!(mia.refused("decide", unknown).await.0, "NOT_FOUND");
    server.stores().rest().await;
    assert_eq!(seen(&server.anonymous(), &good).await["author"]["noteCount"], 1);
    let refused = seen(&ann, &poor).await;
    assert_eq!((&refused["state"], &refused["rejectionReason"]), (&json!("REJECTED"), &json!("Not here")));
    assert_eq!(queue(&mia).await["undecidedCount"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_that_wait_are_deleted_hidden_and_erased_without_moving_a_count() {
    let service = choosing_service().await;
    let server = moderating(&service);
    let mia = server.client_as(Role::Moderator, "mia hides");
    let ann = server.client("ann is hidden meanwhile");
    let (first, deleted) = (post(&ann, "unsure 1").await, post(&ann, "unsure 2").await);
    let author = json!({ "userId": first["author"]["id"] });
    let counts = async || {
        let query = "query ($id: ID!) { user(id: $id) { noteCount } }";
        mia.data(query, json!({ "id": author["userId"] })).await["user"]["noteCount"].clone()
    };
    for changed in [true, false] {
        let input = json!({ "noteId": deleted["id"] });
        assert_eq!(ann.act("deleteNote", input, "changed").await["changed"], changed);
    }
    let approve = |note: &Value| json!({ "aboutId": note["id"], "decision": "APPROVE" });
    assert_eq!(mia.refused("decide", approve(&deleted)).await.0, "NOT_FOUND");
    assert_eq!(counts().await, 0);

    // What is approved while its author is hidden counts once the author is restored.
    mia.act("hideUser", author.clone(), "changed").await;
    let second = post(&ann, "unsure 3").await;
    for note in [&first, &second] {
        eventually("the note can be approved", SOON, || async {
            let query = "mutation ($input: DecideInput!) { decide(input: $input) { changed } }";
            let reply = mia.send(query, json!({ "input": approve(note) })).await.body;
            (reply["data"]["decide"]["changed"] == true).then_some(())
        })
        .await;
        assert_eq!(seen(&server.anonymous(), note).await, Value::Null);
        assert_eq!(seen(&ann, note).await["state"], "APPROVED");
    }
    assert_eq!(counts().await, 0);
    mia.act("restoreUser", author.clone(), "changed").await;
    eventually("both notes count", SOON, || async { (counts().await == 2).then_some(()) }).await;
    assert!(seen(&server.anonymous(), &second).await.is_object());

    // The erasure takes notes that wait, and edits, with their decisions.
    let waits = post(&ann, "unsure 4").await;
    ann.act("updateNote", json!({ "noteId": first["id"], "title": "unsure 5" }), "changed").await;
    eventually("a decision about both is recorded", SOON, || async {
        let decided = [decisions(&server, &waits).await.len(), decisions(&server, &first).await.len()];
        (decided == [1, 3]).then_some(())
    })
    .await;
    mia.act("eraseUser", author.clone(), "erasedUserId").await;
    eventually("nothing of the notes is left", SOON, || async {
        let left = "SELECT (SELECT count(*) FROM submission) + (SELECT count(*) FROM edit)
                         + (SELECT count(*) FROM decision)
                         + (SELECT count(*) FROM note WHERE title <> '' OR body <> '') WHERE $1 >= 0";
        (server.stores().number(left, 0).await == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_notes_and_edits_show_at_once_and_what_waited_is_still_decided() {
    let service = choosing_service().await;
    // The lease of a text that a stopped server had judged lasts for twice this time.
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &[&service.flags("5s")[..], &["--moderate-notes"]].concat());
    let ann = server.client("ann is trusted later");
    let waits = post(&ann, "hold me").await;
    server.stop();
    let server = Server::start_on(&stores, &service.flags("5s"));
    let (ann, bea) = (server.client("ann is trusted later"), server.client("bea reads at once"));
    let note = post(&ann, "bad, but at once").await;
    assert_eq!((&note["state"], &note["author"]["noteCount"]), (&json!("APPROVED"), &json!(1)));
    ann.act("updateNote", json!({ "noteId": note["id"], "title": "bad again" }), "changed").await;
    assert_eq!(seen(&bea, &note).await["title"], "bad again");
    assert_eq!(seen(&bea, &waits).await, Value::Null);
    service.open();
    until_state(&bea, &waits, "APPROVED").await;
}

#[tokio::test]
async fn what_has_no_text_is_not_judged() {
    let service = choosing_service().await;
    let server = moderating(&service);
    let ann = server.client("ann shows pictures");
    let created = ann.act("createNote", json!({}), "note { id state author { noteCount } }").await;
    assert_eq!(
        (&created["note"]["state"], &created["note"]["author"]["noteCount"]),
        (&json!("APPROVED"), &json!(1))
    );
    // A text that is added waits, and what leaves none shows at once.
    let edit = |title: Value| json!({ "noteId": created["note"]["id"], "title": title });
    let fields = "note { title pendingEdit { title body state } }";
    let waiting_title = json!({ "title": "hold me", "body": "", "state": "PENDING" });
    for (title, pending) in [(json!("hold me"), waiting_title), (Value::Null, Value::Null)] {
        let edited = ann.act("updateNote", edit(title), fields).await;
        assert_eq!(edited["note"], json!({ "title": null, "pendingEdit": pending }));
    }
    assert_eq!(waiting(&server).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_that_race_with_edits_removals_and_hiding_end_in_one_order_and_are_counted_right() {
    let service = choosing_service().await;
    let server = moderating(&service);
    let (ann, mia) = (server.client("ann races"), server.client_as(Role::Moderator, "mia races"));
    let author = json!({ "userId": post(&ann, "unsure").await["author"]["id"] });
    for round in 0..8 {
        let notes = join_all((0..8).map(|_| post(&ann, "unsure"))).await;
        eventually("all wait for a person", SOON, || async {
            let left = "SELECT count(*) FROM submission WHERE undecided_why IS NULL AND $1 >= 0";
            (server.stores().number(left, 0).await == 0).then_some(())
        })
        .await;
        // One that finds its note removed is refused. A refusal such as RETRY_LATER would leave the author hidden, or
        // notes undecided.
        let one = async |client: &Client, mutation: &str, input: Value| {
            let _ = client.retrying().try_act(mutation, input, "changed").await;
        };
        // Every fourth note is removed, and every fourth is edited, beside the approval of all.
        let approvals = notes
            .iter()
            .map(|note| one(&mia, "decide", json!({ "aboutId": note["id"], "decision": "APPROVE" })));
        let removals =
            notes.iter().step_by(4).map(|note| one(&ann, "deleteNote", json!({ "noteId": note["id"] })));
        let edits =
            notes.iter().skip(1).step_by(4).map(|note| {
                one(&ann, "updateNote", json!({ "noteId": note["id"], "title": "unsure again" }))
            });
        let hiding = async {
            if round % 2 == 1 {
                one(&mia, "hideUser", author.clone()).await;
                one(&mia, "restoreUser", author.clone()).await;
            }
        };
        tokio::join!(join_all(approvals), join_all(removals), join_all(edits), hiding);
    }
    server.stores().rest().await;
    let shown = "SELECT count(*) FROM note WHERE is_shown AND author_id = $1";
    let query = "query ($id: ID!) { user(id: $id) { noteCount } }";
    eventually("the count is that of the rows, and the author is not hidden", SOON, || async {
        let count = mia.data(query, json!({ "id": author["userId"] })).await["user"]["noteCount"].clone();
        let rows = server.stores().number(shown, number(&author["userId"])).await;
        // A note that its author removes while hidden stays as it was.
        let hidden = "SELECT count(*) FROM note WHERE is_hidden AND removed_at IS NULL AND author_id = $1";
        let hidden = server.stores().number(hidden, number(&author["userId"])).await;
        (count == rows && hidden == 0 && rows >= 32).then_some(())
    })
    .await;
    let waiting =
        "SELECT count(*) FROM submission AS q JOIN note AS n ON q.kind = 'note' AND n.id = q.target_id
                   WHERE n.removed_at IS NOT NULL AND $1 >= 0";
    assert_eq!(server.stores().number(waiting, 0).await, 0);
}
