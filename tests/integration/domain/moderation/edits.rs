//! Edited comments: the new text is judged before it shows, and the old one stays until then.

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use super::{
    PIPELINE, Scene, choosing_service, comments_of, count, decisions, holding_service, line, pending, queue,
    unread_replies,
};
use support::{Client, ModerationService, SOON, Server, Stores, eventually, number};

const EDIT: &str = "changed comment { state body editedAt pendingEdit { body state } }";
const TEXTS: &str = "... on Comment { body images mentions { id } state editedAt
    pendingEdit { body images mentions { id } state rejectionReason createdAt } }";

async fn edit(author: &Client, comment: &Value, mut parts: Value) -> Value {
    parts["commentId"] = comment["id"].clone();
    author.act("updateComment", parts, EDIT).await
}

async fn texts(client: &Client, comment: &Value) -> Value {
    count(client, &comment["id"], TEXTS).await
}

async fn until_body(client: &Client, comment: &Value, body: &str) {
    eventually("the new text shows", SOON, || async {
        (texts(client, comment).await["body"] == body).then_some(())
    })
    .await;
}

async fn until_edit_is(author: &Client, comment: &Value, state: &str) {
    eventually("the edit is decided", SOON, || async {
        (texts(author, comment).await["pendingEdit"]["state"] == state).then_some(())
    })
    .await;
}

async fn user_id(client: &Client) -> Value {
    client.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone()
}

async fn until_asked_about(service: &ModerationService, text: &str) {
    eventually("the service is asked", SOON, || async {
        (!service.requests_with(text).is_empty()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn others_see_the_old_text_until_the_new_one_is_approved_and_open_pages_get_it() {
    let service = holding_service().await;
    let server = Server::start(&service.flags("60s"));
    let scene = Scene::new(&server, "ann is edited").await;
    let dot = Scene::new(&server, "dot is mentioned later").await.owner;
    let (bea, moderator) = (server.client("bea edits"), server.client_as(Role::Moderator, "mia reads edits"));
    let (dot_id, ann_id) = (user_id(&dot).await, user_id(&scene.owner).await);
    let comment = scene.comment(&bea, "First").await;
    scene.until_approved(&comment).await;
    let reply = json!({ "body": "Yes", "replyToId": comment["id"] });
    let reply = scene.comment_with(&server.client("cem replies"), reply).await;
    scene.until_approved(&reply).await;
    server.stores().rest().await;
    let mut page = server.socket("eve reads").await;
    let watch = "subscription ($c: [ID!]!) { commentCountsChanged(commentIds: $c) { body countsVersion } }";
    page.subscribe("1", watch, json!({ "c": [comment["id"]] })).await;
    let shown = page.data().await["commentCountsChanged"].clone();
    assert_eq!(shown["body"], "First");

    let parts = json!({ "body": "hold the second", "mentions": [dot_id, ann_id] });
    for changed in [true, false] {
        let edited = edit(&bea, &comment, parts.clone()).await;
        let waits = json!({ "body": "hold the second", "state": "PENDING" });
        let expected =
            json!({ "state": "APPROVED", "body": "First", "editedAt": null, "pendingEdit": waits });
        assert_eq!((&edited["changed"], &edited["comment"]), (&json!(changed), &expected));
    }
    until_asked_about(&service, "hold the second").await;
    assert_eq!(service.requests_with("hold the second").len(), 1);
    for other in [&server.anonymous(), &dot, &scene.owner] {
        let seen = texts(other, &comment).await;
        assert_eq!((&seen["body"], &seen["pendingEdit"]), (&json!("First"), &Value::Null));
        let liked = json!({ "commentId": comment["id"] });
        if other.token().is_some() {
            let liked = other.act("likeComment", liked, "comment { body pendingEdit { body } }").await;
            assert_eq!(liked["comment"], json!({ "body": "First", "pendingEdit": null }));
        }
    }
    for who in [&bea, &moderator] {
        let edit = texts(who, &comment).await["pendingEdit"].clone();
        let parts = (&edit["body"], &edit["state"], &edit["rejectionReason"]);
        assert_eq!(parts, (&json!("hold the second"), &json!("PENDING"), &Value::Null));
        assert!(edit["createdAt"].is_string() && edit["mentions"].as_array().unwrap().len() == 2, "{edit}");
    }
    assert_eq!(unread_replies(&dot).await, 0);

    service.open();
    until_body(&server.anonymous(), &comment, "hold the second").await;
    loop {
        let now = page.data().await["commentCountsChanged"].clone();
        assert!(now["countsVersion"].as_i64() > shown["countsVersion"].as_i64(), "{now}");
        if now["body"] == "hold the second" {
            break;
        }
    }
    server.stores().rest().await;
    let seen = texts(&bea, &comment).await;
    assert_eq!((&seen["pendingEdit"], seen["editedAt"].is_string()), (&Value::Null, true));
    // Nothing counts twice. Who knows the comment already is not told again, also when a later edit mentions the same.
    edit(&bea, &comment, json!({ "mentions": [] })).await;
    until_edit_is_gone(&bea, &comment).await;
    edit(&bea, &comment, json!({ "mentions": [dot_id] })).await;
    until_edit_is_gone(&bea, &comment).await;
    server.stores().rest().await;
    assert_eq!((unread_replies(&dot).await, unread_replies(&scene.owner).await), (1, 2));
    assert_eq!(scene.public_comments(&bea).await.0, 2);
    assert_eq!(comments_of(&bea, &comment["author"]["id"]).await, 1);
    assert_eq!(decisions(&server.stores(), &comment).await, vec![line("approved", "", "http"); 4]);
}

async fn until_edit_is_gone(author: &Client, comment: &Value) {
    eventually("the edit is approved", SOON, || async {
        texts(author, comment).await["pendingEdit"].is_null().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_edit_stays_for_its_author_with_the_reason_until_the_next_one() {
    let service = choosing_service().await;
    let server = Server::start(&service.flags("60s"));
    let scene = Scene::new(&server, "ann keeps the old text").await;
    let bea = server.client("bea edits badly");
    let picture = "https://pictures.example/1.png";
    let comment = scene.comment_with(&bea, json!({ "body": "Fine", "images": [picture] })).await;
    scene.until_approved(&comment).await;
    edit(&bea, &comment, json!({ "body": "bad" })).await;
    until_edit_is(&bea, &comment, "REJECTED").await;
    let own = texts(&bea, &comment).await;
    assert_eq!((&own["body"], &own["editedAt"]), (&json!("Fine"), &Value::Null));
    let kept = (&own["pendingEdit"]["images"], &own["pendingEdit"]["rejectionReason"]);
    assert_eq!(kept, (&json!([picture]), &json!("Bad words")));
    let seen = texts(&server.anonymous(), &comment).await;
    assert_eq!((&seen["body"], &seen["pendingEdit"]), (&json!("Fine"), &Value::Null));
    // The same text is not judged again; what is omitted stays as in the edit.
    assert_eq!(edit(&bea, &comment, json!({ "body": " bad " })).await["changed"], false);
    assert_eq!(service.requests_with("bad").len(), 1);
    edit(&bea, &comment, json!({ "images": [] })).await;
    until_edit_is(&bea, &comment, "REJECTED").await;
    assert_eq!(texts(&bea, &comment).await["pendingEdit"]["body"], "bad");
    // Back to what everybody sees: there is nothing to judge.
    for changed in [true, false] {
        let back = edit(&bea, &comment, json!({ "body": "Fine", "images": [picture] })).await;
        assert_eq!((&back["changed"], &back["comment"]["pendingEdit"]), (&json!(changed), &Value::Null));
    }
    edit(&bea, &comment, json!({ "body": "Better", "images": [] })).await;
    until_body(&server.anonymous(), &comment, "Better").await;
    assert_eq!(texts(&bea, &comment).await["images"], json!([]));
    let stores = server.stores();
    stores.rest().await;
    assert_eq!(stores.number("SELECT count(*) FROM edit WHERE $1 >= 0", 0).await, 0);
    assert_eq!(scene.public_comments(&bea).await, (1, vec![comment["id"].clone()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_on_an_older_text_does_not_approve_a_newer_one() {
    let service = choosing_service().await;
    let server = Server::start(&service.flags("60s"));
    let scene = Scene::new(&server, "ann waits for the last text").await;
    let bea = server.client("bea changes her mind");
    let shown = scene.comment(&bea, "Fine").await;
    scene.until_approved(&shown).await;
    let new = scene.comment(&bea, "hold the new one").await;
    edit(&bea, &shown, json!({ "body": "hold the edit" })).await;
    for text in ["hold the new one", "hold the edit"] {
        until_asked_about(&service, text).await;
    }
    let replaced = edit(&bea, &new, json!({ "body": "bad 1" })).await;
    assert_eq!(replaced["comment"]["body"], "bad 1");
    edit(&bea, &shown, json!({ "body": "bad 2" })).await;
    until_edit_is(&bea, &shown, "REJECTED").await;
    eventually("the new comment is rejected", SOON, || async {
        (texts(&bea, &new).await["state"] == "REJECTED").then_some(())
    })
    .await;
    // The service approves the older texts now.
    service.open();
    let last = scene.comment(&bea, "hold the last one").await;
    scene.until_approved(&last).await;
    server.stores().rest().await;
    let seen = texts(&bea, &shown).await;
    assert_eq!((&seen["body"], &seen["pendingEdit"]["body"]), (&json!("Fine"), &json!("bad 2")));
    assert_eq!(texts(&bea, &new).await["state"], "REJECTED");
    let rejected = line("rejected", "Bad words", "http");
    assert_eq!(decisions(&server.stores(), &new).await, std::slice::from_ref(&rejected));
    assert_eq!(decisions(&server.stores(), &shown).await, [line("approved", "", "http"), rejected]);

    // A rejected comment that is edited waits again, and counts once it is approved.
    let again = edit(&bea, &new, json!({ "body": "Good" })).await;
    assert_eq!((&again["comment"]["body"], &again["comment"]["pendingEdit"]), (&json!("Good"), &Value::Null));
    scene.until_approved(&new).await;
    server.stores().rest().await;
    assert_eq!(texts(&bea, &new).await["editedAt"], Value::Null, "nobody saw the texts before");
    assert_eq!(scene.public_comments(&bea).await.0, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moderator_decides_the_edit_that_waits_for_a_person() {
    let service = choosing_service().await;
    let server = Server::start(&service.flags("60s"));
    let scene = Scene::new(&server, "ann has ironic readers").await;
    let (bea, mia) = (server.client("bea is ironic"), server.client_as(Role::Moderator, "mia decides edits"));
    let comment = scene.comment(&bea, "Fine").await;
    scene.until_approved(&comment).await;
    let decide = |decision: &str| json!({ "aboutId": comment["id"], "decision": decision, "reason": "No" });
    assert_eq!(mia.refused("decide", decide("REJECT")).await.0, "BAD_USER_INPUT");
    for (body, decision, opposite, shows) in
        [("unsure 1", "REJECT", "APPROVE", "Fine"), ("unsure 2", "APPROVE", "REJECT", "unsure 2")]
    {
        edit(&bea, &comment, json!({ "body": body })).await;
        eventually("the edit waits for a person", SOON, || async {
            (pending(&mia).await == [(comment["id"].clone(), "the moderator is not sure: irony?".to_owned())])
                .then_some(())
        })
        .await;
        assert_eq!(queue(&mia).await["undecidedCount"], 1);
        let listed =
            "{ reviewQueue { items { nodes { about { ... on Comment { body pendingEdit { body } } } } } } }";
        let listed = mia.data(listed, json!({})).await["reviewQueue"]["items"]["nodes"][0].clone();
        assert_eq!(listed["about"], json!({ "body": "Fine", "pendingEdit": { "body": body } }));
        for changed in [true, false] {
            assert_eq!(mia.act("decide", decide(decision), "changed").await["changed"], changed, "{body}");
        }
        assert_eq!(mia.refused("decide", decide(opposite)).await.0, "BAD_USER_INPUT");
        assert_eq!(texts(&server.anonymous(), &comment).await["body"], shows);
    }
    server.stores().rest().await;
    assert_eq!(scene.public_comments(&bea).await.0, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_author_edits_a_comment_and_bad_input_changes_nothing() {
    let service = choosing_service().await;
    let server = Server::start(&service.flags("60s"));
    let scene = Scene::new(&server, "ann does not edit others").await;
    let bea = server.client("bea owns a comment");
    let (public, held) = (scene.comment(&bea, "Fine").await, scene.comment(&bea, "hold this").await);
    scene.until_approved(&public).await;
    let change = |comment: &Value| json!({ "commentId": comment["id"], "body": "Mine" });
    for other in [&scene.owner, &server.client_as(Role::Moderator, "mia does not edit")] {
        assert_eq!(other.refused("updateComment", change(&public)).await.0, "FORBIDDEN");
        assert_eq!(other.refused("updateComment", change(&held)).await.0, "NOT_FOUND");
    }
    assert_eq!(server.anonymous().refused("updateComment", change(&public)).await.0, "UNAUTHENTICATED");
    let id = &public["id"];
    for (input, argument) in [
        (json!({ "commentId": id }), "body"),
        (json!({ "commentId": id, "body": null, "images": null }), "body"),
        (json!({ "commentId": id, "body": " \n" }), "body"),
        (json!({ "commentId": id, "body": "", "images": [] }), "body"),
        (json!({ "commentId": id, "body": "x".repeat(1_025) }), "body"),
        (json!({ "commentId": id, "images": ["http://a.example/"] }), "images"),
        (json!({ "commentId": id, "images": vec!["https://a.example/"; 10] }), "images"),
        (json!({ "commentId": id, "mentions": ["note_1"] }), "mentions"),
        (json!({ "commentId": "note_1", "body": "x" }), "commentId"),
    ] {
        let refused = bea.refused("updateComment", input.clone()).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some(argument.into())), "{input}");
    }
    for input in [
        json!({ "commentId": "comment_9000000000", "body": "x" }),
        json!({ "commentId": id, "mentions": ["user_9000000000"] }),
    ] {
        assert_eq!(bea.refused("updateComment", input).await.0, "NOT_FOUND");
    }
    assert_eq!(texts(&bea, &public).await["pendingEdit"], Value::Null);
    // Under its key an edit is made once, also when another one came after it.
    let keyed = json!({ "body": "hold 1", "idempotencyKey": "an edit" });
    for body in ["hold 1", "hold 2"] {
        assert_eq!(edit(&bea, &public, keyed.clone()).await["changed"], true);
        edit(&bea, &public, json!({ "body": "hold 2" })).await;
        let kept = texts(&bea, &public).await["pendingEdit"]["body"].clone();
        assert_eq!(kept, "hold 2", "after {body}");
    }
    for comment in [&public, &held] {
        bea.act("deleteComment", json!({ "commentId": comment["id"] }), "changed").await;
        assert_eq!(bea.refused("updateComment", change(comment)).await.0, "NOT_FOUND");
    }
    let left = "SELECT (SELECT count(*) FROM edit) + (SELECT count(*) FROM submission) WHERE $1 >= 0";
    assert_eq!(server.stores().number(left, 0).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_by_64_clients_end_with_one_text_and_with_a_removal_in_one_of_the_two_orders() {
    let server = Server::shared();
    let scene = Scene::new(server, "ann is edited by many").await;
    let author = server.client("bea edits in a storm");
    for removes in [false, true] {
        let comment = scene.comment(&author, "Before").await;
        scene.until_approved(&comment).await;
        let edits = (0..64).map(|i| {
            let (author, id) = (author.clone(), comment["id"].clone());
            async move {
                let query =
                    "mutation ($input: UpdateCommentInput!) { updateComment(input: $input) { changed } }";
                let input = json!({ "commentId": id, "body": format!("Edit {}", i / 2) });
                author.send(query, json!({ "input": input })).await.body
            }
        });
        let removal = async {
            if removes {
                let input = json!({ "commentId": comment["id"] });
                assert_eq!(author.act("deleteComment", input, "changed").await["changed"], true);
            }
        };
        let (edits, ()) = tokio::join!(join_all(edits), removal);
        for edit in &edits {
            let is_done = edit["data"]["updateComment"]["changed"].is_boolean();
            assert!(is_done || removes && edit["errors"][0]["extensions"]["code"] == "NOT_FOUND", "{edit}");
        }
        let waiting = "SELECT (SELECT count(*) FROM submission WHERE kind = 'comment' AND target_id = $1)
                     + (SELECT count(*) FROM edit WHERE kind = 'comment' AND target_id = $1)";
        eventually("nothing waits", SOON, || async {
            (server.stores().number(waiting, number(&comment["id"])).await == 0).then_some(())
        })
        .await;
        server.stores().rest().await;
        if !removes {
            let seen = texts(&author, &comment).await;
            assert!(seen["body"].as_str().unwrap().starts_with("Edit "), "{seen}");
            author.act("deleteComment", json!({ "commentId": comment["id"] }), "changed").await;
        }
        assert_eq!(comments_of(&author, &comment["author"]["id"]).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_whose_process_is_killed_is_written_once_and_judged_after_the_restart() {
    let service = choosing_service().await;
    let stores = Stores::start(AppendFsync::EverySec).await;
    let flags = service.flags("1s");
    let mut pipeline = Server::start_on(&stores, &[&flags[..], &PIPELINE].concat());
    let mut api = Server::start_on(&stores, &["--roles", "api"]);
    let scene = Scene::new(&api, "ann reads after a kill").await;
    let comment = scene.comment(&api.client("bea edits and is killed"), "Fine").await;
    scene.until_approved(&comment).await;
    drop(scene);
    let edit_query = "mutation ($input: UpdateCommentInput!) { updateComment(input: $input) { changed } }";
    for (point, body, is_written) in [("change.before", "hold 1", false), ("change.after", "hold 2", true)] {
        api.kill();
        assert!(api.try_start(&[("FAILPOINTS", &format!("{point}=return(die)"))]));
        let author = api.client("bea edits and is killed");
        let input = json!({ "commentId": comment["id"], "body": body });
        assert!(author.try_send(edit_query, json!({ "input": input })).await.is_err());
        let edits = "SELECT count(*) FROM edit WHERE kind = 'comment' AND target_id = $1";
        assert_eq!(stores.number(edits, number(&comment["id"])).await, i64::from(is_written), "{point}");
    }
    // The moderator is killed while it judges the edit.
    until_asked_about(&service, "hold 2").await;
    pipeline.kill();
    service.open();
    api.start_again();
    pipeline.start_again();
    let author = api.client("bea edits and is killed");
    until_body(&author, &comment, "hold 2").await;
    stores.rest().await;
    assert_eq!(decisions(&stores, &comment).await, vec![line("approved", "", "http"); 2]);
    assert_eq!(comments_of(&author, &comment["author"]["id"]).await, 1);
    assert!(service.requests_with("hold 1").is_empty());
}
