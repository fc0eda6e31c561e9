//! A hidden user's notes, comments, ratings and views count nowhere and are shown to nobody else, and a restore brings
//! everything back. After each step the totals are compared with the rows.

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, SOON, Server, eventually};

/// The people of a test, and what they wrote before anybody was hidden.
struct Scene<'a> {
    server: &'a Server,
    moderator: Client,
    /// Is hidden.
    hal: Client,
    hal_id: Value,
    ann: Client,
    ann_id: Value,
    bob: Client,
    group: Value,
    /// Hal's note in the group, featured, liked and commented on by Ann.
    of_hal: Value,
    /// Ann's note.
    of_ann: Value,
    /// Hal's comment on Ann's note, which Bob answered.
    answered: Value,
    /// Bob's comment on Ann's note, and Hal's answer to it.
    of_bob: Value,
    answer: Value,
}

async fn create_note(author: &Client, input: Value) -> Value {
    author.act("createNote", input, "note { id }").await["note"]["id"].clone()
}

async fn user_id(client: &Client) -> Value {
    client.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone()
}

/// Writes a comment and waits until it is approved.
async fn comment(author: &Client, note: &Value, reply_to: Option<&Value>) -> Value {
    let input = json!({ "noteId": note, "body": "Some words.", "replyToId": reply_to });
    let id = author.act("addComment", input, "comment { id }").await["comment"]["id"].clone();
    until_approved(author, &id).await;
    id
}

async fn until_approved(author: &Client, comment: &Value) {
    let query = "query ($id: ID!) { node(id: $id) { ... on Comment { state } } }";
    eventually("the comment is approved", SOON, || async {
        let seen = author.data(query, json!({ "id": comment })).await;
        (seen["node"]["state"] == "APPROVED").then_some(())
    })
    .await;
}

impl<'a> Scene<'a> {
    async fn new(server: &'a Server) -> Self {
        let (hal, ann, bob) = (server.client("hal"), server.client("ann"), server.client("bob"));
        let moderator = server.client_as(Role::Moderator, "the moderator");
        let group =
            ann.act("createGroup", json!({ "name": "Readers", "description": "We read." }), "group { id }");
        let group = group.await["group"]["id"].clone();
        hal.act("joinGroup", json!({ "groupId": group }), "changed").await;
        let text = json!({ "title": "Of Hal", "body": "Text", "groupId": group });
        let of_hal = create_note(&hal, text).await;
        let of_ann = create_note(&ann, json!({ "title": "Of Ann", "body": "Text" })).await;
        moderator.act("featureNote", json!({ "noteId": of_hal }), "changed").await;
        ann.like(of_hal.as_str().unwrap()).await;
        ann.act("collectNote", json!({ "noteId": of_hal }), "changed").await;
        comment(&ann, &of_hal, None).await;
        let answered = comment(&hal, &of_ann, None).await;
        comment(&bob, &of_ann, Some(&answered)).await;
        let of_bob = comment(&bob, &of_ann, None).await;
        let answer = comment(&hal, &of_ann, Some(&of_bob)).await;
        hal.act("rateNote", json!({ "noteId": of_ann, "score": 9 }), "changed").await;
        bob.act("rateNote", json!({ "noteId": of_ann, "score": 3 }), "changed").await;
        let (hal_id, ann_id) = (user_id(&hal).await, user_id(&ann).await);
        Self {
            server,
            moderator,
            hal,
            hal_id,
            ann,
            ann_id,
            bob,
            group,
            of_hal,
            of_ann,
            answered,
            of_bob,
            answer,
        }
    }

    /// Hides Hal or restores him, waits until everything is recounted, and compares totals and Redis with the rows.
    async fn set_hidden(&self, hidden: bool) {
        let action = if hidden { "hideUser" } else { "restoreUser" };
        for changed in [true, false] {
            let payload = self.moderator.act(action, json!({ "userId": self.hal_id }), "changed").await;
            assert_eq!(payload["changed"], changed);
        }
        self.until_settled().await;
    }

    async fn until_settled(&self) {
        let query = "query ($u: ID!) { user(id: $u) { visibility { isSettled } } }";
        eventually("the recount has ended", SOON, || async {
            let user = self.moderator.data(query, json!({ "u": self.hal_id })).await["user"].clone();
            (user["visibility"]["isSettled"] == true).then_some(())
        })
        .await;
        self.server.stores().rest().await;
        assert_eq!(drift(self.server), Vec::<String>::new());
    }

    /// Every count that Hal's doings move, as anybody sees it.
    async fn counts(&self) -> Value {
        let query = "query ($hal: ID!, $ann: ID!, $group: ID!, $note: ID!, $answered: ID!, $ofBob: ID!) {
            hal: user(id: $hal) { noteCount commentCount likesReceivedCount collectsReceivedCount }
            ann: user(id: $ann) { noteCount commentCount }
            group(id: $group) { memberCount noteCount featuredNoteCount notes { nodes { id } } }
            note(id: $note) { commentCount ratingCount ratingAverage comments(orderBy: NEWEST) { nodes { id } } }
            answered: node(id: $answered) { ... on Comment { replyCount isRemoved body author { id } } }
            ofBob: node(id: $ofBob) { ... on Comment { replyCount replies { nodes { id } } } } }";
        let variables = json!({ "hal": self.hal_id, "ann": self.ann_id, "group": self.group, "note": self.of_ann,
                                "answered": self.answered, "ofBob": self.of_bob });
        self.server.anonymous().data(query, variables).await
    }

    /// What a client sees of Hal's note, his note list, the feed, and his two comments.
    async fn seen_by(&self, client: &Client) -> [bool; 5] {
        let query = "query ($hal: ID!, $note: ID!, $answered: ID!, $answer: ID!) {
            note(id: $note) { title } user(id: $hal) { notes { nodes { id } } } feed { nodes { id } }
            answered: node(id: $answered) { ... on Comment { body } }
            answer: node(id: $answer) { ... on Comment { body } } }";
        let variables = json!({ "hal": self.hal_id, "note": self.of_hal, "answered": self.answered,
                                "answer": self.answer });
        let data = client.data(query, variables).await;
        let lists =
            |list: &Value| list["nodes"].as_array().unwrap().iter().any(|note| note["id"] == self.of_hal);
        [
            !data["note"].is_null(),
            lists(&data["user"]["notes"]),
            lists(&data["feed"]),
            data["answered"]["body"] == "Some words.",
            data["answer"]["body"] == "Some words.",
        ]
    }
}

/// Every difference between rows, totals and Redis.
fn drift(server: &Server) -> Vec<String> {
    let output = server.command().args(["reconcile", "--format", "json"]).output().unwrap();
    let mut lines: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(ToOwned::to_owned).collect();
    lines.pop().expect("the last line has the sums");
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hidden_user_wrote_counts_nowhere_and_a_restore_brings_it_back_exactly() {
    let server = Server::start(&[]);
    let scene = Scene::new(&server).await;
    scene.server.stores().rest().await;
    let before = scene.counts().await;
    assert_eq!(before["hal"]["noteCount"], 1);
    for _ in 0..2 {
        scene.set_hidden(true).await;
        let hidden = scene.counts().await;
        assert_eq!(
            hidden["hal"],
            json!({ "noteCount": 0, "commentCount": 0, "likesReceivedCount": 0, "collectsReceivedCount": 0 })
        );
        // Ann's comment on the hidden note does not count for her.
        assert_eq!(hidden["ann"], json!({ "noteCount": 1, "commentCount": 0 }));
        assert_eq!(
            hidden["group"],
            json!({ "memberCount": 0, "noteCount": 0, "featuredNoteCount": 0, "notes": { "nodes": [] } })
        );
        let note = &hidden["note"];
        assert_eq!(
            (&note["commentCount"], &note["ratingCount"], &note["ratingAverage"]),
            (&json!(2), &json!(1), &json!(3.0))
        );
        // The comment that Bob answered stays as a placeholder, and the answer to Bob's is gone.
        assert_eq!(note["comments"]["nodes"].as_array().unwrap().len(), 2);
        let placeholder = json!({ "replyCount": 1, "isRemoved": true, "body": "", "author": null });
        assert_eq!(hidden["answered"], placeholder);
        assert_eq!(hidden["ofBob"], json!({ "replyCount": 0, "replies": { "nodes": [] } }));

        scene.set_hidden(false).await;
        assert_eq!(scene.counts().await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_hidden_user_and_moderators_see_what_the_user_wrote_and_others_cannot_act_on_it() {
    let server = Server::start(&[]);
    let scene = Scene::new(&server).await;
    assert_eq!(scene.seen_by(&scene.bob).await, [true; 5]);
    scene.set_hidden(true).await;
    for stranger in [&scene.bob, &scene.ann, &server.anonymous()] {
        assert_eq!(scene.seen_by(stranger).await, [false; 5]);
    }
    // Nobody sees hidden notes in the feed, and lists of comments have them for nobody.
    for insider in [&scene.hal, &scene.moderator] {
        assert_eq!(scene.seen_by(insider).await, [true, true, false, true, true]);
    }
    let own = "query ($n: ID!) { note(id: $n) { viewerUnpublishedComments { id } } }";
    let own =
        scene.hal.data(own, json!({ "n": scene.of_ann })).await["note"]["viewerUnpublishedComments"].clone();
    assert_eq!(own, json!([{ "id": scene.answer }, { "id": scene.answered }]));
    for (mutation, input) in [
        ("likeNote", json!({ "noteId": scene.of_hal })),
        ("collectNote", json!({ "noteId": scene.of_hal })),
        ("rateNote", json!({ "noteId": scene.of_hal, "score": 1 })),
        ("addComment", json!({ "noteId": scene.of_hal, "body": "Hello?" })),
        ("addComment", json!({ "noteId": scene.of_ann, "body": "Hello?", "replyToId": scene.answered })),
        ("likeComment", json!({ "commentId": scene.answered })),
        ("deleteNote", json!({ "noteId": scene.of_hal })),
        ("deleteComment", json!({ "commentId": scene.answered })),
    ] {
        assert_eq!(scene.bob.refused(mutation, input).await.0, "NOT_FOUND", "{mutation}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hidden_user_does_counts_only_after_the_restore_and_views_never() {
    let server = Server::start(&[]);
    let scene = Scene::new(&server).await;
    scene.server.stores().rest().await;
    let before = scene.counts().await;
    scene.set_hidden(true).await;
    let hidden = scene.counts().await;
    let new =
        create_note(&scene.hal, json!({ "title": "New", "body": "Text", "groupId": scene.group })).await;
    comment(&scene.hal, &scene.of_ann, None).await;
    scene.hal.act("rateNote", json!({ "noteId": scene.of_ann, "score": 5 }), "changed").await;
    scene.hal.act("recordViews", json!({ "noteIds": [scene.of_ann] }), "notes { id }").await;
    scene.bob.act("recordViews", json!({ "noteIds": [scene.of_ann] }), "notes { id }").await;
    let views = "query ($n: ID!) { note(id: $n) { viewCount } }";
    eventually("Bob's view is counted", SOON, || async {
        let note = scene.bob.data(views, json!({ "n": scene.of_ann })).await["note"].clone();
        (note["viewCount"] == 1).then_some(())
    })
    .await;
    scene.until_settled().await;
    assert_eq!(scene.counts().await, hidden);
    let feed = scene.bob.data("{ feed { nodes { id } } }", json!({})).await["feed"]["nodes"].clone();
    assert_eq!(feed, json!([{ "id": scene.of_ann }]));
    assert_eq!(
        scene.hal.data("query ($n: ID!) { note(id: $n) { id } }", json!({ "n": new })).await["note"]["id"],
        new
    );

    scene.set_hidden(false).await;
    let after = scene.counts().await;
    assert_eq!((&after["hal"]["noteCount"], &after["group"]["noteCount"]), (&json!(2), &json!(2)));
    let more = |counts: &Value| counts["note"]["commentCount"].as_i64().unwrap();
    assert_eq!(more(&after), more(&before) + 1);
    assert_eq!(after["note"]["ratingAverage"], 4.0);
    let note = scene.bob.data(views, json!({ "n": scene.of_ann })).await["note"].clone();
    assert_eq!(note["viewCount"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn removals_of_hidden_notes_and_comments_are_counted_once() {
    let server = Server::start(&[]);
    let scene = Scene::new(&server).await;
    scene.set_hidden(true).await;
    scene.moderator.act("deleteNote", json!({ "noteId": scene.of_hal }), "changed").await;
    scene.hal.act("deleteComment", json!({ "commentId": scene.answered }), "changed").await;
    scene.hal.act("unrateNote", json!({ "noteId": scene.of_ann }), "changed").await;
    scene.until_settled().await;
    scene.set_hidden(false).await;
    let after = scene.counts().await;
    assert_eq!((&after["hal"]["noteCount"], &after["hal"]["commentCount"]), (&json!(0), &json!(1)));
    assert_eq!(after["ann"], json!({ "noteCount": 1, "commentCount": 0 }));
    assert_eq!((&after["note"]["commentCount"], &after["note"]["ratingCount"]), (&json!(3), &json!(1)));
    assert_eq!(after["answered"]["isRemoved"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn hiding_and_restoring_beside_64_acting_users_keeps_every_count_right() {
    let server = Server::start(&[]);
    let scene = Scene::new(&server).await;
    let act = |number: usize| {
        let (scene, client) = (&scene, server.client(&format!("actor {number}")));
        async move {
            for round in 0..4 {
                let (on, off) = (json!({ "noteId": scene.of_hal }), json!({ "noteId": scene.of_ann }));
                let rating = json!({ "noteId": scene.of_hal, "score": (number + round) % 11 });
                let words = json!({ "noteId": scene.of_hal, "body": "Well.", "replyToId": null });
                let answer = json!({ "noteId": scene.of_ann, "body": "Well.", "replyToId": scene.answered });
                // Some are refused because the note is hidden at that moment, or too many wait for its row.
                for (mutation, input) in [
                    ("likeNote", on.clone()),
                    ("rateNote", rating),
                    ("addComment", words),
                    ("addComment", answer),
                    ("unlikeNote", on),
                    ("likeNote", off),
                ] {
                    if let Err(code) = client.try_act(mutation, input, "__typename").await {
                        assert!(["NOT_FOUND", "RETRY_LATER"].contains(&&*code), "{mutation}: {code}");
                    }
                }
            }
        }
    };
    let toggle = async {
        for hidden in [true, false, true, false, true] {
            let action = if hidden { "hideUser" } else { "restoreUser" };
            // Beside so many others, each may have to wait longer than a request may take.
            let (moderator, hal) = (scene.moderator.retrying(), scene.hal.retrying());
            moderator.act(action, json!({ "userId": scene.hal_id }), "changed").await;
            let note = json!({ "title": "Another", "body": "Text", "groupId": scene.group });
            hal.act("createNote", note, "note { id }").await;
            let words = json!({ "noteId": scene.of_ann, "body": "Some words.", "replyToId": null });
            let added = hal.act("addComment", words, "comment { id }").await;
            until_approved(&scene.hal, &added["comment"]["id"]).await;
        }
    };
    tokio::join!(join_all((0..64).map(act)), toggle);
    let undecided = "SELECT count(*) + $1 - $1 FROM submission";
    eventually("all comments are decided", SOON, || async {
        (server.stores().number(undecided, 0).await == 0).then_some(())
    })
    .await;
    scene.until_settled().await;
    scene.set_hidden(false).await;
}
