//! Retention: texts of removed notes and groups, and decisions about comments, go when they are old, and not before.

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, SOON, Server, eventually, note, number};

async fn run(server: &Server, statement: String) {
    let statement = sqlx::AssertSqlSafe(statement);
    sqlx::raw_sql(statement).execute(&server.stores().sql().await).await.unwrap();
}

async fn create(client: &Client, mutation: &str, input: Value, kind: &str) -> i64 {
    number(&client.act(mutation, input, &format!("{kind} {{ id }}")).await[kind]["id"])
}

/// Characters of the texts of a row.
async fn length(server: &Server, texts: &str, table: &str, id: i64) -> i64 {
    server.stores().number(&format!("SELECT length({texts})::bigint FROM {table} WHERE id = $1"), id).await
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_what_was_removed_are_emptied_after_their_retention() {
    let mut server = Server::start(&["--removed-text-retention", "10days"]);
    let author = server.client("author");
    let text = json!({ "title": "Old words", "body": "More of them" });
    let (mut notes, mut groups) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        notes.push(create(&author, "createNote", text.clone(), "note").await);
        let input = json!({ "name": "Old words", "description": "More" });
        groups.push(create(&author, "createGroup", input, "group").await);
    }
    // The first ones are removed long ago, the second ones just now, the last ones not at all.
    for i in 0..2 {
        author.act("deleteNote", json!({ "noteId": note(notes[i]) }), "changed").await;
        author.act("deleteGroup", json!({ "groupId": format!("group_{}", groups[i]) }), "changed").await;
    }
    for (change, id) in [("note SET url = 'https://app.example',", notes[0]), ("app_group SET", groups[0])] {
        run(&server, format!("UPDATE {change} removed_at = now() - interval '11d' WHERE id = {id}")).await;
    }
    server.stop();
    server.start_again();
    eventually("the old texts are empty", SOON, || async {
        let lengths = (
            length(&server, "title || body || coalesce(url, '')", "note", notes[0]).await,
            length(&server, "name || description", "app_group", groups[0]).await,
        );
        (lengths == (0, 0)).then_some(())
    })
    .await;
    for i in [1, 2] {
        assert!(length(&server, "title || body", "note", notes[i]).await > 0);
        assert!(length(&server, "name || description", "app_group", groups[i]).await > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_decisions_are_deleted_except_for_reasons_that_authors_still_see() {
    let mut server = Server::start(&["--decision-retention", "30days"]);
    let moderator = server.client_as(Role::Moderator, "moderator");
    let author = server.client("author");
    let n = number(&json!(create_note(&author).await));
    let me = server.stores().user_of("author").await;
    let mut comments = Vec::new();
    for decision in ["REJECT", "REJECT", "REJECT", "APPROVE", "APPROVE"] {
        let id = server.stores().new_comment_by(me, n).await;
        run(&server, format!("WITH queued AS (INSERT INTO submission (kind, target_id, undecided_why) VALUES ('comment', {id}, 'a test'))
                      UPDATE comment_index SET state = 'pending' WHERE id = {id}")).await;
        let input = json!({ "aboutId": format!("comment_{id}"), "decision": decision, "reason": "Because" });
        moderator.act("decide", input, "changed").await;
        comments.push(id);
    }
    let [shown, removed, with_note, approved, recent] = comments[..] else { panic!() };
    author.act("deleteComment", json!({ "commentId": format!("comment_{removed}") }), "changed").await;
    // Another note's comment is removed with its note.
    let other = number(&json!(create_note(&author).await));
    run(&server, format!("UPDATE comment_index SET note_id = {other} WHERE id = {with_note}")).await;
    author.act("deleteNote", json!({ "noteId": note(other) }), "changed").await;
    server.stores().rest().await;
    run(
        &server,
        format!("UPDATE decision SET decided_at = now() - interval '31 days' WHERE target_id <> {recent}"),
    )
    .await;
    server.stop();
    server.start_again();
    let decisions = "SELECT count(*) FROM decision WHERE kind = 'comment' AND target_id = $1";
    eventually("the old decisions are gone", SOON, || async {
        let stores = server.stores();
        let gone = [removed, with_note, approved];
        for id in gone {
            if stores.number(decisions, id).await > 0 {
                return None;
            }
        }
        Some(())
    })
    .await;
    assert_eq!(server.stores().number(decisions, shown).await, 1);
    assert_eq!(server.stores().number(decisions, recent).await, 1);
    let query = "query ($id: ID!) { node(id: $id) { ... on Comment { rejectionReason } } }";
    let author = server.client("author");
    let seen = author.data(query, json!({ "id": format!("comment_{shown}") })).await;
    assert_eq!(seen["node"]["rejectionReason"], "Because");
}

async fn create_note(author: &Client) -> String {
    note(create(author, "createNote", json!({ "title": "A note", "body": "Text" }), "note").await)
}
