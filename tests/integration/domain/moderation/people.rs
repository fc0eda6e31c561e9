//! Decisions of human moderators, for comments that the automatic moderator left undecided.

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use super::{Scene, decisions, holding_service, line, pending, queue, state};
use support::{Answer, Client, ModerationService, SOON, Server, eventually, number};

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
        let approve = json!({ "commentId": comment["id"] });
        let reject = json!({ "commentId": comment["id"], "reason": "Not here" });
        let approves = at % 2 == 0;
        let (right, wrong) = (("approveComment", &approve), ("rejectComment", &reject));
        let (right, wrong) = if approves { (right, wrong) } else { (wrong, right) };
        for changed in [true, false] {
            let payload = moderator.act(right.0, right.1.clone(), "changed comment { state }").await;
            let state = if approves { "APPROVED" } else { "REJECTED" };
            assert_eq!(payload, json!({ "changed": changed, "comment": { "state": state } }));
        }
        let refused = moderator.refused(wrong.0, wrong.1.clone()).await;
        assert_eq!(refused, ("BAD_USER_INPUT".to_owned(), Some("commentId".to_owned())));
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
async fn only_moderators_decide_and_see_pending_comments() {
    let service = holding_service().await;
    let server = Server::start(&service.flags("60s"));
    let scene = Scene::new(&server, "ann has no role").await;
    let author = server.client("bea would like to decide");
    let comment = scene.comment(&author, "hold me").await;
    let approve = json!({ "commentId": comment["id"] });
    let reject = json!({ "commentId": comment["id"], "reason": "No" });
    for (client, code) in [
        (&author, "FORBIDDEN"),
        (&scene.owner, "FORBIDDEN"),
        (&server.client_as(Role::Service, "a service"), "FORBIDDEN"),
        (&server.anonymous(), "UNAUTHENTICATED"),
    ] {
        assert_eq!(client.refused("approveComment", approve.clone()).await.0, code);
        assert_eq!(client.refused("rejectComment", reject.clone()).await.0, code);
        for query in ["{ undecidedComments { nodes { reason } } }", "{ reviewQueue { waitingCount } }"] {
            assert_eq!(client.error(query, json!({})).await["extensions"]["code"], code, "{query}");
        }
    }
    assert_eq!(state(&author, &comment).await, "PENDING");
    // Of 64 concurrent decisions one takes effect. It stays when the service responds later.
    let moderators: Vec<Client> =
        (0..64).map(|i| server.client_as(Role::Moderator, &format!("moderator {i}")).retrying()).collect();
    let sent = moderators.iter().map(|moderator| moderator.act("rejectComment", reject.clone(), "changed"));
    let changed = join_all(sent).await.iter().filter(|payload| payload["changed"] == true).count();
    assert_eq!(changed, 1);
    service.open();
    let next = scene.comment(&author, "afterwards").await;
    scene.until_approved(&next).await;
    eventually("the service has responded, and the queue is empty", SOON, || async {
        let waiting = server.stores().number("SELECT count(*) FROM comment_queue WHERE $1 >= 0", 0).await;
        (waiting == 0).then_some(())
    })
    .await;
    assert_eq!(state(&author, &comment).await, "REJECTED");
    assert_eq!(decisions(&server.stores(), &comment).await.len(), 1);
    let unknown = json!({ "commentId": "comment_9000000000" });
    assert_eq!(moderators[0].refused("approveComment", unknown).await.0, "NOT_FOUND");
}
