//! Moderation of comments and notes, from writing them to the decision.

mod approval;
mod automatic;
mod edits;
mod notes;
mod people;
mod queue;
mod removal;

use serde_json::{Value, json};
use support::{Answer, Client, ModerationService, SOON, Server, Stores, eventually, number};

/// A note whose comments are moderated.
struct Scene<'a> {
    server: &'a Server,
    /// The note's author.
    owner: Client,
    note: String,
}

impl<'a> Scene<'a> {
    async fn new(server: &'a Server, owner: &str) -> Self {
        let owner = server.client(owner);
        let input = json!({ "title": "To be discussed", "body": "What do you think?" });
        let note = owner.act("createNote", input, "note { id }").await["note"]["id"].clone();
        Self { server, owner, note: note.as_str().unwrap().to_owned() }
    }

    async fn comment(&self, author: &Client, body: &str) -> Value {
        self.comment_with(author, json!({ "body": body })).await
    }

    /// Adds a comment with this input; `noteId` is filled in.
    async fn comment_with(&self, author: &Client, mut input: Value) -> Value {
        input["noteId"] = json!(self.note);
        let payload = author.act("addComment", input, "comment { id state author { id } }").await;
        payload["comment"].clone()
    }

    /// The note's comment count and the ids of its public comments, newest first.
    async fn public_comments(&self, viewer: &Client) -> (i64, Vec<Value>) {
        let query = "query ($n: ID!) { note(id: $n) {
            commentCount comments(orderBy: NEWEST, first: 100) { nodes { id } } } }";
        let note = viewer.data(query, json!({ "n": self.note })).await["note"].clone();
        (note["commentCount"].as_i64().unwrap(), ids(&note["comments"]["nodes"]))
    }

    /// The viewer's own comments on the note that nobody else sees.
    async fn unpublished(&self, viewer: &Client) -> Value {
        let query = "query ($n: ID!) { note(id: $n) {
            viewerUnpublishedComments { id state rejectionReason } } }";
        viewer.data(query, json!({ "n": self.note })).await["note"]["viewerUnpublishedComments"].clone()
    }

    async fn until_approved(&self, comment: &Value) {
        eventually("the comment is approved", SOON, || async {
            (state(&self.server.anonymous(), comment).await == "APPROVED").then_some(())
        })
        .await;
    }
}

fn ids(nodes: &Value) -> Vec<Value> {
    nodes.as_array().unwrap().iter().map(|node| node["id"].clone()).collect()
}

/// State of the comment, read by this client; null if the client cannot see the comment.
async fn state(client: &Client, comment: &Value) -> Value {
    let query = "query ($id: ID!) { node(id: $id) { ... on Comment { state } } }";
    client.data(query, json!({ "id": comment["id"] })).await["node"]["state"].clone()
}

async fn unread_replies(client: &Client) -> i64 {
    let inbox = client.data("{ viewer { inbox { unreadReplyCount } } }", json!({})).await;
    inbox["viewer"]["inbox"]["unreadReplyCount"].as_i64().unwrap_or_default()
}

async fn count(client: &Client, id: &Value, counts: &str) -> Value {
    let query = format!("query ($id: ID!) {{ node(id: $id) {{ {counts} }} }}");
    client.data(&query, json!({ "id": id })).await["node"].clone()
}

async fn comments_of(client: &Client, user: &Value) -> i64 {
    count(client, user, "... on User { commentCount }").await["commentCount"].as_i64().unwrap()
}

async fn replies_to(client: &Client, comment: &Value) -> i64 {
    count(client, &comment["id"], "... on Comment { replyCount }").await["replyCount"].as_i64().unwrap()
}

/// The counts of the queue, read by a moderator.
async fn queue(moderator: &Client) -> Value {
    let query = "{ reviewQueue { waitingCount undecidedCount oldestWaitingSeconds } }";
    moderator.data(query, json!({})).await["reviewQueue"].clone()
}

/// Comments that wait for a human moderator, each with the reason.
async fn pending(moderator: &Client) -> Vec<(Value, String)> {
    let query = "{ reviewQueue { items(kind: COMMENT, first: 100) { nodes { reason about { id } } } } }";
    let list = moderator.data(query, json!({})).await["reviewQueue"]["items"]["nodes"].clone();
    let nodes = list.as_array().unwrap().iter();
    nodes.map(|node| (node["about"]["id"].clone(), node["reason"].as_str().unwrap().to_owned())).collect()
}

/// Decisions on a comment in order: verdict, reason, and who decided.
async fn decisions(stores: &Stores, comment: &Value) -> Vec<(String, String, String)> {
    let rows = "SELECT verdict, reason, decided_by FROM decision
                 WHERE kind = 'comment' AND target_id = $1 AND decided_at <= now() ORDER BY id";
    sqlx::query_as(rows).bind(number(&comment["id"])).fetch_all(&stores.sql().await).await.unwrap()
}

fn line(verdict: &str, reason: &str, by: &str) -> (String, String, String) {
    (verdict.to_owned(), reason.to_owned(), by.to_owned())
}

/// Arguments of the process that moderates.
const PIPELINE: [&str; 4] = ["--roles", "pipeline", "--lease", "2s"];

/// A moderator that approves at once, but holds comments with `hold` in their text.
async fn holding_service() -> ModerationService {
    ModerationService::start(|text| if text.contains("hold") { Answer::Held } else { Answer::Approve }).await
}

/// A moderator that rejects texts with `bad`, holds those with `hold`, leaves those with `unsure` to a person,
/// and approves the others.
async fn choosing_service() -> ModerationService {
    ModerationService::start(|text| match text {
        text if text.contains("bad") => Answer::Reject("Bad words"),
        text if text.contains("hold") => Answer::Held,
        text if text.contains("unsure") => Answer::Says(r#"{"verdict":"unsure","reason":"irony?"}"#),
        _ => Answer::Approve,
    })
    .await
}
