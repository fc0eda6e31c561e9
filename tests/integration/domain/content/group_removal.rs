//! Removing groups: nobody is counted as a member any more, and the notes stay with their authors.

use std::time::Duration;

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use super::group_moderation::{group_counts, join, new_group, post};
use support::{Server, Stores, number};

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
        let (client, group) = (server.client(&format!("joins in a storm {i}")).retrying(), group.clone());
        async move {
            let (group, post) =
                (json!({ "groupId": group }), json!({ "title": "t", "body": "b", "groupId": group }));
            let steps =
                [("joinGroup", &group), ("createNote", &post), ("leaveGroup", &group), ("joinGroup", &group)];
            for (mutation, input) in steps {
                // A membership that is gone is FORBIDDEN to post.
                if let Err(code) = client.try_act(mutation, input.clone(), "__typename").await {
                    assert!(["NOT_FOUND", "FORBIDDEN"].contains(&&*code), "{mutation}: {code}");
                }
            }
        }
    }));
    let remove = async {
        tokio::task::yield_now().await;
        owner.retrying().act("deleteGroup", json!({ "groupId": group }), "changed").await
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
        assert_eq!(groups_of(&server, id).await["groupCount"], 0);
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
    let done = "SELECT done FROM backfill WHERE subject = 'group_' || $1";
    assert_eq!(stores.number(done, id).await, 2 * MANY);
    assert_eq!(drift(&server), Vec::<String>::new());
}
