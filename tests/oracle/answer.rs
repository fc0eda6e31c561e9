//! Answers, as they are compared.

use serde_json::Value;

use super::generator::Request;
use support::Client;

/// Fields that depend on the clock, or on how changes were grouped. Their aliases begin with their names.
pub const VOLATILE: [&str; 17] = [
    "createdAt",
    "editedAt",
    "likedAt",
    "followedAt",
    "joinedAt",
    "collectedAt",
    "ratedAt",
    "reportedAt",
    "queuedAt",
    "lastReportedAt",
    "at",
    "countsVersion",
    "cursor",
    "startCursor",
    "endCursor",
    "oldestWaitingSeconds",
    "durability",
];

/// The data as text, and the errors in any order.
#[derive(Debug, PartialEq)]
pub struct Answer {
    pub data: String,
    pub errors: Vec<String>,
}

impl Answer {
    /// No part of it is to be asked for again.
    pub fn is_final(&self) -> bool {
        !self.errors.iter().any(|error| error.contains("RETRY_LATER"))
    }

    pub fn of(text: &str) -> Self {
        serde_json::from_str::<Value>(text).unwrap();
        let text = without_countdowns(text);
        let (data, errors) = match text.find("\"errors\":[") {
            Some(place) => (&text[..place], &text[place + "\"errors\":".len()..text.len() - 1]),
            None => (text.as_str(), "[]"),
        };
        let mut errors: Vec<String> =
            serde_json::from_str::<Vec<Value>>(errors).unwrap().iter().map(Value::to_string).collect();
        errors.sort_unstable();
        Self { data: data.trim_end_matches(['}', ',']).to_owned(), errors }
    }
}

/// Explanations say in how many milliseconds what Redis has of an object ends.
fn without_countdowns(text: &str) -> String {
    let mut parts = text.split("ndsInMs\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .fold(first, |text, part| text + "ndsInMs\":" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// The answer of the server.
pub async fn ask(client: &Client, (query, variables): &Request) -> Answer {
    Answer::of(&client.text(query, variables.clone()).await)
}

/// The answer without the values of [`VOLATILE`] fields.
pub async fn ask_steadily(client: &Client, (query, variables): &Request) -> Answer {
    steadily(&client.text(query, variables.clone()).await)
}

/// This answer without the values of [`VOLATILE`] fields.
pub fn steadily(text: &str) -> Answer {
    let mut response: async_graphql::Value = serde_json::from_str(text).unwrap();
    steady(&mut response);
    Answer::of(&serde_json::to_string(&response).unwrap())
}

fn steady(value: &mut async_graphql::Value) {
    use async_graphql::Value;
    match value {
        Value::List(items) => items.iter_mut().for_each(steady),
        Value::Object(fields) => {
            for (key, value) in fields {
                if *value != Value::Null && VOLATILE.iter().any(|name| key.starts_with(name)) {
                    *value = Value::from("volatile");
                }
                steady(value);
            }
        }
        _ => {}
    }
}
