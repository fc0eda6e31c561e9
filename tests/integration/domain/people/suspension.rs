//! Suspension of users: every action is refused until a time, and what was done before it counts exactly.

use chrono::{SecondsFormat, TimeDelta, Utc};
use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use crate::graphql::{
    rights::{Who, rights},
    schema_types::Types,
};
use support::{Client, SOON, Server, eventually, note, number, user};

const LIKE: &str = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";

fn after(time: TimeDelta) -> String {
    (Utc::now() + time).to_rfc3339_opts(SecondsFormat::Millis, true)
}

async fn id_of(client: &Client) -> Value {
    client.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone()
}

/// A client who has acted, and the id of the user.
async fn acting(server: &Server, subject: &str) -> (Client, Value) {
    let client = server.client(subject);
    client.act("updateProfile", json!({ "name": "Somebody" }), "changed").await;
    let id = id_of(&client).await;
    (client, id)
}

async fn is_suspended(client: &Client, mutation: &str, input: Value) -> bool {
    client.refused(mutation, input).await.0 == "SUSPENDED"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_user_is_refused_every_action_but_reads_exports_and_erases_what_is_theirs() {
    let server = Server::shared();
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator of suspensions");
    let (sam, id) = acting(server, "sam is suspended").await;
    let n = note(stores.new_note().await);
    let own = sam.act("createNote", json!({ "title": "t", "body": "b" }), "note { id }").await["note"]["id"]
        .clone();
    sam.like(&n).await;

    let until = after(TimeDelta::days(1));
    let input = json!({ "userId": id, "until": until, "reason": "  Too loud\u{200b}  " });
    let suspension = json!({ "endsAt": until, "reason": "Too loud" });
    for changed in [true, false] {
        let payload = moderator
            .act("suspendUser", input.clone(), "changed user { suspension { endsAt reason } }")
            .await;
        assert_eq!(payload, json!({ "changed": changed, "user": { "suspension": suspension } }));
    }
    let (types, rights) = (Types::read(), rights());
    for (mutation, fields) in types.mutations() {
        if ["markInboxRead", "eraseUser"].contains(&mutation) {
            continue;
        }
        let right = rights.iter().find(|right| right.of_type == "Mutation" && right.field == mutation);
        let needs_role = right.is_some_and(|right| {
            matches!(right.who, Who::Moderator | Who::ModeratorOrService | Who::Service)
        });
        let expected = if needs_role { "FORBIDDEN" } else { "SUSPENDED" };
        let refused = sam.refused(mutation, types.smallest_input(mutation, fields)).await.0;
        assert_eq!(refused, expected, "{mutation}");
    }
    assert!(is_suspended(&sam, "updateNote", json!({ "noteId": own, "title": "u" })).await);
    let error = sam.error(LIKE, json!({ "n": n })).await;
    assert_eq!(error["extensions"], json!({ "code": "SUSPENDED", "retryable": false, "until": until }));
    assert!(error["message"].as_str().unwrap().contains("suspended until"), "{error}");

    let viewer = sam.data("{ viewer { suspension { endsAt reason } user { id } } }", json!({})).await;
    assert_eq!(viewer["viewer"], json!({ "suspension": suspension, "user": { "id": id } }));
    let public = "query ($u: ID!) { user(id: $u) { suspension { endsAt } } }";
    assert_eq!(sam.error(public, json!({ "u": id })).await["extensions"]["code"], "FORBIDDEN");
    assert_eq!(sam.note(&n).await["viewerHasLiked"], true);
    sam.act("markInboxRead", json!({ "badges": ["LIKES"] }), "changed").await;
    let export = "query ($u: ID!) { exportUser(userId: $u) { nodes { json } } }";
    let exported = sam.data(export, json!({ "u": id })).await["exportUser"]["nodes"][0]["json"].to_string();
    assert!(exported.contains("Too loud"), "{exported}");

    // Another end, and none at all.
    let later = json!({ "userId": id, "until": after(TimeDelta::days(7)) });
    assert_eq!(moderator.act("suspendUser", later, "changed").await["changed"], true);
    let lifted = |changed| json!({ "changed": changed, "user": { "suspension": null } });
    for changed in [true, false] {
        let payload = moderator
            .act("unsuspendUser", json!({ "userId": id }), "changed user { suspension { endsAt } }")
            .await;
        assert_eq!(payload, lifted(changed));
    }
    assert_eq!(sam.unlike(&n).await["changed"], true);

    moderator.act("suspendUser", json!({ "userId": id, "until": until }), "changed").await;
    sam.act("eraseUser", json!({ "userId": id, "confirmation": id }), "changed").await;
    let input = json!({ "userId": id, "until": until });
    assert_eq!(moderator.refused("suspendUser", input).await.0, "NOT_FOUND");
    // The subject comes back as somebody new, who is not suspended.
    assert_eq!(sam.like(&n).await["changed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspension_is_repeated_by_its_key_and_bad_ones_are_refused() {
    let server = Server::shared();
    let moderator = server.client_as(Role::Moderator, "the moderator of keys");
    let (tom, id) = acting(server, "tom is suspended by key").await;
    let until = after(TimeDelta::hours(1));
    let keyed = |until: &str, key: &str| json!({ "userId": id, "until": until, "idempotencyKey": key });
    assert_eq!(moderator.act("suspendUser", keyed(&until, "s1"), "changed").await["changed"], true);
    moderator.act("unsuspendUser", json!({ "userId": id }), "changed").await;
    // The repetition has the first result, and does nothing.
    assert_eq!(moderator.act("suspendUser", keyed(&until, "s1"), "changed").await["changed"], true);
    tom.act("updateProfile", json!({ "name": "Tom" }), "changed").await;
    let reused = moderator.refused("suspendUser", keyed(&after(TimeDelta::hours(2)), "s1")).await;
    assert_eq!(reused, ("BAD_USER_INPUT".into(), Some("idempotencyKey".into())));

    for until in [after(TimeDelta::seconds(-1)), after(TimeDelta::days(367)), "1970-01-01T00:00:00Z".into()] {
        let refused = moderator.refused("suspendUser", json!({ "userId": id, "until": until })).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("until".into())), "{until}");
    }
    for reason in [String::new(), " \u{200b} ".into(), "x".repeat(201), "two\nlines".into()] {
        let input = json!({ "userId": id, "until": until, "reason": reason });
        let refused = moderator.refused("suspendUser", input).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("reason".into())), "{reason:?}");
    }
    moderator.act("updateProfile", json!({ "name": "A moderator" }), "changed").await;
    for bad in [id_of(&moderator).await, json!("note_1")] {
        let refused = moderator.refused("suspendUser", json!({ "userId": bad, "until": until })).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("userId".into())), "{bad}");
    }
    for mutation in ["suspendUser", "unsuspendUser"] {
        let mut input = json!({ "userId": "user_9000000000" });
        if mutation == "suspendUser" {
            input["until"] = json!(until);
        }
        assert_eq!(moderator.refused(mutation, input.clone()).await.0, "NOT_FOUND");
        assert_eq!(tom.refused(mutation, input.clone()).await.0, "FORBIDDEN");
        assert_eq!(server.anonymous().refused(mutation, input).await.0, "UNAUTHENTICATED");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspension_ends_by_its_time_and_a_moderator_who_is_suspended_cannot_lift_it() {
    let server = Server::shared();
    let (first, second) = (
        server.client_as(Role::Moderator, "a moderator who is suspended"),
        server.client_as(Role::Moderator, "a moderator who suspends"),
    );
    first.act("updateProfile", json!({ "name": "First" }), "changed").await;
    let id = id_of(&first).await;
    let suspended = json!({ "userId": id, "until": after(TimeDelta::days(2)) });
    second.act("suspendUser", suspended, "changed").await;
    assert!(is_suspended(&first, "unsuspendUser", json!({ "userId": id })).await);
    let soon = json!({ "userId": id, "until": after(TimeDelta::seconds(2)) });
    second.act("suspendUser", soon, "changed").await;
    assert!(is_suspended(&first, "updateProfile", json!({ "name": "Too soon" })).await);
    eventually("the suspension has ended", SOON, || async {
        let reply =
            first.send("mutation { updateProfile(input: { name: \"Back\" }) { changed } }", json!({})).await;
        reply.body["errors"].is_null().then_some(())
    })
    .await;
    let ended = second.act("unsuspendUser", json!({ "userId": id }), "changed").await;
    assert_eq!(ended["changed"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moderator_cannot_suspend_the_apps_servers() {
    let server = Server::shared();
    let stores = server.stores();
    let subject = "a service that is suspended";
    let (service, user_of_service) = (server.client_as(Role::Service, subject), server.client(subject));
    user_of_service.act("updateProfile", json!({ "name": "The app" }), "changed").await;
    let moderator = server.client_as(Role::Moderator, "a moderator against the app");
    let suspension = json!({ "userId": id_of(&service).await, "until": after(TimeDelta::days(1)) });
    moderator.act("suspendUser", suspension, "changed").await;

    let (somebody, another) = (user(stores.new_user().await), user(stores.new_user().await));
    let n = note(stores.new_note().await);
    service
        .act("grantCoins", json!({ "userId": somebody, "amount": 5, "reason": "A prize" }), "__typename")
        .await;
    let message = json!({ "senderId": somebody, "recipientId": another });
    service.act("recordMessage", message, "__typename").await;
    service.act("eraseUser", json!({ "userId": another, "confirmation": another }), "__typename").await;
    for mutation in ["likeNote", "unlikeNote"] {
        assert_eq!(service.act(mutation, json!({ "noteId": n }), "changed").await["changed"], true);
    }
    service.act("recordViews", json!({ "noteIds": [n] }), "__typename").await;

    // The role is that of the token: as a user, or for one, the same subject is refused.
    for client in [&user_of_service, &service.acting_for(subject)] {
        for mutation in ["likeNote", "unlikeNote"] {
            assert!(is_suspended(client, mutation, json!({ "noteId": n })).await, "{mutation}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_that_race_a_suspension_count_if_they_were_accepted_and_none_is_accepted_after_it() {
    const DEVICES: usize = 64;
    let server = Server::start(&[]);
    let stores = server.stores();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let (mallory, id) = acting(&server, "mallory").await;
    let (before, after_) = (note_ids(&server, 2 * DEVICES).await, note_ids(&server, DEVICES).await);
    let accepted = |notes: Vec<String>| {
        let likes = notes.into_iter().map(|n| {
            let client = mallory.retrying();
            async move {
                let liked = client.try_act("likeNote", json!({ "noteId": n }), "changed").await;
                match &liked {
                    Ok(payload) => assert_eq!(payload["changed"], true),
                    Err(code) => assert_eq!(code, "SUSPENDED"),
                }
                liked.is_ok()
            }
        });
        async move { join_all(likes).await.into_iter().filter(|accepted| *accepted).count() }
    };
    let suspension = json!({ "userId": id, "until": after(TimeDelta::days(1)) });
    let moderator = moderator.retrying();
    let suspend = moderator.act("suspendUser", suspension, "changed");
    let (liked, _) = tokio::join!(accepted(before.clone()), suspend);
    assert_eq!(accepted(after_.clone()).await, 0);
    stores.rest().await;
    let likes = async |notes: &[String]| {
        let mut sum = 0;
        for n in notes {
            let totals = stores.likes(number(&json!(n))).await;
            assert_eq!((totals.rows, totals.redis.unwrap_or(totals.total)), (totals.total, totals.total));
            sum += totals.total;
        }
        sum
    };
    assert_eq!(likes(&before).await, liked as i64);
    assert_eq!(likes(&after_).await, 0);

    moderator.act("unsuspendUser", json!({ "userId": id }), "changed").await;
    assert_eq!(accepted(after_).await, DEVICES);
}

async fn note_ids(server: &Server, count: usize) -> Vec<String> {
    let stores = server.stores();
    let mut notes = Vec::with_capacity(count);
    for _ in 0..count {
        notes.push(note(stores.new_note().await));
    }
    notes
}

#[tokio::test(flavor = "multi_thread")]
async fn another_instance_refuses_a_suspended_user_as_soon_as_it_hears_of_it() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let other = Server::start_on(&stores, &["--roles", "api"]);
    let (_, id) = acting(&server, "nina").await;
    let nina = other.client("nina");
    let n = note(stores.new_note().await);
    nina.like(&n).await;
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let suspension = json!({ "userId": id, "until": after(TimeDelta::days(1)) });
    moderator.act("suspendUser", suspension, "changed").await;
    let unlike = LIKE.replace("likeNote", "unlikeNote");
    eventually("the other instance has heard of it", SOON, || async {
        let body = nina.send(&unlike, json!({ "n": n })).await.body;
        (body["errors"][0]["extensions"]["code"] == "SUSPENDED").then_some(())
    })
    .await;
    moderator.act("unsuspendUser", json!({ "userId": id }), "changed").await;
    eventually("the other instance has heard of the end", SOON, || async {
        let body = nina.send(LIKE, json!({ "n": n })).await.body;
        body["errors"].is_null().then_some(())
    })
    .await;
}
