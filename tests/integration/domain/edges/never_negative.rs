//! Counts are never negative: while totals drift below zero, everybody sees zero.

use plaudit_catalogue::EntityKind;
use serde_json::json;

use crate::graphql::schema_types::{Types, named};
use support::{SOON, Server, eventually, number};

const KINDS: [EntityKind; 5] =
    [EntityKind::User, EntityKind::Note, EntityKind::Comment, EntityKind::Group, EntityKind::Inbox];

#[tokio::test(flavor = "multi_thread")]
async fn a_total_below_zero_is_shown_as_zero() {
    let server = Server::start(&[]);
    let (stores, sql) = (server.stores(), server.stores().sql().await);
    let ann = server.client("ann");
    ann.act("updateProfile", json!({ "name": "Ann" }), "changed").await;
    let user = ann.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    let (note, group) = (stores.new_note().await, stores.new_group().await);
    let comment = stores.new_comment(note).await;
    let id_of = |kind| match kind {
        EntityKind::User | EntityKind::Inbox => number(&user),
        EntityKind::Note => note,
        EntityKind::Comment => comment,
        EntityKind::Group => group,
    };
    // The database itself refuses that of coins.
    let unchecked = "ALTER TABLE user_counts DROP CONSTRAINT user_counts_coins_never_below_zero";
    sqlx::query(unchecked).execute(&sql).await.unwrap();
    for kind in KINDS {
        let lowered: Vec<String> =
            kind.counters().iter().map(|counter| format!("{} = -7", counter.name())).collect();
        let update = format!("UPDATE {}_counts SET {} WHERE id = $1", kind.name(), lowered.join(", "));
        let updated = sqlx::query(sqlx::AssertSqlSafe(update)).bind(id_of(kind)).execute(&sql).await.unwrap();
        assert_eq!(updated.rows_affected(), 1, "{kind:?}");
    }
    // A process that has read none of them.
    let mut server = server;
    server.kill();
    server.start_again();

    let types = Types::read();
    let counts = |of: &str| -> Vec<String> {
        let fields =
            types.fields().filter(|(object, field)| *object == of && named(&field.ty.node) == "Count");
        fields.map(|(_, field)| field.name.node.to_string()).collect()
    };
    let ann = server.client("ann");
    let inbox = counts("Inbox").join(" ");
    let shown = ann.data(&format!("{{ viewer {{ inbox {{ {inbox} }} }} }}"), json!({})).await;
    let mut all = vec![shown["viewer"]["inbox"].clone()];
    for (kind, of) in KINDS.into_iter().zip(["User", "Note", "Comment", "Group"]) {
        let counts = counts(of).join(" ");
        let query = format!("query ($id: ID!) {{ node(id: $id) {{ ... on {of} {{ {counts} }} }} }}");
        let id = format!("{}_{}", kind.name(), id_of(kind));
        all.push(ann.data(&query, json!({ "id": id })).await["node"].clone());
    }
    for shown in &all {
        let counts = shown.as_object().unwrap();
        assert!(!counts.is_empty() && counts.values().all(|count| *count == 0), "{shown}");
    }

    // Pushes, and what is shown once it is persisted.
    let mut socket = server.socket("ann").await;
    let id = format!("note_{note}");
    socket.watch_notes(&[&id]).await;
    let first = socket.note_until(|_| true).await;
    ann.like(&id).await;
    let second =
        socket.note_until(|note| note["countsVersion"].as_u64() > first["countsVersion"].as_u64()).await;
    assert_eq!((&first["likeCount"], &second["likeCount"]), (&json!(0), &json!(0)));
    eventually("it is persisted", SOON, || async {
        (stores.number("SELECT likes FROM note_counts WHERE id = $1", note).await == -6).then_some(())
    })
    .await;
    assert_eq!(ann.note(&id).await["likeCount"], 0);
}
