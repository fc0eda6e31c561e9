//! Inboxes in a race, after their retention, and after an erasure: every number stays right.

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::json;

use super::inbox_owner::{Owner, drift, parts};
use support::{Client, SOON, Server, eventually, number, user};

#[tokio::test(flavor = "multi_thread")]
async fn likes_unlikes_and_reading_by_64_users_at_once_leave_every_number_right() {
    let server = Server::start(&[]);
    let owner = Owner::new(&server, "eve is in a race").await;
    let fans: Vec<Client> =
        (0..64).map(|number| server.client(&format!("racer {number}")).retrying()).collect();
    let racer = |number: usize| {
        let (fan, owner) = (&fans[number], &owner);
        async move {
            for round in 0..6 {
                if (number + round).is_multiple_of(2) {
                    fan.like(&owner.note).await;
                } else {
                    fan.unlike(&owner.note).await;
                }
                if (number + round).is_multiple_of(8) {
                    owner.read(json!({ "badges": ["LIKES"] })).await;
                }
            }
        }
    };
    join_all((0..64).map(racer)).await;
    owner.stores.rest().await;
    assert_eq!(drift(&server), [] as [String; 0]);
    // The entry says what the likes say.
    let differing = "SELECT count(*) FROM inbox_entry AS i JOIN inbox_counts AS c ON c.id = i.recipient_id
        CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE told > since) AS actors,
                   count(*) FILTER (WHERE told > greatest(since, read_to) AND i.id > c.likes_read_to) AS unread
            FROM note_like AS e WHERE e.target_id = i.target_id) AS e
        WHERE i.recipient_id = $1
          AND (i.actors <> e.actors OR c.likes <> e.unread OR i.id > c.likes_read_to AND i.unread <> e.unread)";
    let owner_number = number(&owner.id);
    assert_eq!(owner.stores.number(differing, owner_number).await, 0);
    owner.read(json!({ "badges": ["LIKES"] })).await;
    assert_eq!(owner.inbox().await["unreadLikeCount"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_retention_deletes_stays_in_the_badge_until_it_is_read() {
    let mut server = Server::start(&["--inbox-retention", "1day"]);
    let owner = Owner::new(&server, "flo is away").await;
    let service = server.client_as(Role::Service, "a patient postman");
    let fan = server.client("a fan of flo");
    fan.like(&owner.note).await;
    let message = json!({ "senderId": user(owner.stores.new_user().await), "recipientId": owner.id });
    service.act("recordMessage", message, "recipient { id }").await;
    assert_eq!(owner.entries().await.len(), 2);
    let old = "UPDATE inbox_entry SET created_at = now() - interval '25 hours' WHERE kind = 1";
    sqlx::query(old).execute(&owner.stores.sql().await).await.unwrap();
    server.stop();
    server.start_again();
    let owner = Owner { client: server.client("flo is away"), ..owner };
    eventually("the old entry is deleted", SOON, || async {
        let rows = "SELECT count(*) FROM inbox_entry WHERE recipient_id = $1";
        (owner.stores.number(rows, number(&owner.id)).await == 1).then_some(())
    })
    .await;
    let inbox = owner.inbox().await;
    assert_eq!((&inbox["unreadLikeCount"], &inbox["unreadMessageCount"]), (&json!(1), &json!(1)));
    assert_eq!(drift(&server), [] as [String; 0]);
    // The like is not told again, and undoing it does not lower the badge.
    let fan = server.client("a fan of flo");
    for _ in 0..2 {
        fan.unlike(&owner.note).await;
        owner.stores.rest().await;
        fan.like(&owner.note).await;
        let inbox = owner.inbox().await;
        assert_eq!(inbox["unreadLikeCount"], 1);
        assert_eq!(inbox["entries"]["nodes"].as_array().unwrap().len(), 1);
    }
    // A new like makes a new entry.
    server.client("another fan of flo").like(&owner.note).await;
    let inbox = owner.inbox().await;
    assert_eq!(inbox["unreadLikeCount"], 2);
    assert_eq!(parts(&inbox["entries"]["nodes"][0]).2, 1);
    assert_eq!(drift(&server), [] as [String; 0]);
    assert!(owner.read(json!({ "badges": ["LIKES"] })).await);
    assert_eq!(owner.inbox().await["unreadLikeCount"], 0);
    assert_eq!(drift(&server), [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_user_leaves_the_inboxes_of_others_read_and_unread() {
    let server = Server::start(&[]);
    let owner = Owner::new(&server, "gwen knew him").await;
    let service = server.client_as(Role::Service, "a postman of gwen");
    let (gone, other) = (server.client("harry goes"), server.client("ian stays"));
    other.like(&owner.note).await;
    gone.like(&owner.note).await;
    let harry = user(owner.stores.user_of("harry goes").await);
    assert!({
        owner.stores.rest().await;
        owner.read(json!({ "badges": ["LIKES"] })).await
    });
    gone.act("follow", json!({ "userId": owner.id }), "changed").await;
    gone.act("addComment", json!({ "noteId": owner.note, "body": "Hello" }), "comment { id }").await;
    for sender in [&harry, &user(owner.stores.user_of("ian stays").await)] {
        let input = json!({ "senderId": sender, "recipientId": owner.id });
        for _ in 0..2 {
            service.act("recordMessage", input.clone(), "recipient { id }").await;
        }
    }
    eventually("all entries", SOON, || async {
        let inbox = owner.inbox().await;
        let unread =
            ["Like", "Follower", "Message", "Reply"].map(|of| inbox[format!("unread{of}Count")].clone());
        (unread == [json!(0), json!(1), json!(4), json!(1)]).then_some(())
    })
    .await;
    let moderator = server.client_as(Role::Moderator, "the eraser");
    moderator.act("eraseUser", json!({ "userId": harry, "confirmation": harry }), "changed").await;
    eventually("the inbox without him", SOON, || async {
        let inbox = owner.inbox().await;
        let unread =
            ["Like", "Follower", "Message", "Reply"].map(|of| inbox[format!("unread{of}Count")].clone());
        let entries: Vec<_> = inbox["entries"]["nodes"].as_array().unwrap().clone();
        let kinds: Vec<_> = entries.iter().map(|entry| (parts(entry).0.to_owned(), parts(entry).2)).collect();
        let left = [("MESSAGE_RECEIVED".to_owned(), 1), ("NOTE_LIKED".to_owned(), 1)];
        (unread == [json!(0), json!(0), json!(2), json!(0)] && kinds == left).then_some(())
    })
    .await;
    assert_eq!(drift(&server), [] as [String; 0]);
}
