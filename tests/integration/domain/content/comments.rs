//! Comments, replies and ratings: threads, counts, placeholders, idempotency keys and validation.

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, SOON, Server, eventually, note, number, user};

/// Writes a comment and waits until it is approved; returns its id.
async fn write_comment(client: &Client, note: &str, parent: Option<&str>, body: &str) -> String {
    let input = json!({ "noteId": note, "replyToId": parent, "body": body });
    let id = client.act("addComment", input, "comment { id }").await["comment"]["id"].clone();
    until_approved(client, id.as_str().unwrap()).await;
    id.as_str().unwrap().to_owned()
}

async fn until_approved(client: &Client, comment: &str) {
    eventually("the comment is approved", SOON, || async {
        (field(client, comment, "state").await == "APPROVED").then_some(())
    })
    .await;
}

async fn field(client: &Client, comment: &str, field: &str) -> Value {
    let query = format!("query ($id: ID!) {{ node(id: $id) {{ ... on Comment {{ {field} }} }} }}");
    let node = client.data(&query, json!({ "id": comment })).await["node"].clone();
    let name = field.split([' ', '{', '(']).next().unwrap();
    node[name].clone()
}

/// All comment ids of the thread of a note or a comment, read page by page.
async fn thread(client: &Client, parent: &str, sort: &str, first: usize) -> Vec<String> {
    let (kind, list) = if parent.starts_with("note") { ("Note", "comments") } else { ("Comment", "replies") };
    let query = format!(
        "query ($id: ID!, $first: Int, $after: String) {{ node(id: $id) {{ ... on {kind} {{
             list: {list}(orderBy: {sort}, first: $first, after: $after) {{
                 nodes {{ id }} pageInfo {{ hasNextPage endCursor }} }} }} }} }}"
    );
    let (mut thread, mut after) = (Vec::new(), Value::Null);
    loop {
        let variables = json!({ "id": parent, "first": first, "after": after });
        let list = client.data(&query, variables).await["node"]["list"].clone();
        let nodes = list["nodes"].as_array().unwrap().iter();
        thread.extend(nodes.map(|node| node["id"].as_str().unwrap().to_owned()));
        after = list["pageInfo"]["endCursor"].clone();
        if list["pageInfo"]["hasNextPage"] == false {
            return thread;
        }
    }
}

/// Comment counts of the note and of the author, and the reply count of a comment.
async fn counts(server: &Server, note: &str, author: &str, comment: &str) -> (i64, i64, i64) {
    let query =
        "query ($n: ID!, $u: ID!, $c: ID!) { note(id: $n) { commentCount } user(id: $u) { commentCount }
        node(id: $c) { ... on Comment { replyCount } } }";
    let data = server.anonymous().data(query, json!({ "n": note, "u": author, "c": comment })).await;
    let count = |path: &str| data.pointer(path).and_then(Value::as_i64).unwrap_or(-1);
    (count("/note/commentCount"), count("/user/commentCount"), count("/node/replyCount"))
}

#[tokio::test]
async fn threads_have_two_levels_and_a_nested_reply_names_the_comment_it_answers() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let (ann, bob) = (server.client("ann talks"), server.client("bob talks"));
    let top = write_comment(&ann, &n, None, "First").await;
    let reply = write_comment(&bob, &n, Some(&top), "To the first").await;
    let nested = write_comment(&ann, &n, Some(&reply), "To the reply").await;

    assert_eq!(thread(&ann, &n, "HOT", 10).await, [top.as_str()]);
    assert_eq!(thread(&ann, &top, "NEWEST", 10).await, [nested.as_str(), &reply]);
    assert_eq!(thread(&ann, &reply, "HOT", 10).await, Vec::<String>::new());
    assert_eq!(field(&ann, &reply, "replyTo { id }").await, json!({ "id": top }));
    let answered = field(&ann, &nested, "replyTo { id author { name } }").await;
    assert_eq!(answered["id"], reply);
    assert_eq!(field(&ann, &nested, "parent { id }").await, json!({ "id": top }));
    let me = user(server.stores().user_of("ann talks").await);
    assert_eq!(counts(server, &n, &me, &top).await, (3, 2, 2));
}

#[tokio::test]
async fn a_comment_with_an_old_time_is_at_its_place_among_the_newest() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let ann = server.client("ann writes of old times");
    let mut written = Vec::new();
    for body in ["Now", "Old", "Same time", "Also the same time"] {
        written.push(write_comment(&ann, &n, None, body).await);
    }
    let sql = server.stores().sql().await;
    for (comment, at) in
        written[1..].iter().zip(["2019-03-01 12:00:00.000002Z", "2019-03-01Z", "2019-03-01Z"])
    {
        let update = sqlx::query("UPDATE comment_index SET created_at = $2::text::timestamptz WHERE id = $1");
        let id: i64 = comment.trim_start_matches("comment_").parse().unwrap();
        assert_eq!(update.bind(id).bind(at).execute(&sql).await.unwrap().rows_affected(), 1);
    }
    let by_age = [0, 1, 3, 2].map(|index| written[index].clone());
    for first in [1, 2, 10] {
        assert_eq!(thread(&ann, &n, "NEWEST", first).await, by_age, "{first} on a page");
    }
}

#[tokio::test]
async fn a_comment_has_images_and_mentions_and_the_same_key_writes_it_once() {
    let server = Server::shared();
    let stores = server.stores();
    let (n, friend) = (note(stores.new_note().await), user(stores.new_user().await));
    let client = server.client("cyd shows pictures");
    let input = json!({
        "noteId": n, "body": "  Look \n", "images": ["https://Images.example/a b.png"],
        "mentions": [friend, friend], "idempotencyKey": "comment 1",
    });
    let fields = "comment { id body images mentions { id } author { name } note { id } }";
    let first = client.act("addComment", input.clone(), fields).await;
    assert_eq!(first["comment"]["body"], "Look");
    assert_eq!(first["comment"]["images"], json!(["https://images.example/a%20b.png"]));
    assert_eq!(first["comment"]["mentions"], json!([{ "id": friend }]));
    assert_eq!(client.act("addComment", input, fields).await, first);
    until_approved(&client, first["comment"]["id"].as_str().unwrap()).await;
    assert_eq!(thread(&client, &n, "NEWEST", 10).await.len(), 1);
}

#[tokio::test]
async fn a_removed_comment_leaves_a_placeholder_while_it_has_replies() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let (ann, bob) = (server.client("dan removes comments"), server.client("eve replies to dan"));
    let top = write_comment(&ann, &n, None, "To be removed").await;
    let reply = write_comment(&bob, &n, Some(&top), "A reply").await;
    let me = user(server.stores().user_of("dan removes comments").await);
    assert_eq!(counts(server, &n, &me, &top).await, (2, 1, 1));

    assert_eq!(bob.refused("deleteComment", json!({ "commentId": top })).await.0, "FORBIDDEN");
    for changed in [true, false] {
        let payload = ann.act(
            "deleteComment",
            json!({ "commentId": top }),
            "changed deletedCommentId note { commentCount }",
        );
        let expected = json!({ "changed": changed, "deletedCommentId": top, "note": { "commentCount": 1 } });
        assert_eq!(payload.await, expected);
    }
    assert_eq!(thread(&bob, &n, "HOT", 10).await, [top.as_str()]);
    let query =
        "query ($id: ID!) { node(id: $id) { ... on Comment { isRemoved body author { id } replyCount } } }";
    let placeholder = bob.data(query, json!({ "id": top })).await["node"].clone();
    assert_eq!(placeholder, json!({ "isRemoved": true, "body": "", "author": null, "replyCount": 1 }));
    for (mutation, input) in [
        ("likeComment", json!({ "commentId": top })),
        ("addComment", json!({ "noteId": n, "replyToId": top, "body": "Too late" })),
    ] {
        assert_eq!(bob.refused(mutation, input).await.0, "NOT_FOUND", "{mutation}");
    }
    // The placeholder stays while it has a reply, and disappears with the last one.
    let nested = write_comment(&ann, &n, Some(&reply), "Another reply").await;
    bob.act("deleteComment", json!({ "commentId": reply }), "changed").await;
    assert_eq!(thread(&bob, &n, "NEWEST", 10).await, [top.as_str()]);
    assert_eq!(thread(&bob, &top, "NEWEST", 10).await, [nested.as_str()]);
    ann.act("deleteComment", json!({ "commentId": nested }), "changed").await;
    assert_eq!(thread(&bob, &n, "HOT", 10).await, Vec::<String>::new());
    assert_eq!(bob.data(query, json!({ "id": top })).await["node"], Value::Null);
    assert_eq!(counts(server, &n, &me, &top).await, (0, 0, -1));
    let moderator = server.client_as(Role::Moderator, "a moderator of comments");
    let any = write_comment(&ann, &n, None, "Any").await;
    let removed = moderator.act("deleteComment", json!({ "commentId": any }), "changed").await;
    assert_eq!(removed["changed"], true);
}

#[tokio::test]
async fn threads_are_hottest_or_newest_first_and_paged_without_gaps_while_likes_arrive() {
    let server = Server::shared();
    let stores = server.stores();
    let n = note(stores.new_note().await);
    let author = server.client("fay writes threads");
    let mut ids = Vec::new();
    for i in 0..7 {
        ids.push(write_comment(&author, &n, None, &format!("Comment {i}")).await);
    }
    for fan in 0..3 {
        server
            .client(&format!("fan {fan} of fay"))
            .act("likeComment", json!({ "commentId": ids[1] }), "changed")
            .await;
    }
    server.client("fan 0 of fay").act("likeComment", json!({ "commentId": ids[4] }), "changed").await;
    server.client("fan 1 of fay").act("likeComment", json!({ "commentId": ids[4] }), "changed").await;
    stores.rest().await;
    let newest: Vec<String> = ids.iter().rev().cloned().collect();
    let hottest: Vec<String> = [1, 4, 6, 5, 3, 2, 0].iter().map(|i: &usize| ids[*i].clone()).collect();
    for first in [1, 3, 10] {
        assert_eq!(thread(&author, &n, "NEWEST", first).await, newest);
        assert_eq!(thread(&author, &n, "HOT", first).await, hottest);
    }

    // A comment rises while a reader pages; every other comment is read exactly once.
    let storm = async {
        for fan in 3..23 {
            let fan = server.client(&format!("fan {fan} of fay"));
            fan.act("likeComment", json!({ "commentId": ids[0] }), "changed").await;
        }
    };
    let reading = async {
        let mut all = Vec::new();
        for _ in 0..10 {
            all.push(thread(&author, &n, "HOT", 2).await);
        }
        all
    };
    let ((), readings) = tokio::join!(storm, reading);
    let untouched: Vec<String> = hottest.iter().filter(|id| **id != ids[0]).cloned().collect();
    for reading in readings {
        let others: Vec<String> = reading.into_iter().filter(|id| *id != ids[0]).collect();
        assert_eq!(others, untouched);
    }
    stores.rest().await;
    assert_eq!(thread(&author, &n, "HOT", 10).await[0], ids[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_comments_with_replies_costs_the_same_at_any_size() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (n, id) = {
        let id = stores.new_note().await;
        (note(id), id)
    };
    let reader = server.client("a reader of threads");
    reader.act("likeNote", json!({ "noteId": n }), "changed").await;
    for _ in 0..12 {
        let top = stores.new_comment(id).await;
        let reply = "WITH i AS (INSERT INTO comment_index (note_id, author_id, parent_id, state)
                         SELECT note_id, author_id, id, 'approved' FROM comment_index, generate_series(1, 3)
                         WHERE id = $1 RETURNING id)
                     INSERT INTO comment_body (id, body) SELECT id, 'A reply' FROM i";
        sqlx::query(reply).bind(top).execute(&stores.sql().await).await.unwrap();
    }
    stores.rest().await;
    let query = "query ($n: ID!, $first: Int) { note(id: $n) { comments(first: $first) { nodes {
        body likeCount replyCount viewerHasLiked author { name followerCount }
        replies(first: 2) { nodes { body likeCount viewerHasLiked author { name } } } } } } }";
    let mut costs = Vec::new();
    for first in [1, 5, 12] {
        let variables = json!({ "n": n, "first": first });
        let cold = reader.send(query, variables.clone()).await;
        assert!(cold.body.get("errors").is_none(), "{}", cold.body);
        let warm = reader.send(query, variables).await;
        let nodes = warm.body["data"]["note"]["comments"]["nodes"].as_array().unwrap();
        assert_eq!((nodes.len(), nodes[0]["replies"]["nodes"].as_array().unwrap().len()), (first, 2));
        costs.push((warm.redis_round_trips, warm.sql_statements));
    }
    // One round trip each for the viewer's state of comments and of replies; one statement for each level.
    assert_eq!(costs, [(2, 2); 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_comments_are_read_only_if_they_are_asked_for_and_once() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let mut notes = Vec::new();
    for _ in 0..2 {
        let id = stores.new_note().await;
        for _ in 0..12 {
            stores.new_comment(id).await;
        }
        notes.push(note(id));
    }
    stores.rest().await;
    let reader = server.anonymous();
    let statements = async |n: &str, fields: &str| {
        let query =
            format!("query ($n: ID!) {{ note(id: $n) {{ id comments {{ nodes {{ {fields} }} }} }} }}");
        let read = reader.send(&query, json!({ "n": n })).await;
        let nodes = read.body["data"]["note"]["comments"]["nodes"].as_array().map(Vec::len);
        assert_eq!(nodes, Some(12), "{}", read.body);
        read.sql_statements
    };
    let (other, new) = (notes[0].as_str(), notes[1].as_str());
    // A document that is new to the server has no plan yet, and reads rows.
    for fields in ["id", "id body"] {
        statements(other, fields).await;
    }
    reader.data("query ($n: ID!) { note(id: $n) { title } }", json!({ "n": new })).await;
    assert_eq!(statements(new, "id").await, 1, "the list");
    assert_eq!(statements(new, "id body").await, 2, "the list and its texts");
    assert_eq!(statements(new, "id body").await, 1, "the list");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_one_changeable_rating_per_note_and_concurrent_ratings_are_counted_exactly() {
    let server = Server::shared();
    let stores = server.stores();
    let n = note(stores.new_note().await);
    let fields = "changed note { ratingCount ratingAverage viewerRating }";
    let ann = server.client("ann rates");
    for (score, changed, average) in [(8, true, 8.0), (8, false, 8.0), (5, true, 5.0), (0, true, 0.0)] {
        let payload = ann.act("rateNote", json!({ "noteId": n, "score": score }), fields).await;
        let rated = json!({ "ratingCount": 1, "ratingAverage": average, "viewerRating": score });
        assert_eq!(payload, json!({ "changed": changed, "note": rated }));
    }
    let race = join_all((0..64).flat_map(|i| [i, i]).enumerate().map(|(i, rater)| {
        let (client, n) = (server.client(&format!("rater {rater}")), n.clone());
        async move { client.act("rateNote", json!({ "noteId": n, "score": i % 11 }), "changed").await }
    }));
    race.await;
    let sum = "SELECT sum(score) FROM note_rating WHERE note_id = $1";
    let sum = stores.number(sum, number(&json!(n))).await;
    let query = "query ($n: ID!) { note(id: $n) { ratingCount ratingAverage } }";
    let rated = server.anonymous().data(query, json!({ "n": n })).await["note"].clone();
    assert_eq!(rated, json!({ "ratingCount": 65, "ratingAverage": sum as f64 / 65.0 }));
    let total = "SELECT ratings * 100000 + rating_sum FROM note_counts WHERE id = $1";
    assert_eq!(stores.number(total, number(&json!(n))).await, 6_500_000 + sum);
    let rated = json!({ "ratingCount": 64, "ratingAverage": sum as f64 / 64.0, "viewerRating": null });
    for changed in [true, false] {
        let payload = ann.act("unrateNote", json!({ "noteId": n }), fields).await;
        assert_eq!(payload, json!({ "changed": changed, "note": rated }), "ann gave 0 points");
    }
    let race = join_all((0..64).flat_map(|i| [i, i]).enumerate().map(|(i, rater)| {
        let (client, n) = (server.client(&format!("rater {rater}")), n.clone());
        async move {
            match i % 2 {
                0 => client.act("unrateNote", json!({ "noteId": n }), "changed").await,
                _ => client.act("rateNote", json!({ "noteId": n, "score": 3 }), "changed").await,
            }
        }
    }));
    race.await;
    let rows =
        "SELECT count(*) * 100000 + coalesce(sum(score), 0)::bigint FROM note_rating WHERE note_id = $1";
    assert_eq!(stores.number(total, number(&json!(n))).await, stores.number(rows, number(&json!(n))).await);
    for bad in [-1, 11] {
        let refusal = ann.refused("rateNote", json!({ "noteId": n, "score": bad })).await;
        assert_eq!(refusal, ("BAD_USER_INPUT".into(), Some("score".into())));
    }
}

#[tokio::test]
async fn a_comment_keeps_the_rating_that_its_author_had_given_before_writing_it() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let client = server.client("gus rates and writes");
    let before = write_comment(&client, &n, None, "Not rated yet").await;
    client.act("rateNote", json!({ "noteId": n, "score": 9 }), "changed").await;
    let rated = write_comment(&client, &n, None, "Great").await;
    client.act("rateNote", json!({ "noteId": n, "score": 2 }), "changed").await;
    assert_eq!(field(&client, &before, "ratingAtWriting").await, Value::Null);
    assert_eq!(field(&client, &rated, "ratingAtWriting").await, 9);
}

#[tokio::test]
async fn invalid_comments_are_rejected_and_the_argument_is_named() {
    let server = Server::shared();
    let stores = server.stores();
    let (n, other) = (note(stores.new_note().await), note(stores.new_note().await));
    let client = server.client("hal errs in comments");
    let elsewhere = write_comment(&client, &other, None, "On another note").await;
    let images =
        |image: &str, count: usize| json!({ "noteId": n, "body": "x", "images": vec![image; count] });
    for (input, argument) in [
        (json!({ "noteId": "x", "body": "x" }), "noteId"),
        (json!({ "noteId": n, "body": "" }), "body"),
        (json!({ "noteId": n, "body": "x".repeat(1_025) }), "body"),
        (json!({ "noteId": n, "body": "nul\u{0}" }), "body"),
        (images("https://a.example/x.png", 10), "images"),
        (images("http://a.example/x.png", 1), "images"),
        (images("javascript:alert(1)", 1), "images"),
        (json!({ "noteId": n, "body": "x", "mentions": ["note_1"] }), "mentions"),
        (json!({ "noteId": n, "body": "x", "mentions": (1..12).map(user).collect::<Vec<_>>() }), "mentions"),
        (json!({ "noteId": n, "replyToId": "note_1", "body": "x" }), "replyToId"),
        (json!({ "noteId": n, "replyToId": elsewhere, "body": "x" }), "replyToId"),
    ] {
        let refusal = client.refused("addComment", input.clone()).await;
        assert_eq!(refusal, ("BAD_USER_INPUT".into(), Some(argument.into())), "{input}");
    }
    for input in [
        json!({ "noteId": "note_9000000000", "body": "x" }),
        json!({ "noteId": n, "replyToId": "comment_9000000000", "body": "x" }),
        json!({ "noteId": n, "body": "x", "mentions": ["user_9000000000"] }),
    ] {
        assert_eq!(client.refused("addComment", input).await.0, "NOT_FOUND");
    }
    assert_eq!(thread(&client, &n, "NEWEST", 10).await, Vec::<String>::new());
}
