//! Decisions of human moderators, for comments that the automatic moderator left undecided.

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use super::{Scene, decisions, holding_service, line, pending, queue, state};
use support::{Answer, Client, ModerationService, SOON, Server, eventually, in_days, number};

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_response_never_approves_a_comment_and_a_human_moderator_decides() {
    let service = ModerationService::start(|text| match text {
        "prose" => Answer::Says("I approve of this comment."),
        "unknown verdict" => Answer::Says(r#"{"verdict":"approved","reason":""}"#),
        "extra text" => Answer::Says(r#"Sure! {"verdict":"approve","reason":""}"#),
        "extra field" => Answer::Says(r#"{"verdict":"approve","reason":"","sure":true}"#),
        "unsure" => Answer::Says(r#"{"verdict":"unsure","reason":"irony?"}"#),
        "no completion" => Answer::Body("<html>approve</html>"),
        "half" => Answer::BreaksOff,
        "429" => Answer::Status(429),
        "500" => Answer::Status(500),
        "403" => Answer::Status(403),
        "silence" => Answer::Silence,
        _ => Answer::Approve,
    })
    .await;
    // Long enough for a busy machine: only the silent answer may take as long.
    let mut server = Server::start(&service.flags("3s"));
    let mut undecided = Vec::new();
    for (body, why) in [
        ("prose", "not a valid verdict"),
        ("unknown verdict", "not a valid verdict"),
        ("extra text", "not a valid verdict"),
        ("extra field", "not a valid verdict"),
        ("unsure", "not sure: irony?"),
        ("403", "403"),
        ("no completion", "not a chat completion"),
        ("half", "cannot talk to the moderator"),
        ("429", "429"),
        ("500", "500"),
        ("silence", "did not answer within"),
    ] {
        let scene = Scene::new(&server, "ann gets invalid verdicts").await;
        let moderator = server.client_as(Role::Moderator, "mia decides");
        let comment = scene.comment(&server.client("bea waits"), body).await;
        let waiting =
            eventually(&format!("{body}: the comment waits for a human moderator"), SOON, || async {
                pending(&moderator).await.into_iter().find(|(id, _)| *id == comment["id"])
            })
            .await;
        assert!(waiting.1.contains(why), "{body}: {}", waiting.1);
        assert_eq!(state(&server.client("bea waits"), &comment).await, "PENDING", "{body}");
        assert_eq!(scene.public_comments(&server.anonymous()).await, (0, Vec::new()), "{body}");
        assert_eq!(decisions(&server.stores(), &comment).await, [line("undecided", &waiting.1, "http")]);
        undecided.push((scene.note, comment, waiting.1));
        // After repeated failures the service is not called for a while; a new process calls it again.
        if service.requests_with(body).len() > 1 {
            server.kill();
            server.start_again();
        }
    }
    // Each comment waits once, the oldest first; none was decided.
    let moderator = server.client_as(Role::Moderator, "mia decides");
    let waiting: Vec<Value> = pending(&moderator).await.into_iter().map(|(id, _)| id).collect();
    let expected: Vec<Value> = undecided.iter().map(|(_, comment, _)| comment["id"].clone()).collect();
    assert_eq!(waiting, expected);
    let state_of_queue = json!({
        "waitingCount": 0, "undecidedCount": undecided.len(), "oldestWaitingSeconds": 0
    });
    assert_eq!(queue(&moderator).await, state_of_queue);
    // Undecided comments do not block later ones.
    let scene = Scene::new(&server, "ann gets a valid verdict").await;
    let good = scene.comment(&server.client("bea waits"), "good").await;
    scene.until_approved(&good).await;

    decide_all(&server, &undecided).await;
    assert_eq!(pending(&moderator).await, []);
}

/// Approves every other comment and rejects the others.
async fn decide_all(server: &Server, undecided: &[(String, Value, String)]) {
    let (moderator, stores) = (server.client_as(Role::Moderator, "mia decides"), server.stores());
    let decided_by = format!("user_{}", {
        let query = "{ viewer { user { id } } }";
        // Every actor becomes a user.
        moderator.follow(&support::user(stores.new_user().await)).await;
        number(&moderator.data(query, json!({})).await["viewer"]["user"]["id"])
    });
    for (at, (note, comment, why)) in undecided.iter().enumerate() {
        let approve = json!({ "aboutId": comment["id"], "decision": "APPROVE" });
        let reject = json!({ "aboutId": comment["id"], "decision": "REJECT", "reason": "Not here" });
        let approves = at % 2 == 0;
        let (right, wrong) = if approves { (approve, reject) } else { (reject, approve) };
        for changed in [true, false] {
            let payload = "changed decidedId about { ... on Comment { state } }";
            let payload = moderator.act("decide", right.clone(), payload).await;
            let state = if approves { "APPROVED" } else { "REJECTED" };
            let expected =
                json!({ "changed": changed, "decidedId": comment["id"], "about": { "state": state } });
            assert_eq!(payload, expected);
        }
        let refused = moderator.refused("decide", wrong).await;
        assert_eq!(refused, ("BAD_USER_INPUT".to_owned(), Some("decision".to_owned())));
        let last = if approves {
            line("approved", "approved by a person", &decided_by)
        } else {
            line("rejected", "Not here", &decided_by)
        };
        assert_eq!(decisions(&stores, comment).await, [line("undecided", why, "http"), last]);
        stores.rest().await;
        let query = "query ($n: ID!) { note(id: $n) { commentCount } }";
        let count =
            server.anonymous().data(query, json!({ "n": note })).await["note"]["commentCount"].clone();
        assert_eq!(count, i64::from(approves));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_moderators_and_services_decide_and_see_pending_comments() {
    let service = holding_service().await;
    let server = Server::start(&service.flags("60s"));
    let scene = Scene::new(&server, "ann has no role").await;
    let author = server.client("bea would like to decide");
    let comment = scene.comment(&author, "hold me").await;
    let approve = json!({ "aboutId": comment["id"], "decision": "APPROVE" });
    let reject = json!({ "aboutId": comment["id"], "decision": "REJECT", "reason": "No" });
    for (client, code) in
        [(&author, "FORBIDDEN"), (&scene.owner, "FORBIDDEN"), (&server.anonymous(), "UNAUTHENTICATED")]
    {
        assert_eq!(client.refused("decide", approve.clone()).await.0, code);
        assert_eq!(client.refused("decide", reject.clone()).await.0, code);
        for query in ["{ reviewQueue { items { nodes { reason } } } }", "{ reviewQueue { waitingCount } }"] {
            assert_eq!(client.error(query, json!({})).await["extensions"]["code"], code, "{query}");
        }
    }
    assert_eq!(state(&author, &comment).await, "PENDING");
    // Of 64 concurrent decisions one takes effect. It stays when the service responds later.
    let moderators: Vec<Client> =
        (0..64).map(|i| server.client_as(Role::Moderator, &format!("moderator {i}")).retrying()).collect();
    let sent = moderators.iter().map(|moderator| moderator.act("decide", reject.clone(), "changed"));
    let changed = join_all(sent).await.iter().filter(|payload| payload["changed"] == true).count();
    assert_eq!(changed, 1);
    service.open();
    let next = scene.comment(&author, "afterwards").await;
    scene.until_approved(&next).await;
    eventually("the service has responded, and the queue is empty", SOON, || async {
        let waiting = server.stores().number("SELECT count(*) FROM submission WHERE $1 >= 0", 0).await;
        (waiting == 0).then_some(())
    })
    .await;
    assert_eq!(state(&author, &comment).await, "REJECTED");
    assert_eq!(decisions(&server.stores(), &comment).await.len(), 1);
    let unknown = json!({ "aboutId": "comment_9000000000", "decision": "APPROVE" });
    assert_eq!(moderators[0].refused("decide", unknown).await.0, "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_reads_the_queue_decides_hides_and_suspends_but_not_while_it_acts_for_a_user() {
    let service = ModerationService::start(|_| Answer::Says("Hard to say.")).await;
    let server = Server::start(&service.flags("60s"));
    let scene = Scene::new(&server, "ann has a trust system").await;
    let (bea, app) = (server.client("bea is judged"), server.client_as(Role::Service, "a trust system"));
    let shown = scene.comment(&bea, "First").await;
    let query = "{ reviewQueue { undecidedCount reportedCount items(kind: COMMENT, first: 10) { nodes {
        queuedAt reportCount reports { nodes { text } }
        author { id } text { title body images state } about { id } } } } }";
    let listed = async |count: usize| {
        eventually("the texts wait for a person", SOON, || async {
            let queue = app.data(query, json!({})).await["reviewQueue"].clone();
            let nodes = queue["items"]["nodes"].as_array().unwrap().clone();
            (nodes.len() == count && queue["undecidedCount"] == count).then_some(nodes)
        })
        .await
    };
    let item = &listed(1).await[0];
    let text = |body: &str| json!({ "title": null, "body": body, "images": [], "state": "PENDING" });
    assert_eq!((&item["about"]["id"], &item["author"]), (&shown["id"], &shown["author"]));
    assert_eq!(
        (&item["text"], &item["reportCount"], &item["reports"]),
        (&text("First"), &json!(0), &Value::Null)
    );
    assert_eq!(state(&app, &shown).await, Value::Null, "elsewhere it sees what everybody sees");
    assert!(item["queuedAt"].is_string());
    let decide =
        |decision: &str| json!({ "aboutId": shown["id"], "decision": decision, "reason": "A score" });
    assert_eq!(app.act("decide", decide("APPROVE"), "changed").await["changed"], true);
    let by = app.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    let by = by.as_str().unwrap();
    assert_eq!(
        decisions(&server.stores(), &shown).await.last(),
        Some(&line("approved", "A score", by)),
        "the record says which service decided"
    );
    // It sees the next text of what is approved, too, and what users reported.
    bea.act("updateComment", json!({ "commentId": shown["id"], "body": "Second" }), "changed").await;
    assert_eq!(listed(1).await[0]["text"], text("Second"));
    let report = json!({ "commentId": shown["id"], "reason": "SPAM", "text": "Look" });
    scene.owner.act("reportComment", report, "changed").await;
    let reported = "{ reviewQueue { reportedCount items(state: REPORTED) { nodes { reportCount
        reports { nodes { text } } about { id } text { body } } } notes: items(state: REPORTED, kind: NOTE) { nodes { reportCount } } } }";
    let expected = json!({ "reportedCount": 1, "notes": { "nodes": [] }, "items": { "nodes": [{
        "reportCount": 1, "reports": { "nodes": [{ "text": "Look" }] }, "about": { "id": shown["id"] },
        "text": { "body": "First" } }] } });
    assert_eq!(app.data(reported, json!({})).await["reviewQueue"], expected);
    assert_eq!(app.act("decide", decide("REJECT"), "changed").await["changed"], true);
    let payload = app.act("decide", decide("REMOVE"), "changed decidedId about { id }").await;
    assert_eq!(payload, json!({ "changed": true, "decidedId": shown["id"], "about": null }));
    assert_eq!(state(&bea, &shown).await, Value::Null);
    let user = json!({ "userId": shown["author"]["id"] });
    let hidden = app.act("hideUser", user.clone(), "changed user { visibility { isHidden } }").await;
    assert_eq!(hidden, json!({ "changed": true, "user": { "visibility": { "isHidden": true } } }));
    assert_eq!(app.act("restoreUser", user.clone(), "changed").await["changed"], true);
    let until = json!({ "userId": user["userId"], "until": in_days(1) });
    assert_eq!(app.act("suspendUser", until, "changed").await["changed"], true);
    assert_eq!(app.act("unsuspendUser", user.clone(), "changed").await["changed"], true);
    // Without its own rights for somebody else: then it has those of a user.
    let for_bea = app.acting_for("bea is judged");
    assert_eq!(for_bea.refused("hideUser", user).await.0, "FORBIDDEN");
    assert_eq!(for_bea.refused("decide", decide("KEEP")).await.0, "FORBIDDEN");
}
