//! Honest use, which must not notice the limits: a page with many live notes, and a backend that acts for many users.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use super::server::token;
use crate::support::Outcome;

/// Live notes on the page, and how many one subscription watches.
const NOTES: usize = 500;
const AT_ONCE: usize = 100;
/// Users of the backend.
const USERS: usize = 1_000;
const LIKE: &str =
    "mutation ($note: ID!) { likeNote(input: { noteId: $note }) { note { likeCount viewerHasLiked } } }";
const FEED: &str = "{ feed(first: 20) { nodes { id title likeCount viewerHasLiked author { id name } } } }";

/// What was answered, and what was refused.
#[derive(Default)]
pub struct Answers {
    pub answered: usize,
    pub refused: Vec<String>,
}

impl Answers {
    fn add(&mut self, answer: &Value) {
        match answer.get("errors") {
            None => self.answered += 1,
            Some(errors) => self.refused.push(errors.to_string()),
        }
    }
}

/// A page shows 500 live notes, of which 50 a second are liked by somebody else.
pub async fn page_of_live_notes(url: &str, length: Duration) -> Outcome<Answers> {
    let mut request = format!("{}/graphql/ws", url.replace("http://", "ws://")).into_client_request()?;
    request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
    let (mut socket, _) = connect_async(request).await?;
    let payload = json!({ "Authorization": format!("Bearer {}", token("a reader")?) });
    socket.send(Message::text(json!({ "type": "connection_init", "payload": payload }).to_string())).await?;
    let query = "subscription ($ids: [ID!]!) { noteCountsChanged(noteIds: $ids) {
        id likeCount collectCount commentCount viewerHasLiked countsVersion } }";
    let ids: Vec<String> = (1..=NOTES).map(|n| format!("note_{n}")).collect();
    for (n, ids) in ids.chunks(AT_ONCE).enumerate() {
        let payload = json!({ "query": query, "variables": { "ids": ids } });
        let subscribe = json!({ "type": "subscribe", "id": n.to_string(), "payload": payload });
        socket.send(Message::text(subscribe.to_string())).await?;
    }
    let liking = tokio::spawn(like_often(url.to_owned(), length));
    let (mut answers, end) = (Answers::default(), Instant::now() + length);
    while let Ok(Some(message)) = timeout_at(end, socket.next()).await {
        let Ok(message) = serde_json::from_str::<Value>(message?.to_text()?) else { continue };
        match message["type"].as_str() {
            Some("next") => answers.add(&message["payload"]),
            Some("error") => answers.refused.push(message.to_string()),
            _ => {}
        }
    }
    liking.await?.map_err(|error| error.to_string())?;
    Ok(answers)
}

async fn like_often(url: String, length: Duration) -> Result<(), String> {
    let address = IpAddr::from(Ipv4Addr::new(127, 0, 2, 2));
    let client =
        reqwest::Client::builder().local_address(address).build().map_err(|error| error.to_string())?;
    let (began, mut n) = (Instant::now(), 0);
    while began.elapsed() < length {
        let token = token(&format!("liker {}", n / NOTES)).map_err(|error| error.to_string())?;
        let body = json!({ "query": LIKE, "variables": { "note": format!("note_{}", n % NOTES + 1) } });
        let sent = client.post(format!("{url}/graphql")).bearer_auth(token).json(&body).send().await;
        sent.map_err(|error| error.to_string())?;
        n += 1;
        tokio::time::sleep_until(began + Duration::from_millis(20) * n as u32).await;
    }
    Ok(())
}

/// A backend sends a feed and a like for each of a thousand users within a minute, all from one address.
pub async fn backend(url: &str) -> Outcome<Answers> {
    let (client, mut answers) = (reqwest::Client::new(), Answers::default());
    for user in 0..USERS {
        let token = token(&format!("user {user} of the backend"))?;
        for body in [
            json!({ "query": FEED }),
            json!({ "query": LIKE, "variables": { "note": format!("note_{}", user % NOTES + 1) } }),
        ] {
            let sent = client.post(format!("{url}/graphql")).bearer_auth(&token).json(&body).send().await?;
            answers.add(&sent.json().await?);
        }
    }
    Ok(answers)
}
