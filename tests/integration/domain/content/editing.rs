//! Editing notes, groups and profiles: by whom, twice, in races, and on open pages.

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::json;
use support::{Client, Server, user};

const NOTE: &str = "changed note { title body editedAt likeCount }";

async fn new_note(author: &Client) -> String {
    let input = json!({ "title": "Before", "body": "Before" });
    author.act("createNote", input, "note { id }").await["note"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_note_is_edited_by_its_author_only_and_what_is_omitted_stays() {
    let server = Server::shared();
    let author = server.client("ann edits");
    let n = new_note(&author).await;
    server.client("bob likes edits").like(&n).await;
    for changed in [true, false] {
        let edited = author.act("updateNote", json!({ "noteId": n, "title": " After \u{200B}" }), NOTE).await;
        let texts = (&edited["note"]["title"], &edited["note"]["body"], &edited["note"]["likeCount"]);
        assert_eq!(
            (&edited["changed"], texts),
            (&json!(changed), (&json!("After"), &json!("Before"), &json!(1)))
        );
        assert!(edited["note"]["editedAt"].is_string());
    }
    let both = json!({ "noteId": n, "title": null, "body": "After", "idempotencyKey": "an edit" });
    let first = author.act("updateNote", both.clone(), NOTE).await;
    author.act("updateNote", json!({ "noteId": n, "body": "Later" }), NOTE).await;
    let again = author.act("updateNote", both, NOTE).await;
    assert_eq!((&first["changed"], &again["changed"]), (&json!(true), &json!(true)));
    assert_eq!(again["note"]["body"], "Later", "the edit is not made again");
    let title = |note: &str| json!({ "noteId": note, "title": "Mine" });
    for other in [server.client("bob likes edits"), server.client_as(Role::Moderator, "a moderator edits")] {
        assert_eq!(other.refused("updateNote", title(&n)).await.0, "FORBIDDEN");
    }
    assert_eq!(server.anonymous().refused("updateNote", title(&n)).await.0, "UNAUTHENTICATED");
    assert_eq!(author.refused("updateNote", title("note_9000000000")).await.0, "NOT_FOUND");
    for (input, argument) in [
        (json!({ "noteId": n }), "title"),
        (json!({ "noteId": n, "title": " \n" }), "title"),
        (json!({ "noteId": n, "title": "x".repeat(201) }), "title"),
        (json!({ "noteId": n, "title": "x", "body": "" }), "body"),
        (json!({ "noteId": "group_1", "title": "x" }), "noteId"),
    ] {
        let refused = author.refused("updateNote", input).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some(argument.into())));
    }
    author.act("deleteNote", json!({ "noteId": n }), "changed").await;
    assert_eq!(author.refused("updateNote", title(&n)).await.0, "NOT_FOUND");
}

#[tokio::test]
async fn a_group_is_edited_by_its_owner_and_moderators_only() {
    let server = Server::shared();
    let owner = server.client("cyd edits a group");
    let input = json!({ "name": "Before", "description": "Before" });
    let g = owner.act("createGroup", input, "group { id }").await["group"]["id"].clone();
    let fields = "changed group { name description }";
    for changed in [true, false] {
        let edited = owner.act("updateGroup", json!({ "groupId": g, "description": "" }), fields).await;
        assert_eq!(edited, json!({ "changed": changed, "group": { "name": "Before", "description": "" } }));
    }
    let name = json!({ "groupId": g, "name": "After" });
    assert_eq!(owner.act("updateGroup", name.clone(), fields).await["group"]["name"], "After");
    let member = server.client("dot is a member");
    member.act("joinGroup", json!({ "groupId": g }), "changed").await;
    assert_eq!(member.refused("updateGroup", name).await.0, "FORBIDDEN");
    let moderator = server.client_as(Role::Moderator, "dan moderates a group");
    let renamed = moderator.act("updateGroup", json!({ "groupId": g, "name": "Moderated" }), fields).await;
    assert_eq!((&renamed["changed"], &renamed["group"]["name"]), (&json!(true), &json!("Moderated")));
    for (input, argument) in [
        (json!({ "groupId": g }), "name"),
        (json!({ "groupId": g, "name": "" }), "name"),
        (json!({ "groupId": g, "description": "x".repeat(1_001) }), "description"),
    ] {
        let refused = owner.refused("updateGroup", input).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some(argument.into())));
    }
}

#[tokio::test]
async fn a_profile_is_ones_own_and_an_empty_address_removes_the_picture() {
    let server = Server::start(&[]);
    let me = server.client("eve has a profile");
    let fields = "changed user { name avatarUrl }";
    // The first action, so it creates the user.
    let avatar = "https://Pictures.example/eve 1.png";
    let first = me.act("updateProfile", json!({ "avatarUrl": avatar }), fields).await;
    assert_eq!(first["user"]["avatarUrl"], "https://pictures.example/eve%201.png");
    for changed in [true, false] {
        let named = me.act("updateProfile", json!({ "name": "Eve" }), fields).await;
        let expected = json!({ "name": "Eve", "avatarUrl": "https://pictures.example/eve%201.png" });
        assert_eq!(named, json!({ "changed": changed, "user": expected }));
    }
    // A variable that is not sent leaves a part as it is.
    let query = "mutation ($name: String, $avatarUrl: URL) {
        updateProfile(input: { name: $name, avatarUrl: $avatarUrl }) { changed user { name avatarUrl } } }";
    for _ in 0..2 {
        let named = me.data(query, json!({ "name": "Eve" })).await["updateProfile"].clone();
        assert_eq!((&named["changed"], named["user"]["avatarUrl"].is_string()), (&json!(false), true));
    }
    let removed = me.act("updateProfile", json!({ "avatarUrl": "" }), fields).await;
    assert_eq!(removed, json!({ "changed": true, "user": { "name": "Eve", "avatarUrl": null } }));
    for (input, argument) in [
        (json!({}), "name"),
        (json!({ "name": " " }), "name"),
        (json!({ "name": "x".repeat(41) }), "name"),
        (json!({ "avatarUrl": "http://pictures.example/eve.png" }), "avatarUrl"),
        (json!({ "avatarUrl": format!("https://a.example/{}", "x".repeat(2_048)) }), "avatarUrl"),
    ] {
        let refused = me.refused("updateProfile", input).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some(argument.into())));
    }
    assert_eq!(
        server.anonymous().refused("updateProfile", json!({ "name": "x" })).await.0,
        "UNAUTHENTICATED"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn open_pages_on_any_instance_get_the_new_text_under_a_higher_version() {
    let server = Server::start(&[]);
    let other = Server::start_on(&server.stores(), &["--roles", "api"]);
    let author = server.client("fay edits live");
    let n = new_note(&author).await;
    let u = user(server.stores().user_of("fay edits live").await);
    let g =
        author.act("createGroup", json!({ "name": "Before" }), "group { id }").await["group"]["id"].clone();
    for (field, ids, id, text, edit, input) in [
        (
            "noteCountsChanged",
            "noteIds",
            json!(n),
            "title",
            "updateNote",
            json!({ "noteId": n, "title": "After" }),
        ),
        (
            "groupCountsChanged",
            "groupIds",
            g.clone(),
            "name",
            "updateGroup",
            json!({ "groupId": g, "name": "After" }),
        ),
        ("userCountsChanged", "userIds", json!(u), "name", "updateProfile", json!({ "name": "After" })),
    ] {
        let query =
            format!("subscription ($ids: [ID!]!) {{ {field}({ids}: $ids) {{ {text} countsVersion }} }}");
        let mut pages = Vec::new();
        for server in [&server, &other] {
            let mut page = server.socket("gus reads").await;
            page.subscribe("1", &query, json!({ "ids": [id] })).await;
            let first = page.data().await[field].clone();
            pages.push((page, first["countsVersion"].as_i64().unwrap()));
        }
        author.act(edit, input, "changed").await;
        for (page, before) in &mut pages {
            loop {
                let now = page.data().await[field].clone();
                assert!(now["countsVersion"].as_i64().unwrap() > *before, "{now}");
                if now[text] == "After" {
                    break;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_that_race_with_a_removal_end_in_one_of_the_two_orders() {
    let server = Server::shared();
    let author = server.client("hal edits and removes");
    let n = new_note(&author).await;
    let edit = |i: usize| {
        let (author, n) = (&author, n.clone());
        async move {
            let query = "mutation ($input: UpdateNoteInput!) { updateNote(input: $input) { changed } }";
            let input = json!({ "noteId": n, "title": format!("Edit {}", i / 2) });
            author.send(query, json!({ "input": input })).await.body
        }
    };
    let removal = async { author.act("deleteNote", json!({ "noteId": n }), "changed").await };
    let (edits, removed) = tokio::join!(join_all((0..64).map(edit)), removal);
    assert_eq!(removed["changed"], true);
    for edit in &edits {
        let code = &edit["errors"][0]["extensions"]["code"];
        assert!(edit["data"]["updateNote"]["changed"].is_boolean() || *code == "NOT_FOUND", "{edit}");
    }
    let data = author
        .data("query ($n: ID!) { note(id: $n) { id } viewer { user { noteCount } } }", json!({ "n": n }));
    assert_eq!(data.await, json!({ "note": null, "viewer": { "user": { "noteCount": 0 } } }));
}
