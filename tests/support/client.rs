//! A GraphQL client over HTTP.

use std::sync::OnceLock;

use plaudit_token_auth::Role;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    SOON, eventually,
    server::{token_as, use_ring},
};

#[derive(Clone)]
pub struct Client {
    url: String,
    token: Option<String>,
    /// The subject of the user for whom it acts.
    acted_for: Option<String>,
    /// Whether it sends again what gets `RETRY_LATER`.
    retries: bool,
}

/// A parsed response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub body: Value,
    /// Cost by `Server-Timing`: round trips to Redis, SQL statements.
    pub redis_round_trips: u32,
    pub sql_statements: u32,
    /// Seconds, by the header `Retry-After`.
    pub retry_after: Option<u64>,
}

impl Client {
    pub fn new(url: &str, token: Option<String>) -> Self {
        Self { url: format!("{url}/graphql"), token, acted_for: None, retries: false }
    }

    /// A client of the user with this subject and role.
    pub fn of(url: &str, role: Role, subject: &str) -> Self {
        Self::new(url, Some(token_as(role, subject)))
    }

    pub fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// The same with the header `Plaudit-Act-As`.
    pub fn acting_for(&self, subject: &str) -> Self {
        Self { acted_for: Some(subject.to_owned()), ..self.clone() }
    }

    /// The same, but it sends again what gets `RETRY_LATER`, as the clients of apps do: of many requests at once, some
    /// may have to wait for the others longer than a request may take. Its mutations with an input have an idempotency
    /// key, so that a repetition gets the first result.
    pub fn retrying(&self) -> Self {
        Self { retries: true, ..self.clone() }
    }

    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    pub async fn send(&self, query: &str, variables: Value) -> Reply {
        if !self.retries {
            return self.try_send(query, variables).await.unwrap();
        }
        eventually("a request is not refused for now", SOON, || async {
            let reply = self.try_send(query, variables.clone()).await.unwrap();
            (reply.body["errors"][0]["extensions"]["code"] != "RETRY_LATER").then_some(reply)
        })
        .await
    }

    /// `Err` when the connection failed.
    pub async fn try_send(&self, query: &str, variables: Value) -> Result<Reply, reqwest::Error> {
        let response = self.request(query, variables).send().await?;
        let cost = |name: &str| {
            let timing = response.headers().get("server-timing").and_then(|v| v.to_str().ok()).unwrap_or("");
            timing
                .split(',')
                .find(|part| part.trim().starts_with(name))
                .and_then(|part| part.split('"').nth(1)?.split(' ').next()?.parse().ok())
                .unwrap_or_default()
        };
        let (redis_round_trips, sql_statements) = (cost("redis"), cost("sql"));
        let retry_after = response.headers().get("retry-after").and_then(|v| v.to_str().ok()?.parse().ok());
        let status = response.status().as_u16();
        let body = response.json().await?;
        Ok(Reply { status, body, redis_round_trips, sql_statements, retry_after })
    }

    /// The answer as it was sent.
    pub async fn text(&self, query: &str, variables: Value) -> String {
        self.request(query, variables).send().await.unwrap().text().await.unwrap()
    }

    fn request(&self, query: &str, variables: Value) -> RequestBuilder {
        let mut request = http().post(&self.url).json(&json!({ "query": query, "variables": variables }));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(subject) = &self.acted_for {
            request = request.header("plaudit-act-as", subject);
        }
        request
    }

    /// Sends an operation that must succeed; returns `data`. A query is sent again after `RETRY_LATER`: on a busy machine
    /// it may take longer than a request may.
    pub async fn data(&self, query: &str, variables: Value) -> Value {
        let retries = self.retries || !query.trim_start().starts_with("mutation");
        let reply = Self { retries, ..self.clone() }.send(query, variables).await;
        assert!(reply.body.get("errors").is_none(), "{query}: {}", reply.body);
        reply.body["data"].clone()
    }

    /// Sends an operation that must fail; returns the first error.
    pub async fn error(&self, query: &str, variables: Value) -> Value {
        let reply = self.send(query, variables).await;
        reply.body["errors"].get(0).unwrap_or_else(|| panic!("{query}: no error in {}", reply.body)).clone()
    }

    /// Runs a mutation that must succeed; returns these fields of its payload.
    pub async fn act(&self, mutation: &str, input: Value, fields: &str) -> Value {
        self.data(&mutation_query(mutation, fields), self.variables(mutation, input)).await[mutation].clone()
    }

    fn variables(&self, mutation: &str, mut input: Value) -> Value {
        let takes_keys = !mutation.starts_with("upsert") && mutation != "removeNotes";
        if self.retries && takes_keys && self.token.is_some() && input["idempotencyKey"].is_null() {
            input["idempotencyKey"] = json!(Uuid::new_v4().to_string());
        }
        json!({ "input": input })
    }

    /// Runs a mutation that must fail; returns the error code, and the argument or reason if the error has one.
    pub async fn refused(&self, mutation: &str, input: Value) -> (String, Option<String>) {
        let error = self.error(&mutation_query(mutation, "__typename"), json!({ "input": input })).await;
        let extensions = &error["extensions"];
        let detail = extensions["argument"].as_str().or(extensions["reason"].as_str());
        (extensions["code"].as_str().unwrap().to_owned(), detail.map(str::to_owned))
    }

    /// Runs a mutation that may be refused; returns these fields of its payload, or the error code.
    pub async fn try_act(&self, mutation: &str, input: Value, fields: &str) -> Result<Value, String> {
        let body = self.send(&mutation_query(mutation, fields), self.variables(mutation, input)).await.body;
        match body["errors"][0]["extensions"]["code"].as_str() {
            Some(code) => Err(code.to_owned()),
            None if body["data"][mutation].is_object() => Ok(body["data"][mutation].clone()),
            None => panic!("{mutation}: {body}"),
        }
    }

    pub async fn like(&self, note: &str) -> Value {
        self.act("likeNote", json!({ "noteId": note }), LIKED).await
    }

    pub async fn unlike(&self, note: &str) -> Value {
        self.act("unlikeNote", json!({ "noteId": note }), LIKED).await
    }

    pub async fn follow(&self, user: &str) -> Value {
        self.act("follow", json!({ "userId": user }), FOLLOWED).await
    }

    pub async fn unfollow(&self, user: &str) -> Value {
        self.act("unfollow", json!({ "userId": user }), FOLLOWED).await
    }

    pub async fn note(&self, note: &str) -> Value {
        let query = "query ($n: ID!) { note(id: $n) {
            id likeCount countsVersion viewerHasLiked author { id likesReceivedCount } } }";
        self.data(query, json!({ "n": note })).await["note"].clone()
    }
}

/// The input type of a mutation has its name.
fn mutation_query(mutation: &str, fields: &str) -> String {
    let (first, rest) = mutation.split_at(1);
    let input = format!("{}{rest}Input", first.to_uppercase());
    format!("mutation ($input: {input}!) {{ {mutation}(input: $input) {{ {fields} }} }}")
}

const LIKED: &str = "changed note { likeCount countsVersion viewerHasLiked }";
const FOLLOWED: &str =
    "changed user { followerCount viewerIsFollowing } viewer { user { id followingCount } }";

/// Public id of a note.
pub fn note(id: i64) -> String {
    format!("note_{id}")
}

/// Public id of a user.
pub fn user(id: i64) -> String {
    format!("user_{id}")
}

/// The number in an id.
pub fn number(id: &Value) -> i64 {
    id.as_str().unwrap().split_once('_').unwrap().1.parse().unwrap()
}

fn http() -> &'static reqwest::Client {
    static HTTP: OnceLock<reqwest::Client> = OnceLock::new();
    use_ring();
    // Each test has its own runtime, and an idle connection cannot outlive its runtime.
    HTTP.get_or_init(|| reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap())
}
