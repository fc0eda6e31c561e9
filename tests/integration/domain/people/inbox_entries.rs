//! Entries of an inbox: equal events are one entry; what is read, taken back, and marked as read.

use plaudit_token_auth::Role;
use serde_json::{Value, json};

use super::inbox_owner::{ENTRIES, Owner, parts};
use support::{SOON, Server, eventually, user};

#[tokio::test(flavor = "multi_thread")]
async fn likes_of_five_users_are_one_entry_with_the_newest_three() {
    let server = Server::shared();
    let owner = Owner::new(server, "ada is liked by five").await;
    let fans = ["fan 1 of ada", "fan 2 of ada", "fan 3 of ada", "fan 4 of ada", "fan 5 of ada"];
    for fan in fans {
        server.client(fan).like(&owner.note).await;
        owner.stores.rest().await;
    }
    server.client(fans[0]).act("follow", json!({ "userId": owner.id }), "changed").await;
    let inbox = owner.inbox().await;
    assert_eq!(inbox["unreadLikeCount"], 5);
    let entries = inbox["entries"]["nodes"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(parts(&entries[0]), ("FOLLOWED", false, 1, vec![fans[0]]));
    assert_eq!(parts(&entries[1]), ("NOTE_LIKED", false, 5, vec![fans[4], fans[3], fans[2]]));
    assert_eq!(entries[1]["about"]["id"], owner.note);
    // A hidden user is not shown, and a new event moves the entry to the top.
    let hidden = owner.stores.user_of(fans[4]).await;
    let moderator = server.client_as(Role::Moderator, "a moderator of ada's fans");
    moderator.act("hideUser", json!({ "userId": user(hidden) }), "changed").await;
    server.client("fan 6 of ada").like(&owner.note).await;
    let text = ENTRIES.replace("first: 3", "first: 10");
    let names = || async {
        owner.stores.rest().await;
        let inbox = owner.client.data(&text, json!({})).await["viewer"]["inbox"].clone();
        let entry = &inbox["entries"]["nodes"][0];
        let parts = parts(entry);
        (parts.0 == "NOTE_LIKED", parts.2, parts.3.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    };
    let expected = ["fan 6 of ada", fans[3], fans[2], fans[1], fans[0]].map(ToOwned::to_owned).to_vec();
    eventually("the hidden user is gone", SOON, || async {
        (names().await == (true, 6, expected.clone())).then_some(())
    })
    .await;
    for first in [0, 11] {
        let text = ENTRIES.replace("first: 3", &format!("first: {first}"));
        assert_eq!(owner.client.error(&text, json!({})).await["extensions"]["argument"], "first");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_message_badge_counts_each_message_and_each_sender_has_an_entry() {
    let server = Server::shared();
    let owner = Owner::new(server, "bea gets messages").await;
    let service = server.client_as(Role::Service, "the postman");
    let senders = [owner.stores.new_user().await, owner.stores.new_user().await];
    let send = |sender: i64| {
        let input = json!({ "senderId": user(sender), "recipientId": owner.id });
        service.act("recordMessage", input, "recipient { id }")
    };
    for expected in 1..=3 {
        send(senders[0]).await;
        assert_eq!(owner.inbox().await["unreadMessageCount"], expected);
    }
    send(senders[1]).await;
    let inbox = owner.inbox().await;
    assert_eq!(inbox["unreadMessageCount"], 4);
    let about = |at: usize| inbox["entries"]["nodes"][at]["about"]["id"].clone();
    assert_eq!([about(0), about(1)], [json!(user(senders[1])), json!(user(senders[0]))]);
    let first = inbox["entries"]["nodes"][1]["cursor"].clone();
    // Up to the entry of the first sender: the second one stays unread.
    assert!(owner.read(json!({ "upTo": first })).await);
    assert_eq!(owner.inbox().await["unreadMessageCount"], 1);
    // A message after the last look counts, whoever sent it.
    send(senders[0]).await;
    let inbox = owner.inbox().await;
    assert_eq!(inbox["unreadMessageCount"], 2);
    assert_eq!(inbox["entries"]["nodes"][0]["about"]["id"], user(senders[0]));
    assert!(owner.read(json!({ "badges": ["MESSAGES"] })).await);
    assert!(!owner.read(json!({ "badges": ["MESSAGES"] })).await);
    assert!(owner.entries().await.iter().all(|entry| entry["isRead"] == true));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_is_read_up_to_an_entry_under_a_badge_or_whole() {
    let server = Server::shared();
    let owner = Owner::new(server, "cleo reads").await;
    let input = json!({ "title": "Second", "body": "Second" });
    let second = owner.client.act("createNote", input, "note { id }").await["note"]["id"].clone();
    let fan = server.client("a fan of cleo");
    for n in [owner.note.as_str(), second.as_str().unwrap()] {
        fan.like(n).await;
        owner.stores.rest().await;
    }
    fan.act("follow", json!({ "userId": owner.id }), "changed").await;
    let inbox = owner.inbox().await;
    let cursors: Vec<Value> =
        inbox["entries"]["nodes"].as_array().unwrap().iter().map(|entry| entry["cursor"].clone()).collect();
    let is_read =
        |entries: Vec<Value>| -> Vec<bool> { entries.iter().map(|entry| entry["isRead"] == true).collect() };
    // An entry under another badge, and one that was read before.
    assert!(!owner.read(json!({ "upTo": cursors[2], "badges": ["FOLLOWERS"] })).await);
    assert_eq!(is_read(owner.entries().await), [false, false, false]);
    for changed in [true, false] {
        assert_eq!(owner.read(json!({ "upTo": cursors[2] })).await, changed);
        assert_eq!(is_read(owner.entries().await), [false, false, true]);
        assert_eq!(owner.inbox().await["unreadLikeCount"], 1);
    }
    // A position of the future, such as one of another inbox, reads what there is, and no later entry.
    let other = Owner::new(server, "an owner after cleo").await;
    fan.like(&other.note).await;
    let future = other.entries().await[0]["cursor"].clone();
    assert!(owner.read(json!({ "upTo": future, "badges": ["LIKES"] })).await);
    assert_eq!(is_read(owner.entries().await), [false, true, true]);
    server.client("another fan of cleo").like(&owner.note).await;
    let entries = owner.entries().await;
    assert!(!parts(&entries[0]).1);
    assert_eq!(parts(&entries[0]).2, 2);
    assert_eq!(owner.inbox().await["unreadLikeCount"], 1);
    // The cursor of an entry that has moved to the top names the place where it was.
    assert!(!owner.read(json!({ "upTo": cursors[2], "badges": ["LIKES"] })).await);
    assert!(owner.read(json!({ "badges": ["LIKES", "FOLLOWERS", "REPLIES", "MESSAGES"] })).await);
    assert_eq!(is_read(owner.entries().await), [true, true, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unlike_takes_its_unread_entry_back_and_a_like_after_it_tells_again_once() {
    let server = Server::shared();
    let owner = Owner::new(server, "dora sees likes come and go").await;
    let (one, other) = (server.client("fan 1 of dora"), server.client("fan 2 of dora"));
    let state = || async {
        let inbox = owner.inbox().await;
        let entries = inbox["entries"]["nodes"].as_array().unwrap();
        (inbox["unreadLikeCount"].as_i64().unwrap(), entries.first().map_or(0, |entry| parts(entry).2))
    };
    for _ in 0..2 {
        for _ in 0..2 {
            one.like(&owner.note).await;
            assert_eq!(state().await, (1, 1));
        }
        for _ in 0..2 {
            one.unlike(&owner.note).await;
            assert_eq!(state().await, (0, 0), "the entry is gone");
        }
    }
    one.like(&owner.note).await;
    other.like(&owner.note).await;
    assert_eq!(state().await, (2, 2));
    other.unlike(&owner.note).await;
    assert_eq!(state().await, (1, 1));
    // After it was read, it stays, and is not told again.
    assert!(owner.read(json!({ "badges": ["LIKES"] })).await);
    for _ in 0..2 {
        one.unlike(&owner.note).await;
        assert_eq!(state().await, (0, 1));
        one.like(&owner.note).await;
        assert_eq!(state().await, (0, 1));
    }
    // One that was taken back before is told; taking it back leaves what was read before.
    other.like(&owner.note).await;
    assert_eq!(state().await, (1, 2));
    other.unlike(&owner.note).await;
    assert_eq!(state().await, (0, 1));
    assert!(parts(&owner.entries().await[0]).1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_an_entry_stays_and_node_answers_it_to_its_owner_alone() {
    let server = Server::shared();
    let owner = Owner::new(server, "emil keeps his entries").await;
    let fans = [server.client("fan 1 of emil"), server.client("fan 2 of emil")];
    fans[0].like(&owner.note).await;
    fans[0].act("follow", json!({ "userId": owner.id }), "changed").await;
    let before = owner.entries().await;
    let (followed, liked) = (&before[0], &before[1]);
    fans[1].like(&owner.note).await;
    let after = owner.entries().await;
    assert_eq!([&after[0]["id"], &after[1]["id"]], [&liked["id"], &followed["id"]]);
    assert_ne!(after[0]["cursor"], liked["cursor"]);
    assert_eq!(after[1]["cursor"], followed["cursor"]);
    let after_it = "query ($after: String) { viewer { inbox { entries(after: $after) { nodes { id } } } } }";
    let rest = owner.client.data(after_it, json!({ "after": after[0]["cursor"] })).await;
    assert_eq!(rest["viewer"]["inbox"]["entries"]["nodes"], json!([{ "id": followed["id"] }]));

    let fields = "__typename id ... on InboxEntry { cursor kind badge isRead actorCount actors(first: 3) { name } about { id } }";
    let query = format!(
        "query ($id: ID!, $ids: [ID!]!) {{ node(id: $id) {{ {fields} }} nodes(ids: $ids) {{ {fields} }} }}"
    );
    let gone = format!("{}0", liked["id"].as_str().unwrap());
    let variables = json!({ "id": liked["id"], "ids": [followed["id"], owner.note, gone, liked["id"]] });
    let entry = |of: &Value| {
        let mut entry = of.clone();
        entry["__typename"] = json!("InboxEntry");
        entry
    };
    let own = owner.client.data(&query, variables.clone()).await;
    assert_eq!(own["node"], entry(&after[0]));
    let note = json!({ "__typename": "Note", "id": owner.note });
    assert_eq!(own["nodes"], json!([entry(&after[1]), note, null, entry(&after[0])]));
    let moderator = server.client_as(Role::Moderator, "a moderator who looks for emil's entries");
    for other in [&fans[0], &moderator, &server.anonymous()] {
        let seen = other.data(&query, variables.clone()).await;
        assert_eq!(seen, json!({ "node": null, "nodes": [null, note, null, null] }));
    }
}
