//! A client of server-sent events (the distinct connections mode of graphql-sse).

use std::time::Duration;

use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

const EVENT_TIMEOUT: Duration = Duration::from_secs(80);

/// A response that is read event by event.
pub struct EventStream {
    response: Response,
    unread: String,
}

/// One event, or a comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamItem {
    Next(Value),
    Complete,
    Comment,
}

impl EventStream {
    /// Sends the operation by POST.
    pub async fn open(url: &str, token: Option<String>, query: &str, variables: Value) -> Self {
        let body = json!({ "query": query, "variables": variables });
        let mut request = reqwest::Client::new().post(format!("{url}/graphql/stream")).json(&body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        Self::of(request).await
    }

    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.header("accept", "text/event-stream").send().await.unwrap();
        assert_eq!(response.status(), 200, "{:?}", response.text().await);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, unread: String::new() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    /// The next event or comment; `None` at the end.
    pub async fn next_item(&mut self) -> Option<StreamItem> {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let item = read(event);
                self.unread = rest.to_owned();
                return Some(item);
            }
            let chunk =
                tokio::time::timeout(EVENT_TIMEOUT, self.response.chunk()).await.expect("an event in time");
            self.unread += std::str::from_utf8(&chunk.unwrap()?).unwrap();
        }
    }

    /// The next result; skips comments.
    pub async fn result(&mut self) -> Value {
        loop {
            match self.next_item().await {
                Some(StreamItem::Next(result)) => return result,
                Some(StreamItem::Comment) => {}
                other => panic!("expected a result, got {other:?}"),
            }
        }
    }
}

fn read(event: &str) -> StreamItem {
    let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    match (field("event:"), field("data:")) {
        (Some("next"), Some(data)) => StreamItem::Next(serde_json::from_str(data).unwrap()),
        (Some("complete"), Some("")) => StreamItem::Complete,
        (None, None) if event.starts_with(':') => StreamItem::Comment,
        _ => panic!("unknown event {event:?}"),
    }
}
