//! The viewer: what only they see, before and after their first action; edges that say when; interfaces.

use chrono::{DateTime, Utc};
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, Server, note, user};

const VIEWER: &str = "{ viewer {
    user { id } inbox { id }
    likedNotes { nodes { id } pageInfo { hasNextPage endCursor } }
    likedComments { nodes { id body } } collectedNotes { nodes { id } }
    unpublishedComments { nodes { id state } } unpublishedNotes { nodes { id state } } coinEntries { nodes { id } } } }";

async fn viewer(client: &Client) -> Value {
    client.data(VIEWER, json!({})).await["viewer"].clone()
}

fn time(of: &Value) -> DateTime<Utc> {
    of.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_viewer_is_null_only_without_a_token_and_before_the_first_action_all_of_it_is_empty() {
    let server = Server::shared();
    assert_eq!(viewer(&server.anonymous()).await, Value::Null);
    let newcomer = server.client("ann has a viewer");
    let empty = json!({ "nodes": [] });
    let page = json!({ "nodes": [], "pageInfo": { "hasNextPage": false, "endCursor": null } });
    let expected = json!({
        "user": null, "inbox": null, "likedNotes": page, "likedComments": empty, "collectedNotes": empty,
        "unpublishedComments": empty, "unpublishedNotes": empty, "coinEntries": empty,
    });
    for _ in 0..2 {
        assert_eq!(viewer(&newcomer).await, expected);
    }
    newcomer.like(&note(server.stores().new_note().await)).await;
    let now = viewer(&newcomer).await;
    assert!(now["user"]["id"].is_string() && now["inbox"]["id"].is_string(), "{now}");
    assert_eq!(now["likedNotes"]["nodes"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn edges_say_when_the_same_before_and_after_they_are_persisted() {
    let server = Server::start(&["--batch-wait", "10s"]);
    let stores = server.stores();
    let (id, began) = (stores.new_note().await, Utc::now() - chrono::TimeDelta::milliseconds(1));
    let comment = format!("comment_{}", stores.new_comment(id).await);
    let group = format!("group_{}", stores.new_group().await);
    let (me, other) = (server.client("bob has edges"), user(stores.new_user().await));
    me.like(&note(id)).await;
    me.act("collectNote", json!({ "noteId": note(id) }), "changed").await;
    me.act("likeComment", json!({ "commentId": comment }), "changed").await;
    me.act("joinGroup", json!({ "groupId": group }), "changed").await;
    me.follow(&other).await;
    let own = "{ viewer {
        likedNotes { edges { likedAt node { id } } } collectedNotes { edges { collectedAt node { id } } }
        likedComments { edges { likedAt node { id } } }
        user { following { edges { followedAt node { id } } } groups { edges { joinedAt node { id } } } } } }";
    let before = me.data(own, json!({})).await["viewer"].clone();
    for (list, field, target) in [
        (&before["likedNotes"], "likedAt", &note(id)),
        (&before["collectedNotes"], "collectedAt", &note(id)),
        (&before["likedComments"], "likedAt", &comment),
        (&before["user"]["following"], "followedAt", &other),
        (&before["user"]["groups"], "joinedAt", &group),
    ] {
        let edge = &list["edges"][0];
        assert_eq!(edge["node"]["id"], **target, "{before}");
        assert!((began..=Utc::now()).contains(&time(&edge[field])), "{edge}");
    }
    stores.rest().await;
    assert_eq!(me.data(own, json!({})).await["viewer"], before);
    // Those at the other end see the same times.
    let theirs = "query ($n: ID!, $c: ID!, $u: ID!, $g: ID!) {
        note(id: $n) { likers { edges { likedAt node { name } } } }
        comment: node(id: $c) { ... on Likeable { likers { edges { likedAt } } } }
        user(id: $u) { followers { edges { followedAt } } }
        group(id: $g) { members { edges { joinedAt } } } }";
    let variables = json!({ "n": note(id), "c": comment, "u": other, "g": group });
    let theirs = server.anonymous().data(theirs, variables).await;
    let edge = |list: &Value, field: &str| list["edges"][0][field].clone();
    assert_eq!(edge(&theirs["note"]["likers"], "likedAt"), edge(&before["likedNotes"], "likedAt"));
    assert_eq!(edge(&theirs["comment"]["likers"], "likedAt"), edge(&before["likedComments"], "likedAt"));
    let (follow, join) = (&before["user"]["following"], &before["user"]["groups"]);
    assert_eq!(edge(&theirs["user"]["followers"], "followedAt"), edge(follow, "followedAt"));
    assert_eq!(edge(&theirs["group"]["members"], "joinedAt"), edge(join, "joinedAt"));
}

#[tokio::test]
async fn liked_comments_are_exact_right_after_each_click_and_omit_what_only_others_may_see() {
    let server = Server::start(&["--batch-wait", "10s"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let mut comments = Vec::new();
    for _ in 0..3 {
        comments.push(stores.new_comment(id).await);
    }
    let me = server.client("cyd likes comments");
    let name = |comment: &i64| format!("comment_{comment}");
    let liked = async || {
        let nodes = viewer(&me).await["likedComments"]["nodes"].clone();
        nodes
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for comment in &comments {
        for changed in [true, false] {
            let payload = me.act("likeComment", json!({ "commentId": name(comment) }), "changed").await;
            assert_eq!(payload["changed"], changed);
        }
    }
    let newest_first: Vec<String> = comments.iter().rev().map(name).collect();
    assert_eq!(liked().await, newest_first);
    me.act("unlikeComment", json!({ "commentId": newest_first[0] }), "changed").await;
    assert_eq!(liked().await, newest_first[1..]);
    stores.rest().await;
    assert_eq!(liked().await, newest_first[1..]);
    let moderator = server.client_as(Role::Moderator, "a moderator of liked comments");
    moderator.act("deleteComment", json!({ "commentId": newest_first[1] }), "changed").await;
    assert_eq!(liked().await, newest_first[2..]);
}

#[tokio::test]
async fn the_author_and_moderators_see_who_rated_a_note_and_when_and_others_do_not() {
    let server = Server::shared();
    let stores = server.stores();
    let author = server.client("dot is rated");
    let input = json!({ "title": "Rate me", "body": "Text" });
    let n = author.act("createNote", input, "note { id }").await["note"]["id"].clone();
    let raters = ["ann rates dot", "bob rates dot", "cyd rates dot"].map(|name| server.client(name));
    for (rater, score) in raters.iter().zip([3, 9, 5]) {
        rater.act("rateNote", json!({ "noteId": n, "score": score }), "changed").await;
    }
    // A changed rating comes first, a rating that was taken back is gone.
    raters[0].act("rateNote", json!({ "noteId": n, "score": 4 }), "changed").await;
    raters[1].act("unrateNote", json!({ "noteId": n }), "changed").await;
    let query = "query ($n: ID!, $after: String) { note(id: $n) { ratings(first: 1, after: $after) {
        nodes { score ratedAt user { name } } pageInfo { hasNextPage endCursor } } } }";
    let moderator = server.client_as(Role::Moderator, "a moderator of ratings");
    for reader in [&author, &moderator] {
        let first = reader.data(query, json!({ "n": n })).await["note"]["ratings"].clone();
        assert_eq!(
            (&first["nodes"][0]["score"], &first["pageInfo"]["hasNextPage"]),
            (&json!(4), &json!(true))
        );
        let after = &first["pageInfo"]["endCursor"];
        let last = reader.data(query, json!({ "n": n, "after": after })).await["note"]["ratings"].clone();
        assert_eq!(
            (&last["nodes"][0]["score"], &last["pageInfo"]["hasNextPage"]),
            (&json!(5), &json!(false))
        );
        assert!(time(&last["nodes"][0]["ratedAt"]) < time(&first["nodes"][0]["ratedAt"]));
    }
    for (reader, code) in [(&raters[2], "FORBIDDEN"), (&server.anonymous(), "UNAUTHENTICATED")] {
        let answer = reader.send(query, json!({ "n": n })).await.body;
        assert_eq!(answer["errors"][0]["extensions"]["code"], code, "{answer}");
        assert_eq!(answer["data"], json!({ "note": { "ratings": null } }));
    }
    let any = stores.new_note().await;
    assert_eq!(moderator.data(query, json!({ "n": note(any) })).await["note"]["ratings"]["nodes"], json!([]));
}

#[tokio::test]
async fn coin_entries_explain_the_balance_newest_first() {
    let server = Server::shared();
    let me = server.client("eve has coins");
    let id = me.follow(&user(server.stores().new_user().await)).await["viewer"]["user"]["id"].clone();
    let service = server.client_as(Role::Service, "the mint");
    for (amount, reason) in [(10, "A prize"), (-4, "A hat"), (1, "A coin found")] {
        service
            .act("grantCoins", json!({ "userId": id, "amount": amount, "reason": reason }), "user { id }")
            .await;
    }
    let query = "query ($after: String) { viewer { user { coinCount } coinEntries(first: 2, after: $after) {
        nodes { id amount balance reason createdAt } pageInfo { hasNextPage endCursor } } } }";
    let first = me.data(query, json!({})).await["viewer"].clone();
    let entries = &first["coinEntries"];
    let lines = |entries: &Value| {
        let line = |of: &Value| (of["amount"].as_i64(), of["balance"].as_i64(), of["reason"].clone());
        entries["nodes"].as_array().unwrap().iter().map(line).collect::<Vec<_>>()
    };
    let expected = [(Some(1), Some(7), json!("A coin found")), (Some(-4), Some(6), json!("A hat"))];
    assert_eq!(lines(entries), expected);
    assert_eq!(entries["nodes"][0]["balance"], first["user"]["coinCount"]);
    let after = &entries["pageInfo"]["endCursor"];
    let last = me.data(query, json!({ "after": after })).await["viewer"]["coinEntries"].clone();
    assert_eq!(lines(&last), [(Some(10), Some(10), json!("A prize"))]);
    assert_eq!(last["pageInfo"]["hasNextPage"], false);
    let other = server.client("fay has no coins");
    assert_eq!(other.data(query, json!({})).await["viewer"]["coinEntries"]["nodes"], json!([]));
}

#[tokio::test]
async fn a_fragment_on_an_interface_fits_all_of_its_types() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let comment = format!("comment_{}", stores.new_comment(id).await);
    let me = server.client("gus likes all");
    me.like(&note(id)).await;
    me.act("likeComment", json!({ "commentId": comment }), "changed").await;
    me.act("collectNote", json!({ "noteId": note(id) }), "changed").await;
    stores.rest().await;
    let query = "query ($ids: [ID!]!) {
        nodes(ids: $ids) { __typename ...Likes ... on Collectable { collectCount viewerHasCollected } ...Version }
        viewer { likedNotes { ...Notes } collectedNotes { ...Notes } }
        feed { ...Notes }
    }
    fragment Likes on Likeable { likeCount viewerHasLiked likers { ...People } }
    fragment Version on Counted { countsVersion }
    fragment Notes on NoteList { nodes { id } pageInfo { hasNextPage } }
    fragment People on UserList { nodes { id } }";
    let u = user(stores.user_of("gus likes all").await);
    for _ in 0..2 {
        let data = me.data(query, json!({ "ids": [note(id), comment, u] })).await;
        let people = json!({ "nodes": [{ "id": u }] });
        for (node, of) in [(0, "Note"), (1, "Comment")] {
            let node = &data["nodes"][node];
            assert_eq!((&node["__typename"], &node["likers"]), (&json!(of), &people), "{data}");
            assert_eq!((&node["likeCount"], &node["viewerHasLiked"]), (&json!(1), &json!(true)));
            assert!(node["countsVersion"].is_number());
            assert_eq!(node["viewerHasCollected"].is_null(), of == "Comment", "{node}");
        }
        assert!(data["nodes"][2].get("likeCount").is_none(), "{data}");
        let notes = json!({ "nodes": [{ "id": note(id) }], "pageInfo": { "hasNextPage": false } });
        assert_eq!((&data["viewer"]["likedNotes"], &data["viewer"]["collectedNotes"]), (&notes, &notes));
        assert_eq!(data["feed"], notes);
    }
}
