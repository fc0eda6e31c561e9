//! Properties for fuzz tests: they hold for any bytes received as a message.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    close::Close,
    messages::{self, ClientMessage},
};

/// The answer to a message is JSON and repeats its id or payload; the reason of a close fits into its frame.
pub fn messages(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match messages::parse(&text) {
        Ok(ClientMessage::Subscribe { id, .. } | ClientMessage::Complete { id }) => {
            let sent = json_of(&messages::next(&id, &Bytes::from_static(b"{}")));
            assert_eq!(sent, json!({ "type": "next", "id": id, "payload": {} }));
        }
        Ok(ClientMessage::Ping(payload)) => {
            let sent = json_of(&messages::pong(payload.clone()));
            assert_eq!(sent.get("payload"), payload.map(Value::Object).as_ref());
        }
        Ok(ClientMessage::ConnectionInit(_) | ClientMessage::Pong) => {}
        Err(why) => assert!(Close::bad_message(&why.to_string()).frame().reason.len() <= 123),
    }
}

fn json_of(message: &axum::extract::ws::Message) -> Value {
    let text = message.to_text().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
}
