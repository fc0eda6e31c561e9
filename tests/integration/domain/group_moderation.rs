//! Moderation of groups by their owners and by moderators: removing a group, taking out members and notes, and featuring.

use std::time::Duration;

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use crate::support::{Client, Server, Stores, note, number, user};

async fn new_group(owner: &Client) -> Value {
    let input = json!({ "name": "A group", "description": "For tests" });
    owner.act("createGroup", input, "group { id }").await["group"]["id"].clone()
}

async fn post(author: &Client, group: &Value) -> Value {
    let input = json!({ "title": "A note", "body": "Text", "groupId": group });
    author.act("createNote", input, "note { id }").await["note"]["id"].clone()
}

async fn join(client: &Client, group: &Value) -> Value {
    client.act("joinGroup", json!({ "groupId": group }), "viewer { user { id } }").await["viewer"]["user"]
        ["id"]
        .clone()
}

async fn group_counts(server: &Server, group: &Value) -> Value {
    let query = "query ($id: ID!) { group(id: $id) { memberCount noteCount featuredNoteCount } }";
    server.anonymous().data(query, json!({ "id": group })).await["group"].clone()
}

async fn groups_of(server: &Server, user: &Value) -> Value {
    let query = "query ($id: ID!) { user(id: $id) { groupCount groups { nodes { id } } } }";
    server.anonymous().data(query, json!({ "id": user })).await["user"].clone()
}

/// Every difference between rows, totals and Redis.
fn drift(server: &Server) -> Vec<String> {
    let output = server.command().args(["reconcile", "--format", "json"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<String> = lines.lines().map(ToOwned::to_owned).collect();
    lines.pop().expect("the last line has the sums");
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_group_is_gone_for_everybody_and_its_notes_stay_with_their_authors() {
    let server = Server::start(&[]);
    let (owner, member) = (server.client("owen owns"), server.client("mia is a member"));
    let moderator = server.client_as(Role::Moderator, "a moderator of groups");
    let (group, kept) = (new_group(&owner).await, new_group(&owner).await);
    join(&owner, &group).await;
    let member_id = join(&member, &group).await;
    join(&member, &kept).await;
    let (of_owner, of_member) = (post(&owner, &group).await, post(&member, &group).await);
    owner.act("featureNote", json!({ "noteId": of_member }), "changed").await;
    member.like(of_owner.as_str().unwrap()).await;
    // A hidden note leaves the group, too.
    let hidden = server.client("hugo hides");
    let hidden_id = join(&hidden, &group).await;
    let of_hidden = post(&hidden, &group).await;
    moderator.act("hideUser", json!({ "userId": hidden_id }), "changed").await;
    server.stores().rest().await;

    let input = json!({ "groupId": group });
    assert_eq!(server.anonymous().refused("deleteGroup", input.clone()).await.0, "UNAUTHENTICATED");
    for other in [&member, &server.client_as(Role::Service, "a service")] {
        assert_eq!(other.refused("deleteGroup", input.clone()).await.0, "FORBIDDEN");
    }
    for bad in ["note_1", "group_0", ""] {
        let refused = owner.refused("deleteGroup", json!({ "groupId": bad })).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("groupId".into())));
    }
    assert_eq!(owner.refused("deleteGroup", json!({ "groupId": "group_900000" })).await.0, "NOT_FOUND");
    for (changed, key) in [(true, "one"), (true, "one"), (false, "two")] {
        let input = json!({ "groupId": group, "idempotencyKey": key });
        let payload = owner.act("deleteGroup", input, "changed deletedGroupId").await;
        assert_eq!(payload, json!({ "changed": changed, "deletedGroupId": group }));
    }
    assert_eq!(group_counts(&server, &group).await, Value::Null);
    for (mutation, input) in [
        ("joinGroup", json!({ "groupId": group })),
        ("leaveGroup", json!({ "groupId": group })),
        ("updateGroup", json!({ "groupId": group, "name": "Again" })),
        ("createNote", json!({ "title": "Late", "body": "Text", "groupId": group })),
        ("removeGroupMember", json!({ "groupId": group, "userId": member_id })),
        ("removeGroupNote", json!({ "groupId": group, "noteId": of_member })),
    ] {
        assert_eq!(owner.refused(mutation, input).await.0, "NOT_FOUND", "{mutation}");
    }
    server.stores().rest().await;
    assert_eq!(
        groups_of(&server, &member_id).await,
        json!({ "groupCount": 1, "groups": { "nodes": [{ "id": kept }] } })
    );
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { title isFeatured likeCount group { id } } } }";
    let notes = member.data(query, json!({ "ids": [of_owner, of_member] })).await["nodes"].clone();
    let alone = |likes| json!({ "title": "A note", "isFeatured": false, "likeCount": likes, "group": null });
    assert_eq!(notes, json!([alone(1), alone(0)]));
    assert_eq!(moderator.refused("featureNote", json!({ "noteId": of_member })).await.0, "BAD_USER_INPUT");
    let list = server.anonymous().data("{ groups { nodes { id } } }", json!({})).await;
    assert_eq!(list["groups"]["nodes"], json!([{ "id": kept }]));

    moderator.act("restoreUser", json!({ "userId": hidden_id }), "changed").await;
    server.stores().rest().await;
    let restored = member.data(query, json!({ "ids": [of_hidden] })).await["nodes"].clone();
    assert_eq!(restored, json!([alone(0)]));
    let in_group = "SELECT count(*) FROM note WHERE group_id = $1";
    assert_eq!(server.stores().number(in_group, number(&group)).await, 0);
    // A moderator removes anybody's group.
    assert_eq!(moderator.act("deleteGroup", json!({ "groupId": kept }), "changed").await["changed"], true);
    server.stores().rest().await;
    assert_eq!(groups_of(&server, &member_id).await["groupCount"], 0);
    assert_eq!(drift(&server), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn users_who_join_and_post_while_the_group_is_removed_are_counted_in_no_group() {
    let server = Server::start(&[]);
    let owner = server.client("owen removes in a storm");
    let group = new_group(&owner).await;
    let acts = join_all((0..64).map(|i| {
        let (client, group) = (server.client(&format!("joins in a storm {i}")), group.clone());
        async move {
            for query in [
                "mutation ($g: ID!) { joinGroup(input: { groupId: $g }) { __typename } }",
                "mutation ($g: ID!) { createNote(input: { title: \"t\", body: \"b\", groupId: $g }) { __typename } }",
                "mutation ($g: ID!) { leaveGroup(input: { groupId: $g }) { __typename } }",
                "mutation ($g: ID!) { joinGroup(input: { groupId: $g }) { __typename } }",
            ] {
                let reply = client.send(query, json!({ "g": group })).await.body;
                let code = &reply["errors"][0]["extensions"]["code"];
                // A membership that is gone is FORBIDDEN to post.
                assert!(code.is_null() || *code == "NOT_FOUND" || *code == "FORBIDDEN", "{reply}");
            }
        }
    }));
    let remove = async {
        tokio::task::yield_now().await;
        owner.act("deleteGroup", json!({ "groupId": group }), "changed").await
    };
    let (_, removed) = tokio::join!(acts, remove);
    assert_eq!(removed["changed"], true);
    server.stores().rest().await;
    let counted = "SELECT coalesce(sum(groups), 0)::bigint FROM user_counts WHERE $1 > 0";
    assert_eq!(server.stores().number(counted, 1).await, 0);
    let left = "SELECT (SELECT count(*) FROM note WHERE group_id = $1) + (SELECT count(*) FROM group_join WHERE target_id = $1 AND included)";
    assert_eq!(server.stores().number(left, number(&group)).await, 0);
    assert_eq!(drift(&server), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_between_the_removal_of_a_group_and_its_pages_is_counted_once() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &["--lease", "2s"]);
    let names = ["leaves", "is hidden", "stays"];
    let group = new_group(&server.client("owner")).await;
    let mut ids = Vec::new();
    for name in names {
        ids.push(join(&server.client(name), &group).await);
    }
    stores.rest().await;
    server.kill();
    // Neither pages nor batches are committed.
    assert!(server.try_start(&[("FAILPOINTS", "page.before=return(fail);commit.before=return(fail)")]));
    let moderator = server.client_as(Role::Moderator, "a moderator");
    server.client("leaves").act("leaveGroup", json!({ "groupId": group }), "changed").await;
    moderator.act("hideUser", json!({ "userId": ids[1] }), "changed").await;
    moderator.act("deleteGroup", json!({ "groupId": group }), "changed").await;
    server.kill();
    server.start_again();
    stores.rest().await;
    for id in &ids {
        assert_eq!(
            groups_of(&server, id).await["groupCount"],
            if *id == ids[1] { Value::Null } else { json!(0) }
        );
    }
    let counted = "SELECT coalesce(sum(groups), 0)::bigint FROM user_counts WHERE $1 > 0";
    assert_eq!(stores.number(counted, 1).await, 0);
    assert_eq!(drift(&server), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_removal_of_a_large_group_continues_after_kills_before_and_after_the_commits_of_its_pages() {
    const MANY: i64 = 1_700;
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &["--lease", "2s"]);
    let group = new_group(&server.client("owner of many")).await;
    let id = number(&group);
    for statement in [
        format!("INSERT INTO app_user (subject, name) SELECT 'm' || i, 'M' FROM generate_series(1, {MANY}) AS i"),
        format!("INSERT INTO group_join SELECT id, {id}, true, true, now(), now() FROM app_user WHERE name = 'M'"),
        format!("INSERT INTO note (author_id, group_id, title, body) SELECT id, {id}, 't', 'b' FROM app_user WHERE name = 'M'"),
        "UPDATE user_counts SET groups = 1, notes = 1 FROM app_user AS u WHERE u.id = user_counts.id AND u.name = 'M'".into(),
        format!("UPDATE group_counts SET members = {MANY}, notes = {MANY} WHERE id = {id}"),
    ] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&stores.sql().await).await.unwrap();
    }
    server.kill();
    assert!(server.try_start(&[("FAILPOINTS", "page.before=1*return(die)")]));
    server.client("owner of many").act("deleteGroup", json!({ "groupId": group }), "changed").await;
    let left = "SELECT count(*) FROM backfill WHERE finished_at IS NULL AND $1 > 0";
    let mut kills = 0;
    for life in ["page.after=2*off->1", "page.before=1*off->1"].iter().cycle() {
        // Has ended, or has nothing left to end at.
        let is_done = loop {
            if server.has_ended() {
                break false;
            }
            if stores.number(left, id).await == 0 {
                break true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        if is_done {
            break;
        }
        kills += 1;
        server.try_start(&[("FAILPOINTS", &format!("{life}*return(die)"))]);
    }
    assert!(kills > 2, "{kills} kills");
    if server.has_ended() {
        server.start_again();
    }
    stores.rest().await;
    let counts = "SELECT (sum(groups) * 10000 + sum(notes))::bigint FROM user_counts WHERE $1 > 0";
    assert_eq!(stores.number(counts, id).await, MANY);
    let done = "SELECT done FROM backfill WHERE subject = 'group:' || $1";
    assert_eq!(stores.number(done, id).await, 2 * MANY);
    assert_eq!(drift(&server), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_is_taken_out_by_the_owner_or_a_moderator_and_may_join_again() {
    let server = Server::shared();
    let (owner, member) = (server.client("olga owns"), server.client("milo is taken out"));
    let moderator = server.client_as(Role::Moderator, "mona moderates groups");
    let group = new_group(&owner).await;
    let id = join(&member, &group).await;
    let input = |key: &str| json!({ "groupId": group, "userId": id, "idempotencyKey": key });
    assert_eq!(server.anonymous().refused("removeGroupMember", input("k")).await.0, "UNAUTHENTICATED");
    for other in [&member, &server.client("a stranger to the group")] {
        assert_eq!(other.refused("removeGroupMember", input("k")).await.0, "FORBIDDEN");
    }
    for (bad, argument) in [("user_0", "userId"), ("note_1", "userId")] {
        let refused = owner.refused("removeGroupMember", json!({ "groupId": group, "userId": bad })).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some(argument.into())));
    }
    let unknown = json!({ "groupId": group, "userId": "user_9000000000" });
    assert_eq!(owner.refused("removeGroupMember", unknown).await.0, "NOT_FOUND");

    let fields = "changed group { memberCount } user { id groupCount }";
    let after = |changed, count| {
        let user = json!({ "id": id, "groupCount": count });
        json!({ "changed": changed, "group": { "memberCount": count }, "user": user })
    };
    assert_eq!(owner.act("removeGroupMember", input("first"), fields).await, after(true, 0));
    assert_eq!(owner.act("removeGroupMember", input("second"), fields).await, after(false, 0));
    join(&member, &group).await;
    // A repetition under the key returns the first result and takes nobody out.
    assert_eq!(owner.act("removeGroupMember", input("first"), fields).await, after(true, 1));
    // The key is the owner's: it is used for another member only once, and does not touch the member's own keys.
    let other = json!({ "groupId": group, "userId": user(server.stores().new_user().await), "idempotencyKey": "first" });
    assert_eq!(owner.refused("removeGroupMember", other).await.0, "BAD_USER_INPUT");
    let leave = json!({ "groupId": group, "idempotencyKey": "first" });
    assert_eq!(member.act("leaveGroup", leave, "changed").await["changed"], true);
    join(&member, &group).await;
    let removals = join_all((0..64).map(|_| {
        let (moderator, input) = (&moderator, json!({ "groupId": group, "userId": id }));
        async move { moderator.act("removeGroupMember", input, "changed").await["changed"] == true }
    }));
    assert_eq!(removals.await.into_iter().filter(|changed| *changed).count(), 1);
    server.stores().rest().await;
    assert_eq!(group_counts(server, &group).await["memberCount"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_taken_out_by_its_author_the_owner_or_a_moderator_and_stays() {
    let server = Server::shared();
    let (owner, author) = (server.client("oda owns"), server.client("adam posts"));
    let moderator = server.client_as(Role::Moderator, "mara moderates groups");
    let (group, other_group) = (new_group(&owner).await, new_group(&author).await);
    join(&author, &group).await;
    let stranger = server.client("a stranger to notes");
    join(&stranger, &group).await;
    for by in [&author, &owner, &moderator] {
        let n = post(&author, &group).await;
        owner.act("featureNote", json!({ "noteId": n }), "changed").await;
        let input = json!({ "groupId": group, "noteId": n });
        assert_eq!(server.anonymous().refused("removeGroupNote", input.clone()).await.0, "UNAUTHENTICATED");
        assert_eq!(stranger.refused("removeGroupNote", input.clone()).await.0, "FORBIDDEN");
        let elsewhere = json!({ "groupId": other_group, "noteId": n });
        assert_eq!(author.act("removeGroupNote", elsewhere, "changed").await["changed"], false);
        assert_eq!(group_counts(server, &group).await["featuredNoteCount"], 1);
        for changed in [true, false] {
            let fields = "changed group { noteCount featuredNoteCount } note { id isFeatured group { id } author { noteCount } }";
            let payload = by.act("removeGroupNote", input.clone(), fields).await;
            assert_eq!(payload["changed"], changed);
            assert_eq!(payload["group"], json!({ "noteCount": 0, "featuredNoteCount": 0 }));
            let note = &payload["note"];
            assert_eq!((&note["id"], &note["isFeatured"], &note["group"]), (&n, &json!(false), &Value::Null));
        }
        for order in ["HOT", "NEWEST"] {
            let query = format!(
                "query ($g: ID!) {{ group(id: $g) {{ notes(orderBy: {order}) {{ nodes {{ id }} }} }} }}"
            );
            let list = author.data(&query, json!({ "g": group })).await;
            assert_eq!(list["group"]["notes"]["nodes"], json!([]), "{order}");
        }
    }
    let removed = post(&author, &group).await;
    author.act("deleteNote", json!({ "noteId": removed }), "changed").await;
    for missing in [removed, json!("note_9000000000")] {
        let input = json!({ "groupId": group, "noteId": missing });
        assert_eq!(owner.refused("removeGroupNote", input).await.0, "NOT_FOUND");
    }
    let raced = post(&author, &group).await;
    let removals = join_all((0..64).map(|_| {
        let (owner, input) = (&owner, json!({ "groupId": group, "noteId": raced }));
        async move { owner.act("removeGroupNote", input, "changed").await["changed"] == true }
    }));
    assert_eq!(removals.await.into_iter().filter(|changed| *changed).count(), 1);
    assert_eq!(
        group_counts(server, &group).await,
        json!({ "memberCount": 2, "noteCount": 0, "featuredNoteCount": 0 })
    );
}

#[tokio::test]
async fn owners_feature_notes_in_their_own_groups_only() {
    let server = Server::shared();
    let (owner, member) = (server.client("ute owns"), server.client("udo is a member"));
    let (group, other) = (new_group(&owner).await, new_group(&member).await);
    join(&member, &group).await;
    let (n, in_other) = (post(&member, &group).await, post(&member, &other).await);
    for (mutation, featured) in [("featureNote", true), ("unfeatureNote", false)] {
        for changed in [true, false] {
            let payload = owner.act(mutation, json!({ "noteId": n }), "changed note { isFeatured }").await;
            assert_eq!(payload, json!({ "changed": changed, "note": { "isFeatured": featured } }));
        }
        // Not even their author.
        assert_eq!(member.refused(mutation, json!({ "noteId": n })).await.0, "FORBIDDEN");
        assert_eq!(owner.refused(mutation, json!({ "noteId": in_other })).await.0, "FORBIDDEN");
    }
    let alone = note(server.stores().new_note().await);
    assert_eq!(owner.refused("featureNote", json!({ "noteId": alone })).await.0, "BAD_USER_INPUT");
}
