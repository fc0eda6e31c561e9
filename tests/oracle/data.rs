//! The data that random documents ask for.

use redis::AsyncCommands;
use serde_json::{Value, json};
use support::{SOON, Server, Stores, eventually, key, note, user};

/// Users, notes, comments of each state, groups, edges, ratings and inbox entries. Returns the ids of all objects.
pub async fn fill(server: &Server, stores: &Stores) -> Vec<String> {
    let mut ids = Vec::new();
    let (ann, bea) = (server.client("ann").retrying(), server.client("bea").retrying());
    let group = ann.act("createGroup", json!({ "name": "Readers" }), "group { id }").await;
    let group = group["group"]["id"].as_str().unwrap().to_owned();
    for client in [&ann, &bea] {
        client.act("joinGroup", json!({ "groupId": group }), "changed").await;
    }
    for number in 0..4 {
        let (author, reader) = if number % 2 == 0 { (&ann, &bea) } else { (&bea, &ann) };
        let mut input =
            json!({ "title": format!("Note \"{number}\""), "body": "Text\n\u{1F4AF}", "groupId": group });
        if number == 3 {
            input["title"] = Value::Null;
            input["body"] = Value::Null;
        }
        let posted = author.act("createNote", input, "note { id author { id } }").await;
        let n = posted["note"]["id"].as_str().unwrap().to_owned();
        reader.like(&n).await;
        reader.act("collectNote", json!({ "noteId": n }), "changed").await;
        reader.act("rateNote", json!({ "noteId": n, "score": number }), "changed").await;
        reader.follow(posted["note"]["author"]["id"].as_str().unwrap()).await;
        let input = json!({ "noteId": n, "body": "A comment", "mentions": [posted["note"]["author"]["id"]] });
        let pending = reader.act("addComment", input, "comment { id }").await;
        ids.extend([n, pending["comment"]["id"].as_str().unwrap().to_owned()]);
        ids.push(posted["note"]["author"]["id"].as_str().unwrap().to_owned());
    }
    let n = stores.new_note().await;
    for _ in 0..3 {
        ids.push(format!("comment_{}", stores.new_comment(n).await));
    }
    ids.extend([note(n), user(stores.new_user().await), group]);
    stores.rest().await;
    heat_is_added(stores).await;
    ids
}

/// Waits until rankings have the heat of all events, which follows by seconds: each server keeps a ranking for
/// a while, so before that two of them may have different ones.
async fn heat_is_added(stores: &Stores) {
    eventually("the heat of all events is added", SOON, || async {
        let (sql, mut redis) = (stores.sql().await, stores.redis().await);
        let shards: Vec<i16> = sqlx::query_scalar("SELECT id FROM shard").fetch_all(&sql).await.unwrap();
        for shard in shards {
            let end: Vec<(String, Vec<String>)> =
                redis.xrevrange_count(key(shard, "log"), "+", "-", 1).await.unwrap();
            let heated: Option<String> = redis.hget(key(shard, "meta"), "heated").await.unwrap();
            if end.first().is_some_and(|(end, _)| heated.as_ref() != Some(end)) {
                return None;
            }
        }
        Some(())
    })
    .await;
}
