//! Costs of typical pages: round trips to Redis and SQL statements, as reported by `Server-Timing`.

use serde_json::{Value, json};
use support::{Client, Server, note, user};

const NOTE_PAGE: &str = "query ($n: ID!) { note(id: $n) {
    title body likeCount collectCount commentCount viewCount viewerHasLiked viewerHasCollected
    author { name followerCount viewerIsFollowing } group { name memberCount viewerIsMember }
    comments(first: 10) { nodes { body likeCount replyCount viewerHasLiked author { name } } } } }";
const PROFILE: &str = "query ($u: ID!) { user(id: $u) {
    name followerCount followingCount noteCount commentCount likesReceivedCount collectsReceivedCount
    groupCount coinCount viewerIsFollowing
    notes(first: 20) { nodes { title likeCount collectCount viewerHasLiked viewerHasCollected } } } }";
const INBOX: &str = "query { viewer { inbox {
    unreadReplyCount unreadLikeCount unreadFollowerCount unreadMessageCount
    entries(first: 20) { nodes { kind isRead actorCount actors { name followerCount viewerIsFollowing } createdAt } } } } }";

/// Sends a query twice; returns round trips and statements of the second time, when caches are warm.
async fn warm_cost(client: &Client, query: &str, variables: Value) -> (u32, u32) {
    let first = client.send(query, variables.clone()).await;
    assert!(first.body.get("errors").is_none(), "{}", first.body);
    let warm = client.send(query, variables).await;
    assert_eq!(warm.body, first.body);
    (warm.redis_round_trips, warm.sql_statements)
}

/// A note in a group with comments, and its author, who has an inbox.
async fn app(server: &Server, notes: usize) -> (String, String) {
    let stores = server.stores();
    let author = server.client("the author");
    let group =
        author.act("createGroup", json!({ "name": "Readers" }), "group { id }").await["group"]["id"].clone();
    let mut first = Value::Null;
    for i in 0..notes {
        let input = json!({ "title": format!("Note {i}"), "body": "Text", "groupId": group });
        let created = author.act("createNote", input, "note { id author { id } }").await["note"].clone();
        for fan in 0..3 {
            let fan = server.client(&format!("fan {fan}"));
            fan.act("likeNote", json!({ "noteId": created["id"] }), "changed").await;
            fan.act("follow", json!({ "userId": created["author"]["id"] }), "changed").await;
        }
        first = created;
    }
    let n = support::number(&first["id"]);
    for _ in 0..10 {
        stores.new_comment(n).await;
    }
    stores.rest().await;
    (note(n), user(support::number(&first["author"]["id"])))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_page_a_profile_and_an_inbox_cost_the_same_at_any_size() {
    let server = Server::start(&[]);
    let (n, author) = app(&server, 25).await;
    let reader = server.client("a reader");
    reader.act("follow", json!({ "userId": author }), "changed").await;
    server.stores().rest().await;
    // The viewer's state of the note, its author and group is one round trip, that of the comments another one.
    // The comments are the only statement.
    assert_eq!(warm_cost(&reader, NOTE_PAGE, json!({ "n": n })).await, (2, 1));
    assert_eq!(warm_cost(&reader, NOTE_PAGE, json!({ "n": n })).await, (2, 1));
    // The viewer's state of the user, and of the notes. The notes are the only statement.
    assert_eq!(warm_cost(&reader, PROFILE, json!({ "u": author })).await, (2, 1));
    // The viewer's state of the actors. The entries are a statement, and the actors of all of them another one.
    assert_eq!(warm_cost(&server.client("the author"), INBOX, json!({})).await, (1, 2));
    // Without a token nothing is read from Redis.
    assert_eq!(warm_cost(&server.anonymous(), NOTE_PAGE, json!({ "n": n })).await, (0, 1));
    assert_eq!(warm_cost(&server.anonymous(), PROFILE, json!({ "u": author })).await, (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_cost_a_round_trip_for_the_pending_overlay_and_a_statement_for_rows_that_redis_does_not_keep() {
    let server = Server::start(&[]);
    app(&server, 25).await;
    let fan = server.client("fan 1");
    let liked =
        "{ viewer { likedNotes(first: 20) { nodes { title likeCount viewerHasLiked author { name } } } } }";
    assert_eq!(warm_cost(&fan, liked, json!({})).await, (2, 0));
    let feed = "{ followingFeed { nodes { title likeCount viewerHasLiked author { name } } } }";
    assert_eq!(warm_cost(&fan, feed, json!({})).await, (2, 2));
    let following = "{ viewer { user { following { nodes { name followerCount } } } } }";
    assert_eq!(warm_cost(&fan, following, json!({})).await, (1, 1));
    let hot = "{ hotNotes(orderBy: ALL) { nodes { title likeCount } } }";
    // The first request may have to load notes and counts. A ranking is read once a second; before the first one is
    // made, from PostgreSQL.
    server.anonymous().send(hot, json!({})).await;
    let warm = server.anonymous().send(hot, json!({})).await;
    assert!(warm.redis_round_trips <= 2 && warm.sql_statements <= 1, "{warm:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_the_apps_own_posts_by_key_costs_what_it_costs_by_id() {
    let server = Server::start(&["--federation"]);
    let service = server.client_as(plaudit_token_auth::Role::Service, "costs: the app");
    let (mut ids, mut keys) = (Vec::new(), Vec::new());
    for post in 0..20 {
        let key = format!("costs/{post}");
        let input = json!({ "title": "A post", "body": "Text", "key": key });
        ids.push(service.act("createNote", input, "note { id }").await["note"]["id"].clone());
        keys.push(key);
    }
    let reader = server.client("costs: a reader");
    reader.act("likeNote", json!({ "noteId": ids[0] }), "changed").await;
    server.stores().rest().await;
    let fields = "id likeCount commentCount viewerHasLiked countsVersion";
    let by_id = format!("query ($of: [ID!]!) {{ nodes(ids: $of) {{ ... on Note {{ {fields} }} }} }}");
    let by_key = format!("query ($of: [String!]!) {{ notesByKey(keys: $of) {{ {fields} }} }}");
    let named: Vec<String> = keys.iter().map(|key| format!("note:{key}")).collect();
    let cost = warm_cost(&reader, &by_id, json!({ "of": ids })).await;
    assert_eq!(warm_cost(&reader, &by_key, json!({ "of": keys })).await, cost);
    assert_eq!(warm_cost(&reader, &by_id, json!({ "of": named })).await, cost);
    let entities = format!(
        "query ($of: [_Any!]!) {{ _entities(representations: $of) {{ ... on Note {{ {fields} }} }} }}"
    );
    let represented: Vec<Value> =
        keys.iter().map(|key| json!({ "__typename": "Note", "key": key })).collect();
    assert_eq!(warm_cost(&reader, &entities, json!({ "of": represented })).await, cost);
    assert_eq!(cost.1, 0);
}
