//! The notes of an author and of a group by all-time heat.

use serde_json::{Value, json};
use support::{Client, SOON, Server, eventually};

/// The notes of the author and of the group in an order: ids of a page, and its last cursor.
async fn page(client: &Client, list: &str, order: &str, first: usize, after: &Value) -> (Vec<String>, Value) {
    let query = format!(
        "query ($first: Int, $after: String) {{ {list} {{ notes(orderBy: {order}, first: $first, after: $after) {{
             nodes {{ id title }} pageInfo {{ endCursor }} }} }} }}"
    );
    let data = client.data(&query, json!({ "first": first, "after": after })).await;
    let notes = data.as_object().unwrap().values().next().unwrap()["notes"].clone();
    let ids = notes["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned());
    (ids.collect(), notes["pageInfo"]["endCursor"].clone())
}

/// All notes, in pages of two.
async fn paged(client: &Client, list: &str) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), Value::Null);
    loop {
        let (ids, cursor) = page(client, list, "HOT", 2, &after).await;
        if ids.is_empty() {
            return all;
        }
        all.extend(ids);
        after = cursor;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_of_an_author_and_of_a_group_are_listed_by_their_heat_without_removed_ones() {
    let server = Server::shared();
    let (stores, author) = (server.stores(), server.client("the author of hot notes"));
    let group =
        author.act("createGroup", json!({ "name": "Hot" }), "group { id }").await["group"]["id"].clone();
    let mut notes = Vec::new();
    for in_group in [true, true, false, true, true] {
        let input = json!({ "title": "One", "body": "Text", "groupId": in_group.then_some(&group) });
        let created = author.act("createNote", input, "note { id author { id } }").await["note"].clone();
        notes.push(created);
    }
    let me = notes[0]["author"]["id"].as_str().unwrap().to_owned();
    let id = |note: usize| notes[note]["id"].as_str().unwrap().to_owned();
    // A like weighs 1, a collect 2.
    for (note, likes) in [(0, 1), (1, 7), (2, 3), (4, 9)] {
        for liker in 0..likes {
            server.client(&format!("a liker of hot notes {liker}")).like(&id(note)).await;
        }
    }
    let collected = json!({ "noteId": id(0) });
    author.act("collectNote", collected, "changed").await;
    stores.rest().await;
    author.act("deleteNote", json!({ "noteId": id(4) }), "changed").await;

    let reader = server.anonymous();
    let (of_author, of_group) = (format!("user(id: \"{me}\")"), format!("group(id: {group})"));
    // The third note has as much heat as the first one, and is newer.
    let (all, in_group) = ([1, 2, 0, 3].map(id), [1, 0, 3].map(id));
    for _ in 0..2 {
        eventually("the notes are in the order of their heat", SOON, || async {
            (paged(&reader, &of_author).await == all && paged(&reader, &of_group).await == in_group)
                .then_some(())
        })
        .await;
        assert_eq!(page(&reader, &of_author, "HOT", 20, &Value::Null).await.0, all);
        assert_eq!(page(&reader, &of_author, "NEWEST", 20, &Value::Null).await.0, [3, 2, 1, 0].map(id));
        assert_eq!(page(&reader, &of_group, "NEWEST", 20, &Value::Null).await.0, [3, 1, 0].map(id));
    }
    let default = reader.data(&format!("{{ {of_group} {{ notes {{ nodes {{ id }} }} }} }}"), json!({})).await;
    assert_eq!(default["group"]["notes"]["nodes"][0]["id"], id(3));

    // A like moves a note up.
    for liker in 0..9 {
        server.client(&format!("a liker of hot notes {liker}")).like(&id(3)).await;
    }
    stores.rest().await;
    assert_eq!(paged(&reader, &of_group).await, [3, 1, 0].map(id));
}

#[tokio::test]
async fn each_order_of_notes_refuses_the_cursors_of_the_other() {
    let server = Server::shared();
    let author = server.client("an author with cursors");
    let input = json!({ "title": "One", "body": "Text" });
    let note = author.act("createNote", input, "note { author { id } }").await["note"].clone();
    let list = format!("user(id: {})", note["author"]["id"]);
    for (order, other) in [("HOT", "NEWEST"), ("NEWEST", "HOT")] {
        let (_, cursor) = page(&author, &list, order, 1, &Value::Null).await;
        assert!(cursor.is_string());
        let query = format!(
            "query ($c: String) {{ {list} {{ notes(orderBy: {other}, after: $c) {{ nodes {{ id }} }} }} }}"
        );
        let error = author.error(&query, json!({ "c": cursor })).await;
        assert_eq!(error["extensions"]["argument"], "after", "{error}");
    }
}

/// A repaired row of totals is listed, too.
#[tokio::test(flavor = "multi_thread")]
async fn totals_that_reconciliation_creates_are_in_the_list() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let author = stores.number("SELECT author_id FROM note WHERE id = $1", id).await;
    sqlx::query("DELETE FROM note_counts WHERE id = $1").bind(id).execute(&stores.sql().await).await.unwrap();
    let list = format!("user(id: \"user_{author}\")");
    let reader = server.anonymous();
    assert!(page(&reader, &list, "HOT", 5, &Value::Null).await.0.is_empty());
    let note = format!("note_{id}");
    let repair = server.command().args(["reconcile", "--repair", "--entity", &note]).output().unwrap();
    assert!(repair.status.success());
    assert_eq!(page(&reader, &list, "HOT", 5, &Value::Null).await.0, [note]);
}
