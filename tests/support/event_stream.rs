//! A client of server-sent events.

use std::time::Duration;

use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(80);

/// An answer that is read event by event.
pub struct EventStream {
    response: Response,
    unread: String,
}

/// One event, or a comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    Next(Value),
    Complete,
    Comment,
}

impl EventStream {
    /// Asks by POST.
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
    pub async fn told(&mut self) -> Option<Told> {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let told = read(event);
                self.unread = rest.to_owned();
                return Some(told);
            }
            let chunk =
                tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("an event in time");
            self.unread += std::str::from_utf8(&chunk.unwrap()?).unwrap();
        }
    }

    /// The next result.
    pub async fn result(&mut self) -> Value {
        loop {
            match self.told().await {
                Some(Told::Next(result)) => return result,
                Some(Told::Comment) => {}
                other => panic!("no result but {other:?}"),
            }
        }
    }
}

fn read(event: &str) -> Told {
    let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    match (field("event:"), field("data:")) {
        (Some("next"), Some(data)) => Told::Next(serde_json::from_str(data).unwrap()),
        (Some("complete"), Some("")) => Told::Complete,
        (None, None) if event.starts_with(':') => Told::Comment,
        _ => panic!("what is {event:?}?"),
    }
}
