//! Reports of notes and comments: counted once per user, seen and decided by moderators.

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, SOON, Server, Stores, eventually, note, number};

const REPORTED: &str = "query ($orderBy: ReportOrder!, $first: Int, $after: String) {
    reviewQueue { items(state: REPORTED, orderBy: $orderBy, first: $first, after: $after) {
        nodes { about { id } reportCount reasons { reason reportCount } queuedAt lastReportedAt
                reports { nodes { reporter { id } reason text reportedAt } } }
        pageInfo { hasNextPage endCursor } } } }";

async fn reported(moderator: &Client) -> Vec<Value> {
    let data = moderator.data(REPORTED, json!({ "orderBy": "REPORTS", "first": 20 })).await;
    data["reviewQueue"]["items"]["nodes"].as_array().unwrap().clone()
}

/// What moderators see of an object; `None` if it is not reported.
async fn case_of(moderator: &Client, id: &str) -> Option<Value> {
    reported(moderator).await.into_iter().find(|case| case["about"]["id"] == id)
}

async fn report(reporter: &Client, id: &str, reason: &str, text: Option<&str>) -> bool {
    let (mutation, argument, field) = match id.split_once('_').unwrap().0 {
        "note" => ("reportNote", "noteId", "note"),
        _ => ("reportComment", "commentId", "comment"),
    };
    let input = json!({ argument: id, "reason": reason, "text": text });
    let payload = reporter.retrying().act(mutation, input, &format!("changed {field} {{ id }}")).await;
    assert_eq!(payload[field]["id"], id);
    payload["changed"] == true
}

async fn decide(moderator: &Client, id: &str, decision: &str) -> Value {
    let input = json!({ "aboutId": id, "decision": decision, "reason": "We looked" });
    let payload = moderator.act("decide", input, "changed decidedId").await;
    assert_eq!(payload["decidedId"], id);
    payload["changed"].clone()
}

async fn comment_on(stores: &Stores, note: i64) -> String {
    format!("comment_{}", stores.new_comment(note).await)
}

async fn id_of(client: &Client) -> Value {
    client.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_counts_once_per_user_and_its_last_reason_and_text_are_shown() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let (ann, bob) = (server.client("ann"), server.client("bob"));
    let n = note(stores.new_note().await);
    let comment = comment_on(&stores, number(&json!(n))).await;
    for id in [&n, &comment] {
        assert!(report(&ann, id, "SPAM", None).await);
        assert!(!report(&ann, id, "SPAM", None).await);
        assert!(report(&bob, id, "HATE", Some(" Look at\nline two ")).await);
        assert!(report(&ann, id, "OTHER", Some("Not spam")).await);
        assert!(!report(&ann, id, "OTHER", Some("Not spam ")).await);
        let case = case_of(&moderator, id).await.unwrap();
        assert_eq!(case["reportCount"], 2);
        let reasons =
            json!([{ "reason": "HATE", "reportCount": 1 }, { "reason": "OTHER", "reportCount": 1 }]);
        assert_eq!(case["reasons"], reasons);
        let reports = case["reports"]["nodes"].as_array().unwrap();
        let shown: Vec<_> = reports
            .iter()
            .map(|report| (&report["reporter"]["id"], &report["reason"], &report["text"]))
            .collect();
        let (ann_id, bob_id) = (id_of(&ann).await, id_of(&bob).await);
        let expected = [
            (&bob_id, &json!("HATE"), &json!("Look at\nline two")),
            (&ann_id, &json!("OTHER"), &json!("Not spam")),
        ];
        assert_eq!(shown, expected);
    }
    // By key: the first result, also after a decision.
    let keyed = json!({ "noteId": n, "reason": "SPAM", "idempotencyKey": "r1" });
    let cat = server.client("cat");
    for _ in 0..2 {
        assert_eq!(cat.act("reportNote", keyed.clone(), "changed").await["changed"], true);
    }
    assert_eq!(case_of(&moderator, &n).await.unwrap()["reportCount"], 3);
    assert_eq!(decide(&moderator, &n, "KEEP").await, true);
    assert_eq!(cat.act("reportNote", keyed, "changed").await["changed"], true);
    assert_eq!(case_of(&moderator, &n).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_kept_can_be_reported_again_and_what_was_removed_is_gone() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let (ann, author) = (server.client("ann"), server.client("author"));
    let input = json!({ "title": "t", "body": "b" });
    let created =
        author.act("createNote", input, "note { id author { id noteCount } }").await["note"].clone();
    let n = created["id"].as_str().unwrap().to_owned();
    let comment = comment_on(&stores, number(&created["id"])).await;
    for id in [&comment, &n] {
        report(&ann, id, "VIOLENCE", None).await;
        for changed in [true, false] {
            assert_eq!(decide(&moderator, id, "KEEP").await, changed);
        }
        let remove = json!({ "aboutId": id, "decision": "REMOVE" });
        let refused = moderator.refused("decide", remove).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("decision".into())));
        assert_eq!(case_of(&moderator, id).await, None);

        assert!(report(&ann, id, "VIOLENCE", None).await, "a new case");
        assert_eq!(case_of(&moderator, id).await.unwrap()["reportCount"], 1);
        for changed in [true, false] {
            assert_eq!(decide(&moderator, id, "REMOVE").await, changed);
        }
        let keep = json!({ "aboutId": id, "decision": "KEEP" });
        assert_eq!(moderator.refused("decide", keep).await.0, "NOT_FOUND");
        assert_eq!(case_of(&moderator, id).await, None);
        let gone = ann.data("query ($id: ID!) { node(id: $id) { id } }", json!({ "id": id })).await;
        assert_eq!(gone["node"], Value::Null);
        if id == &comment {
            let left = ann.data("query ($n: ID!) { note(id: $n) { commentCount } }", json!({ "n": n })).await;
            assert_eq!(left["note"]["commentCount"], 0);
        }
    }
    let count = "query ($u: ID!) { user(id: $u) { noteCount } }";
    let left = ann.data(count, json!({ "u": created["author"]["id"] })).await;
    assert_eq!(left["user"]["noteCount"], 0);
    let kept = "SELECT count(*) FROM report_case WHERE closed_at IS NOT NULL AND decision_reason = 'We looked' AND $1 = 0";
    assert_eq!(stores.number(kept, 0).await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_an_object_otherwise_closes_its_case() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let (ann, author) = (server.client("ann"), server.client("author"));
    let mut notes = Vec::new();
    for _ in 0..3 {
        let created = author.act("createNote", json!({ "title": "t", "body": "b" }), "note { id }").await;
        notes.push(created["note"]["id"].as_str().unwrap().to_owned());
    }
    let of_removed = comment_on(&stores, number(&json!(notes[0]))).await;
    let removed = comment_on(&stores, number(&json!(notes[1]))).await;
    for id in notes.iter().chain([&of_removed, &removed]) {
        report(&ann, id, "SEXUAL", None).await;
    }
    author.act("deleteNote", json!({ "noteId": notes[0] }), "changed").await;
    moderator.act("deleteComment", json!({ "commentId": removed }), "changed").await;
    let until_closed = async |ids: &[&String]| {
        eventually("the cases are closed", SOON, || async {
            let open = reported(&moderator).await;
            let is_open = |id: &&&String| open.iter().any(|case| case["about"]["id"] == ***id);
            (open.iter().all(|case| !case["about"].is_null()) && !ids.iter().any(|id| is_open(&id)))
                .then_some(())
        })
        .await;
    };
    until_closed(&[&notes[0], &of_removed, &removed]).await;
    assert_eq!(reported(&moderator).await.len(), 2);
    // Who decides on what is gone already is told that nothing changed.
    assert_eq!(decide(&moderator, &notes[0], "REMOVE").await, false);
    let id = id_of(&author).await;
    moderator.act("eraseUser", json!({ "userId": id }), "changed").await;
    until_closed(&[&notes[1], &notes[2]]).await;
    assert_eq!(reported(&moderator).await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_of_64_users_at_once_are_64_and_decisions_beside_them_lose_none() {
    const USERS: usize = 64;
    let server = Server::start(&[]);
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator").retrying();
    let n = note(stores.new_note().await);
    let everybody = || {
        join_all((0..USERS).flat_map(|user| [user, user]).map(|user| {
            let (client, n) = (server.client(&format!("reporter {user}")), n.clone());
            async move { report(&client, &n, ["SPAM", "HATE"][user % 2], None).await }
        }))
    };
    let changed = everybody().await.into_iter().filter(|changed| *changed).count();
    assert_eq!(changed, USERS);
    let case = case_of(&moderator, &n).await.unwrap();
    assert_eq!(case["reportCount"], USERS);
    let half = USERS / 2;
    let reasons =
        json!([{ "reason": "SPAM", "reportCount": half }, { "reason": "HATE", "reportCount": half }]);
    assert_eq!(case["reasons"], reasons);

    // Beside decisions, each report is in one case, and each case has the number of its reports.
    let decisions = async {
        let keep = || {
            moderator.send(
                "mutation ($n: ID!) { decide(input: { aboutId: $n, decision: KEEP }) { changed } }",
                json!({ "n": n }),
            )
        };
        for _ in 0..8 {
            let body = keep().await.body;
            assert!(body["errors"].is_null(), "{body}");
        }
    };
    tokio::join!(everybody(), decisions);
    let wrong = "SELECT count(*) FROM report_case AS c WHERE $1 = 0
        AND reports <> (SELECT count(*) FROM report AS r WHERE r.case_id = c.id)";
    assert_eq!(stores.number(wrong, 0).await, 0);
    let open = "SELECT count(*) FROM report_case WHERE closed_at IS NULL AND $1 = 0";
    assert!(stores.number(open, 0).await <= 1);

    // Reports that race a removal end in one of the two orders: none is left open.
    let remove = async {
        report(&server.client("the last one"), &n, "SPAM", None).await;
        decide(&moderator, &n, "REMOVE").await
    };
    let late = join_all((0..USERS).map(|user| {
        let (client, n) = (server.client(&format!("late {user}")).retrying(), n.clone());
        async move {
            let input = json!({ "noteId": n, "reason": "SPAM" });
            if let Err(code) = client.try_act("reportNote", input, "changed").await {
                assert_eq!(code, "NOT_FOUND");
            }
        }
    }));
    let (removed, _) = tokio::join!(remove, late);
    assert_eq!((removed, stores.number(open, 0).await), (json!(true), 0));
    assert_eq!(stores.number(wrong, 0).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_reporter_is_taken_out_of_every_case_and_an_export_has_their_reports() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let (ann, bob) = (server.client("ann"), server.client("bob"));
    let (alone, both) = (note(stores.new_note().await), note(stores.new_note().await));
    report(&ann, &alone, "SPAM", Some("words of ann")).await;
    report(&ann, &both, "HATE", Some("words of ann")).await;
    report(&bob, &both, "HATE", None).await;
    let id = id_of(&ann).await;
    let export = "query ($u: ID!) { exportUser(userId: $u) { nodes { kind json } } }";
    let exported = ann.data(export, json!({ "u": id })).await["exportUser"]["nodes"].clone();
    let reports: Vec<Value> = exported
        .as_array()
        .unwrap()
        .iter()
        .filter(|record| record["kind"] == "report")
        .map(|record| serde_json::from_str(record["json"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(reports.len(), 2);
    assert_eq!((&reports[0]["about"], &reports[0]["text"]), (&json!(alone), &json!("words of ann")));

    moderator.act("eraseUser", json!({ "userId": id }), "changed").await;
    eventually("the reports are erased", SOON, || async {
        let left = "SELECT count(*) FROM report WHERE reporter_id = $1 OR text IS NOT NULL";
        (stores.number(left, number(&id)).await == 0).then_some(())
    })
    .await;
    assert_eq!(case_of(&moderator, &alone).await, None);
    let case = case_of(&moderator, &both).await.unwrap();
    assert_eq!(
        (&case["reportCount"], &case["reasons"]),
        (&json!(1), &json!([{ "reason": "HATE", "reportCount": 1 }]))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reported_objects_are_listed_by_reports_and_by_age_for_moderators_alone() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let mut notes = Vec::new();
    for reports in [1, 3, 2] {
        let n = note(stores.new_note().await);
        for user in 0..reports {
            report(&server.client(&format!("user {user}")), &n, "SELF_HARM", None).await;
        }
        notes.push(n);
    }
    for (order, expected) in [("REPORTS", [1, 2, 0]), ("OLDEST", [0, 1, 2])] {
        let (mut after, mut read) = (Value::Null, Vec::new());
        loop {
            let variables = json!({ "orderBy": order, "first": 2, "after": after });
            let page = moderator.data(REPORTED, variables).await["reviewQueue"]["items"].clone();
            read.extend(page["nodes"].as_array().unwrap().iter().map(|case| case["about"]["id"].clone()));
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
        assert_eq!(read, expected.map(|index| json!(notes[index])), "{order}");
    }
    for (client, code) in [(server.client("ann"), "FORBIDDEN"), (server.anonymous(), "UNAUTHENTICATED")] {
        let error = client.error(REPORTED, json!({ "orderBy": "OLDEST" })).await;
        assert_eq!(error["extensions"]["code"], code);
        let input = json!({ "aboutId": notes[0], "decision": "REMOVE" });
        assert_eq!(client.refused("decide", input).await.0, code);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_reports_much_does_not_fill_the_list_alone() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let reports = async |user: &str, times: usize| {
        let mut notes = Vec::new();
        for _ in 0..times {
            let n = note(stores.new_note().await);
            report(&server.client(user), &n, "SPAM", None).await;
            notes.push(json!(n));
        }
        notes
    };
    let before = reports("ann", 1).await;
    let many = reports("the busy one", 12).await;
    let after = reports("bob", 2).await;
    let listed = async || {
        let (mut after, mut read) = (Value::Null, Vec::new());
        loop {
            let variables = json!({ "orderBy": "REPORTS", "first": 2, "after": after });
            let page = moderator.data(REPORTED, variables).await["reviewQueue"]["items"].clone();
            read.extend(page["nodes"].as_array().unwrap().iter().map(|case| case["about"]["id"].clone()));
            if page["pageInfo"]["hasNextPage"] == false {
                return read;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
    };
    let mut expected = vec![after[0].clone(), many[0].clone(), before[0].clone(), after[1].clone()];
    expected.extend_from_slice(&many[1..]);
    assert_eq!(listed().await, expected, "of each user first the first report");
    // What others report, too, is no longer only the busy one's.
    report(&server.client("cat"), many[11].as_str().unwrap(), "HATE", None).await;
    assert_eq!(listed().await[0], many[11]);
    decide(&moderator, many[11].as_str().unwrap(), "KEEP").await;
    // Decided reports do not count.
    for n in &many[..11] {
        decide(&moderator, n.as_str().unwrap(), "KEEP").await;
    }
    let again = reports("the busy one", 1).await;
    assert_eq!(listed().await[0], again[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_reports_and_decisions_are_refused_and_leave_nothing() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let (ann, author) = (server.client("ann"), server.client("author"));
    let n = note(stores.new_note().await);
    for text in [String::new(), " \n\u{200b}".into(), "x".repeat(1_001), "bell\u{7}".into()] {
        let input = json!({ "noteId": n, "reason": "SPAM", "text": text });
        let refused = ann.refused("reportNote", input).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("text".into())), "{text:?}");
    }
    assert_eq!(ann.refused("reportNote", json!({ "noteId": n, "reason": "ENVY" })).await.0, "BAD_USER_INPUT");
    let own =
        author.act("createNote", json!({ "title": "t", "body": "b" }), "note { id }").await["note"]["id"]
            .clone();
    let refused = author.refused("reportNote", json!({ "noteId": own, "reason": "SPAM" })).await;
    assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("noteId".into())));
    for (mutation, argument, id) in [
        ("reportNote", "noteId", "note_9000000000"),
        ("reportComment", "commentId", "comment_9000000000"),
        ("decide", "aboutId", &n),
        ("decide", "aboutId", "comment_9000000000"),
    ] {
        let mut input = json!({ argument: id, "reason": "SPAM" });
        if mutation == "decide" {
            input["decision"] = json!("KEEP");
        }
        let client = if mutation == "decide" { &moderator } else { &ann };
        assert_eq!(client.refused(mutation, input).await.0, "NOT_FOUND", "{mutation} {id}");
    }
    let of_user = json!({ "aboutId": id_of(&author).await, "decision": "KEEP" });
    assert_eq!(moderator.refused("decide", of_user).await, ("BAD_USER_INPUT".into(), Some("aboutId".into())));
    // What the author of a hidden note sees does not exist for others.
    moderator.act("hideUser", json!({ "userId": id_of(&author).await }), "changed").await;
    eventually("the note is hidden", SOON, || async {
        let input = json!({ "noteId": own, "reason": "SPAM" });
        let call = "mutation ($input: ReportNoteInput!) { reportNote(input: $input) { changed } }";
        let body = ann.send(call, json!({ "input": input })).await.body;
        (body["errors"][0]["extensions"]["code"] == "NOT_FOUND").then_some(())
    })
    .await;
    assert_eq!(case_of(&moderator, &n).await, None);
}
