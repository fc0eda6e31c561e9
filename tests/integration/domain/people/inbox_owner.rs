//! A user whose inbox is looked at.

use serde_json::{Value, json};
use support::{Client, Server, Stores};

pub const ENTRIES: &str = "{ viewer { user { id } inbox {
    unreadLikeCount unreadFollowerCount unreadMessageCount unreadReplyCount
    entries { nodes { id cursor kind badge isRead actorCount actors(first: 3) { name } about { id } } } } } }";

/// A user with a note, whose inbox is looked at.
pub struct Owner {
    pub client: Client,
    pub stores: Stores,
    pub id: Value,
    pub note: String,
}

impl Owner {
    pub async fn new(server: &Server, subject: &str) -> Self {
        let client = server.client(subject).retrying();
        let input = json!({ "title": "Mine", "body": "Mine" });
        let made = client.act("createNote", input, "note { id author { id } }").await["note"].clone();
        let (id, note) = (made["author"]["id"].clone(), made["id"].as_str().unwrap().to_owned());
        Self { client, stores: server.stores(), id, note }
    }

    /// The inbox once everything is in PostgreSQL.
    pub async fn inbox(&self) -> Value {
        self.stores.rest().await;
        self.client.data(ENTRIES, json!({})).await["viewer"]["inbox"].clone()
    }

    pub async fn entries(&self) -> Vec<Value> {
        self.inbox().await["entries"]["nodes"].as_array().unwrap().clone()
    }

    /// Marks as read. Returns whether anything changed.
    pub async fn read(&self, input: Value) -> bool {
        self.client.act("markInboxRead", input, "changed").await["changed"] == true
    }
}

/// Kind, whether it is read, number of actors and names of the newest.
pub fn parts(entry: &Value) -> (&str, bool, i64, Vec<&str>) {
    let names = entry["actors"].as_array().unwrap().iter().map(|actor| actor["name"].as_str().unwrap());
    (
        entry["kind"].as_str().unwrap(),
        entry["isRead"] == true,
        entry["actorCount"].as_i64().unwrap(),
        names.collect(),
    )
}

/// Differences between rows, totals and Redis.
pub fn drift(server: &Server) -> Vec<String> {
    let output = server.command().args(["reconcile", "--format", "json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    lines.pop().expect("the last line has the sums");
    lines
}
