//! Lists: keyset pages in order, current right after each change, without removed entities.

use std::collections::BTreeSet;

use async_graphql::parser::types::FieldDefinition;
use serde_json::{Value, json};
use sqlx::{Postgres, Transaction};

use crate::graphql::schema_types::{Types, named};
use support::{Client, SOON, Server, Stores, eventually, note, number, user};

/// Ids of a page, its end cursor, and whether a next page exists.
fn page(list: &Value) -> (Vec<String>, Value, bool) {
    let ids = list["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned());
    let info = &list["pageInfo"];
    (ids.collect(), info["endCursor"].clone(), info["hasNextPage"].as_bool().unwrap())
}

/// Reads all pages of the list `field` of `root`, with `first` items each. `root`: fields from the query on, as
/// `viewer > user`.
async fn all(client: &Client, root: &str, field: &str, first: usize) -> Vec<String> {
    let (mut read, mut after) = (Vec::new(), Value::Null);
    loop {
        let list = format!(
            "list: {field}(first: {first}, after: $after) {{ nodes {{ id }} pageInfo {{ hasNextPage endCursor }} }}"
        );
        let inside = root.split(" > ").collect::<Vec<_>>();
        let selected = inside.iter().rfold(list, |inner, field| format!("{field} {{ {inner} }}"));
        let query = format!("query ($after: String) {{ {selected} }}");
        let data = client.data(&query, json!({ "after": after })).await;
        let of = inside.iter().fold(&data, |data, field| &data[field.split('(').next().unwrap()]);
        let (ids, cursor, has_more) = page(&of["list"]);
        read.extend(ids);
        after = cursor;
        if !has_more {
            return read;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_the_viewer_are_exact_right_after_each_flip_also_before_it_is_persisted() {
    // Nothing is persisted for ten seconds after each batch begins.
    let server = Server::start(&["--batch-wait", "10s"]);
    let stores = server.stores();
    let mut notes = Vec::new();
    for _ in 0..4 {
        notes.push(note(stores.new_note().await));
    }
    let [a, b, c, d] = [0, 1, 2, 3].map(|i: usize| notes[i].as_str());
    let me = server.client("ann keeps lists");
    for (on, off, field) in
        [("likeNote", "unlikeNote", "likedNotes"), ("collectNote", "uncollectNote", "collectedNotes")]
    {
        let flip = |mutation, note: &str| {
            let input = json!({ "noteId": note });
            let me = &me;
            async move {
                assert_eq!(me.act(mutation, input, "changed").await["changed"], true);
            }
        };
        for id in [a, b, c] {
            flip(on, id).await;
        }
        assert_eq!(all(&me, "viewer", field, 20).await, [c, b, a]);
        flip(off, b).await;
        assert_eq!(all(&me, "viewer", field, 1).await, [c, a]);
        flip(on, d).await;
        flip(on, b).await;
        assert_eq!(all(&me, "viewer", field, 1).await, [b, d, c, a]);
        assert_eq!(all(&me, "viewer", field, 3).await, [b, d, c, a]);
    }
    stores.rest().await;
    for field in ["likedNotes", "collectedNotes"] {
        assert_eq!(all(&me, "viewer", field, 1).await, [b, d, c, a]);
        // An unliked or uncollected note leaves the list at once, although its row is still on.
        let off = if field == "likedNotes" { "unlikeNote" } else { "uncollectNote" };
        me.act(off, json!({ "noteId": d }), "changed").await;
        assert_eq!(all(&me, "viewer", field, 2).await, [b, c, a]);
    }
}

/// The lists of notes in the schema, as queries of one page for a user who wrote, likes and collects notes in a group.
fn lists_of_notes(user: &Value, group: &Value) -> Vec<(String, String)> {
    let types = Types::read();
    let lists = types.fields().filter(|(_, field)| types.implements(named(&field.ty.node), "NoteList"));
    let query = |(of, field): (&str, &FieldDefinition)| {
        let (name, page) = (&field.name.node, "(first: 100) { nodes { id } }");
        let within = match of {
            "Query" => format!("{{ {name}{page} }}"),
            "Viewer" => format!("{{ viewer {{ {name}{page} }} }}"),
            "User" => format!("{{ user(id: {user}) {{ {name}{page} }} }}"),
            "Group" => format!("{{ group(id: {group}) {{ {name}{page} }} }}"),
            _ => panic!("how to ask for {of}.{name}?"),
        };
        (name.to_string(), within)
    };
    // Those are not public.
    lists.map(query).filter(|(name, _)| name != "unpublishedNotes").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_note_disappears_from_every_list() {
    let server = Server::start(&[]);
    let (author, reader) = (server.client("bob removes from lists"), server.client("cyd reads lists"));
    let group =
        author.act("createGroup", json!({ "name": "All" }), "group { id }").await["group"]["id"].clone();
    let input = json!({ "title": "Listed", "body": "Listed", "groupId": group });
    let (mut ids, mut user) = (Vec::new(), Value::Null);
    for _ in 0..3 {
        let made = author.act("createNote", input.clone(), "note { id author { id } }").await["note"].clone();
        for mutation in ["likeNote", "collectNote"] {
            reader.act(mutation, json!({ "noteId": made["id"] }), "changed").await;
        }
        ids.push(made["id"].as_str().unwrap().to_owned());
        user = made["author"]["id"].clone();
    }
    reader.act("follow", json!({ "userId": user }), "changed").await;
    server.stores().rest().await;
    let lists = lists_of_notes(&user, &group);
    assert!(lists.len() >= 7, "{lists:?}");
    let must_list = async |expected: &[&String]| {
        for (name, query) in &lists {
            // Hot notes are some seconds old.
            eventually(&format!("{name} has {expected:?}"), SOON, || async {
                let data = reader.data(query, json!({})).await;
                let found = expected.iter().all(|id| data.to_string().contains(&format!("{id:?}")));
                let others = ids.iter().filter(|id| !expected.contains(id));
                let is_clean = others.into_iter().all(|id| !data.to_string().contains(&format!("{id:?}")));
                (found && is_clean).then_some(())
            })
            .await;
        }
    };
    must_list(&[&ids[0], &ids[1], &ids[2]]).await;
    author.act("deleteNote", json!({ "noteId": ids[1] }), "changed").await;
    must_list(&[&ids[0], &ids[2]]).await;
    // Pages are full where others follow: the removed one leaves no gap.
    let remaining = [ids[2].clone(), ids[0].clone()];
    assert_eq!(all(&reader, "viewer", "likedNotes", 1).await, remaining);
    assert_eq!(all(&author, "viewer > user", "notes", 1).await, remaining);
}

#[tokio::test]
async fn followers_followed_likers_and_members_are_listed_newest_first() {
    let server = Server::shared();
    let stores = server.stores();
    let me = server.client("dan is listed");
    let (n, group) = (note(stores.new_note().await), format!("group_{}", stores.new_group().await));
    let followed =
        [user(stores.new_user().await), user(stores.new_user().await), user(stores.new_user().await)];
    for id in &followed {
        me.follow(id).await;
    }
    let mut fans = Vec::new();
    for fan in ["fan a", "fan b", "fan c"] {
        let fan = server.client(fan);
        fans.push(fan.follow(&followed[0]).await["viewer"]["user"]["id"].as_str().unwrap().to_owned());
        fan.like(&n).await;
        fan.act("joinGroup", json!({ "groupId": group }), "changed").await;
    }
    stores.rest().await;
    fans.reverse();
    let mine = user(stores.user_of("dan is listed").await);
    let newest_first: Vec<String> = followed.iter().rev().cloned().collect();
    for first in [1, 2, 20] {
        assert_eq!(all(&me, &format!("user(id: \"{mine}\")"), "following", first).await, newest_first);
        let followers = [&fans[..], std::slice::from_ref(&mine)].concat();
        let root = format!("user(id: \"{}\")", followed[0]);
        assert_eq!(all(&me, &root, "followers", first).await, followers);
        assert_eq!(all(&me, &format!("note(id: \"{n}\")"), "likers", first).await, fans);
        assert_eq!(all(&me, &format!("group(id: \"{group}\")"), "members", first).await, fans);
    }
    // The list of followed users is exact right after a change, also before it is persisted.
    me.unfollow(&followed[2]).await;
    me.follow(&followed[2]).await;
    me.unfollow(&followed[1]).await;
    assert_eq!(all(&me, "viewer > user", "following", 1).await, [followed[2].as_str(), &followed[0]]);
}

#[tokio::test]
async fn the_feed_of_followed_users_is_newest_first_and_current_at_once() {
    let server = Server::shared();
    let me = server.client("eve follows some");
    let authors = ["author a", "author b", "author c"].map(|author| server.client(author));
    let post = |author: usize| {
        let author = &authors[author];
        async move {
            let input = json!({ "title": "For followers", "body": "Text" });
            let note = author.act("createNote", input, "note { id author { id } }").await["note"].clone();
            let id = note["id"].as_str().unwrap().to_owned();
            (id, note["author"]["id"].as_str().unwrap().to_owned())
        }
    };
    let feed = |first: usize| {
        let me = &me;
        async move {
            let (mut read, mut after) = (Vec::new(), Value::Null);
            loop {
                let query =
                    "query ($first: Int, $after: String) { followingFeed(first: $first, after: $after) {
                    nodes { id } pageInfo { hasNextPage endCursor } } }";
                let data = me.data(query, json!({ "first": first, "after": after })).await;
                let (ids, cursor, has_more) = page(&data["followingFeed"]);
                read.extend(ids);
                after = cursor;
                if !has_more {
                    return read;
                }
            }
        }
    };
    assert_eq!(feed(5).await, Vec::<String>::new());
    let (mut ids, mut author_ids) = (Vec::new(), BTreeSet::new());
    for author in [0, 1, 2, 0, 0, 2, 1, 0] {
        let (id, author_id) = post(author).await;
        ids.push((id, author));
        author_ids.insert((author, author_id));
    }
    let notes_of = |wanted: &[usize]| -> Vec<String> {
        ids.iter().rev().filter(|(_, author)| wanted.contains(author)).map(|(id, _)| id.clone()).collect()
    };
    let author_id = |author: usize| author_ids.iter().find(|(index, _)| *index == author).unwrap().1.clone();
    me.follow(&author_id(0)).await;
    me.follow(&author_id(2)).await;
    for first in [1, 2, 3, 20] {
        assert_eq!(feed(first).await, notes_of(&[0, 2]), "{first} at a time");
    }
    me.unfollow(&author_id(0)).await;
    me.follow(&author_id(1)).await;
    assert_eq!(feed(2).await, notes_of(&[1, 2]));
    let error = server.anonymous().error("{ followingFeed { nodes { id } } }", json!({})).await;
    assert_eq!(error["extensions"]["code"], "UNAUTHENTICATED");
}

#[tokio::test]
async fn notes_of_a_group_and_of_a_user_are_paged_while_more_arrive() {
    let server = Server::shared();
    let author = server.client("fay writes a lot");
    let group =
        author.act("createGroup", json!({ "name": "Fay's" }), "group { id }").await["group"]["id"].clone();
    let post = || async {
        let input = json!({ "title": "One more", "body": "Text", "groupId": group });
        author.act("createNote", input, "note { id }").await["note"]["id"].as_str().unwrap().to_owned()
    };
    let mut ids = Vec::new();
    for _ in 0..7 {
        ids.push(post().await);
    }
    ids.reverse();
    let own = author.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    for root in [format!("user(id: {own})"), format!("group(id: {group})")] {
        let (mut read, mut after) = (Vec::new(), Value::Null);
        let name = root.split('(').next().unwrap();
        loop {
            let query = format!(
                "query ($after: String) {{ {root} {{ notes(first: 2, after: $after) {{
                     nodes {{ id }} pageInfo {{ hasNextPage endCursor }} }} }} }}"
            );
            let data = author.data(&query, json!({ "after": after })).await;
            let (page_ids, cursor, has_more) = page(&data[name]["notes"]);
            read.extend(page_ids);
            after = cursor;
            if !has_more {
                break;
            }
            post().await;
        }
        let old: Vec<String> = read.into_iter().filter(|id| ids.contains(id)).collect();
        assert_eq!(old, ids);
    }
    assert!(number(&json!(ids[0])) > number(&json!(ids[6])));
}

#[tokio::test]
async fn a_cursor_of_one_list_is_refused_by_another() {
    let server = Server::shared();
    let stores = server.stores();
    let me = server.client("gus mixes cursors");
    me.like(&note(stores.new_note().await)).await;
    let liked = me.data("{ viewer { likedNotes { pageInfo { endCursor } } } }", json!({})).await;
    let cursor = &liked["viewer"]["likedNotes"]["pageInfo"]["endCursor"];
    assert!(cursor.is_string());
    for list in [
        "feed(after: $c) { nodes { id } }",
        "followingFeed(after: $c) { nodes { id } }",
        "hotNotes(after: $c) { nodes { id } }",
        "viewer { user { notes(after: $c) { nodes { id } } } }",
        "viewer { user { following(after: $c) { nodes { id } } } }",
        "viewer { user { followers(after: $c) { nodes { id } } } }",
        "viewer { collectedNotes(after: $c) { nodes { id } } }",
        "viewer { inbox { entries(after: $c) { nodes { id } } } }",
    ] {
        let error = me.error(&format!("query ($c: String) {{ {list} }}"), json!({ "c": cursor })).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{list}");
        assert_eq!(error["extensions"]["argument"], "after", "{list}");
    }
}

/// Ids of the notes the viewer likes, and the page info.
async fn liked(client: &Client, first: i32) -> (Vec<String>, Value) {
    let query = "query ($first: Int) { viewer { likedNotes(first: $first) {
        nodes { id } pageInfo { hasNextPage endCursor } } } }";
    let page = client.data(query, json!({ "first": first })).await["viewer"]["likedNotes"].clone();
    let ids = page["nodes"].as_array().unwrap().iter().map(|note| note["id"].as_str().unwrap().to_owned());
    (ids.collect(), page["pageInfo"].clone())
}

/// Blocks the persister with the lock that removals take, until the transaction is dropped.
async fn block_persister(stores: &Stores) -> Transaction<'static, Postgres> {
    let mut tx = stores.sql().await.begin().await.unwrap();
    let lock = "SELECT pg_advisory_xact_lock(hashtext('public'), x'506c6175'::int)";
    sqlx::query(lock).execute(&mut *tx).await.unwrap();
    tx
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_only_removed_notes_is_filled_from_the_next_page() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let reader = server.client("oda likes");
    let (kept, removed) = (stores.new_note().await, stores.new_note().await);
    reader.like(&note(kept)).await;
    stores.rest().await;
    let lock = block_persister(&stores).await;
    reader.like(&note(removed)).await;
    for text in [
        "UPDATE note SET removed_at = now() WHERE id = $1",
        "INSERT INTO invalidation (shard, names, reason) VALUES ($1::bigint % 2, 'note_' || $1, 'a test')",
    ] {
        sqlx::query(text).bind(removed).execute(&stores.sql().await).await.unwrap();
    }
    eventually("the note is removed", SOON, || async {
        let data =
            reader.data("query ($n: ID!) { note(id: $n) { id } }", json!({ "n": note(removed) })).await;
        data["note"].is_null().then_some(())
    })
    .await;
    let (ids, info) = liked(&reader, 1).await;
    assert_eq!((ids, &info["hasNextPage"]), (vec![note(kept)], &json!(false)));
    assert!(info["endCursor"].is_string(), "{info}");
    drop(lock);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_is_liked_again_is_first_before_and_after_the_like_is_persisted() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let reader = server.client("mia likes again");
    let (again, once) = (note(stores.new_note().await), note(stores.new_note().await));
    for n in [&again, &once] {
        reader.like(n).await;
    }
    stores.rest().await;
    assert_eq!(liked(&reader, 10).await.0, [once.clone(), again.clone()]);
    let lock = block_persister(&stores).await;
    // One batch waits already, so the next two events are in one batch.
    reader.like(&note(stores.new_note().await)).await;
    let sql = stores.sql().await;
    eventually("the batch waits", SOON, || async {
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&sql).await.unwrap();
        (waiting > 0).then_some(())
    })
    .await;
    reader.unlike(&again).await;
    reader.like(&again).await;
    let before = liked(&reader, 10).await.0;
    assert_eq!((before.len(), &before[0]), (3, &again));
    drop(lock);
    stores.rest().await;
    assert_eq!(liked(&reader, 10).await.0, before);
}
