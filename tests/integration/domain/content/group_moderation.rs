//! Moderation of groups by their owners and by moderators: taking out members and notes, and featuring.

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use redis::AsyncCommands;
use serde_json::{Value, json};
use support::{Client, SOON, Server, Stores, eventually, note, user};

pub async fn new_group(owner: &Client) -> Value {
    let input = json!({ "name": "A group", "description": "For tests" });
    owner.act("createGroup", input, "group { id }").await["group"]["id"].clone()
}

pub async fn post(author: &Client, group: &Value) -> Value {
    let input = json!({ "title": "A note", "body": "Text", "groupId": group });
    author.act("createNote", input, "note { id }").await["note"]["id"].clone()
}

pub async fn join(client: &Client, group: &Value) -> Value {
    client.act("joinGroup", json!({ "groupId": group }), "viewer { user { id } }").await["viewer"]["user"]
        ["id"]
        .clone()
}

pub async fn group_counts(server: &Server, group: &Value) -> Value {
    let query = "query ($id: ID!) { group(id: $id) { memberCount noteCount featuredNoteCount } }";
    server.anonymous().data(query, json!({ "id": group })).await["group"].clone()
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
async fn a_member_is_taken_out_by_a_repetition_if_the_process_was_killed_after_it_claimed_the_key() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &[]);
    let group = new_group(&server.client("owen owns")).await;
    let id = join(&server.client("mel is taken out"), &group).await;
    stores.rest().await;
    server.kill();
    assert!(server.try_start(&[("FAILPOINTS", "action.before=1*return(die)")]));
    let input = json!({ "groupId": group, "userId": id, "idempotencyKey": "claimed" });
    let remove = "mutation ($i: RemoveGroupMemberInput!) { removeGroupMember(input: $i) { changed } }";
    let lost = server.client("owen owns").try_send(remove, json!({ "i": input })).await;
    assert!(lost.is_err(), "the server answered");
    eventually("the server has ended", SOON, || std::future::ready(server.has_ended().then_some(()))).await;
    let claimed: Vec<String> = stores.redis().await.keys("*:idem:*:claimed").await.unwrap();
    assert_eq!(claimed.len(), 1, "{claimed:?}");
    server.start_again();
    for _ in 0..2 {
        let payload = server.client("owen owns").act("removeGroupMember", input.clone(), "changed").await;
        assert_eq!(payload["changed"], true);
    }
    stores.rest().await;
    assert_eq!(group_counts(&server, &group).await["memberCount"], 0);
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
