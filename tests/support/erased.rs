//! What is left of a user in the stores.

use redis::AsyncCommands;
use serde_json::Value;

use super::{SOON, Server, Stores, eventually, number};

pub async fn until_erased(stores: &Stores, id: &Value) {
    let left = "SELECT count(*) FROM backfill WHERE finished_at IS NULL AND $1 > 0";
    eventually("everything is erased", SOON, || async {
        (stores.number(left, number(id)).await == 0).then_some(())
    })
    .await;
    stores.rest().await;
}

/// Tables with a row that has the text. The event of an erasure keeps the subject for some days.
pub async fn tables_with(stores: &Stores, text: &str) -> Vec<String> {
    let sql = stores.sql().await;
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE c.relkind = 'r' AND n.nspname = 'public'",
    )
    .fetch_all(&sql)
    .await
    .unwrap();
    let mut found = Vec::new();
    for table in tables {
        let kept = if table == "event" { "AND kind <> 115" } else { "" };
        let query = format!("SELECT EXISTS (SELECT FROM {table} AS t WHERE strpos(t::text, $1) > 0 {kept})");
        if sqlx::query_scalar(sqlx::AssertSqlSafe(query)).bind(text).fetch_one(&sql).await.unwrap() {
            found.push(table);
        }
    }
    found
}

/// Keys of Redis whose name or value has the text, also those that expire. Idempotency keys may stay for a day.
pub async fn keys_with(stores: &Stores, text: &str) -> Vec<String> {
    let mut redis = stores.redis().await;
    let keys: Vec<Vec<u8>> = redis.keys("*").await.unwrap();
    let mut found = Vec::new();
    for key in keys {
        let kind: String = redis::cmd("TYPE").arg(&key).query_async(&mut redis).await.unwrap();
        let command: &[&str] = match kind.as_str() {
            "string" => &["GET"],
            "hash" => &["HGETALL"],
            "set" => &["SMEMBERS"],
            "list" => &["LRANGE", "0", "-1"],
            "zset" => &["ZRANGE", "0", "-1"],
            "stream" => &["XRANGE", "-", "+"],
            "none" => continue, // it has expired meanwhile
            other => panic!("a value of type {other} is not read"),
        };
        let life: i64 = redis.ttl(&key).await.unwrap();
        if String::from_utf8_lossy(&key).contains(":idem:") && (0..=24 * 3_600).contains(&life) {
            continue;
        }
        let read = redis::cmd(command[0]).arg(&key).arg(&command[1..]).query_async(&mut redis).await;
        let mut parts = vec![key.clone()];
        add_parts(&read.unwrap(), &mut parts);
        if parts.iter().any(|part| part.windows(text.len()).any(|window| window == text.as_bytes())) {
            found.push(String::from_utf8_lossy(&key).into_owned());
        }
    }
    found
}

/// Adds all bytes of a reply.
fn add_parts(reply: &redis::Value, parts: &mut Vec<Vec<u8>>) {
    match reply {
        redis::Value::BulkString(bytes) => parts.push(bytes.clone()),
        redis::Value::SimpleString(text) => parts.push(text.clone().into_bytes()),
        redis::Value::Array(values) | redis::Value::Set(values) => {
            values.iter().for_each(|value| add_parts(value, parts));
        }
        redis::Value::Map(pairs) => pairs.iter().for_each(|(name, value)| {
            add_parts(name, parts);
            add_parts(value, parts);
        }),
        _ => {}
    }
}

/// Every difference between rows, totals and Redis.
pub fn drift(server: &Server) -> Vec<String> {
    let output = server.command().args(["reconcile", "--format", "json"]).output().unwrap();
    let mut lines: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(ToOwned::to_owned).collect();
    lines.pop().expect("the last line has the sums");
    lines
}

/// Rows that name the user as the one who did something, or to whom they belong.
pub async fn rows_of(stores: &Stores, id: &Value) -> i64 {
    let rows = "SELECT (SELECT count(*) FROM note_like WHERE actor_id = $1)
        + (SELECT count(*) FROM comment_like WHERE actor_id = $1) + (SELECT count(*) FROM note_collect WHERE actor_id = $1)
        + (SELECT count(*) FROM follow WHERE $1 IN (actor_id, target_id))
        + (SELECT count(*) FROM group_join WHERE actor_id = $1) + (SELECT count(*) FROM note_rating WHERE user_id = $1)
        + (SELECT count(*) FROM inbox_entry AS e WHERE recipient_id = $1 OR kind = 104 AND target_id = $1
               OR EXISTS (SELECT FROM comment_index AS c WHERE c.id = e.target_id AND c.author_id = $1 AND kind > 100))
        + (SELECT count(*) FROM activity WHERE actor_id = $1) + (SELECT count(*) FROM coin_ledger WHERE user_id = $1)
        + (SELECT count(*) FROM idempotency_key WHERE actor_id = $1)
        + (SELECT count(*) FROM event WHERE kind <> 115
               AND ($1 IN (actor_id, recipient_id) OR target_id = $1 AND kind IN (3, 203, 304)))";
    stores.number(rows, number(id)).await
}
