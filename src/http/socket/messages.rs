//! The messages of `graphql-transport-ws`: a client's are parsed into types, the server's are encoded.

use std::fmt;

use async_graphql::ServerError;
use axum::extract::ws::{Message, Utf8Bytes};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use plaudit_graphql::Parameters;

/// Longest id of an operation, in bytes. Every message of the operation repeats it.
const MAX_ID: usize = 256;

/// What a client may send.
#[derive(Debug)]
pub enum ClientMessage {
    /// With its payload.
    ConnectionInit(Map<String, Value>),
    /// With its payload, which the pong repeats.
    Ping(Option<Map<String, Value>>),
    Pong,
    Subscribe {
        id: String,
        parameters: Box<Parameters>,
    },
    Complete {
        id: String,
    },
}

/// Why a message is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadMessage(String);

impl fmt::Display for BadMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads one text message.
///
/// # Errors
/// The text is no message that graphql-ws's PROTOCOL.md allows clients to send.
pub fn parse(text: &str) -> Result<ClientMessage, BadMessage> {
    let message: Value =
        serde_json::from_str(text).map_err(|why| bad(format!("the message is not JSON: {why}")))?;
    let Value::Object(mut message) = message else {
        return Err(bad(format!("a message is an object, not {}", name(&message))));
    };
    let kind = match message.remove("type") {
        Some(Value::String(kind)) => kind,
        Some(other) => return Err(bad(format!("type is a string, not {}", name(&other)))),
        None => return Err(bad("the message has no type")),
    };
    match kind.as_str() {
        "connection_init" => {
            let payload = object(&mut message, "payload")?;
            Ok(ClientMessage::ConnectionInit(payload.unwrap_or_default()))
        }
        "ping" => Ok(ClientMessage::Ping(object(&mut message, "payload")?)),
        "pong" => object(&mut message, "payload").map(|_| ClientMessage::Pong),
        "subscribe" => {
            let (id, parameters) = (id(&mut message)?, Box::new(parameters(&mut message)?));
            Ok(ClientMessage::Subscribe { id, parameters })
        }
        "complete" => Ok(ClientMessage::Complete { id: id(&mut message)? }),
        "connection_ack" | "next" | "error" => Err(bad(format!("a client does not send {kind}"))),
        _ => Err(bad(format!("there is no message of type {kind:?}"))),
    }
}

fn parameters(message: &mut Map<String, Value>) -> Result<Parameters, BadMessage> {
    match message.remove("payload") {
        Some(Value::Object(payload)) => {
            Parameters::deserialize(payload).map_err(|why| bad(format!("payload: {why}")))
        }
        Some(other) => Err(bad(format!("payload is an object, not {}", name(&other)))),
        None => Err(bad("subscribe has no payload")),
    }
}

fn id(message: &mut Map<String, Value>) -> Result<String, BadMessage> {
    match message.remove("id") {
        Some(Value::String(id)) if id.is_empty() => Err(bad("id is empty")),
        Some(Value::String(id)) if id.len() > MAX_ID => Err(bad(format!("id has more than {MAX_ID} bytes"))),
        Some(Value::String(id)) => Ok(id),
        Some(other) => Err(bad(format!("id is a string, not {}", name(&other)))),
        None => Err(bad("the message has no id")),
    }
}

/// An optional member: it may be missing or null.
fn object(of: &mut Map<String, Value>, key: &str) -> Result<Option<Map<String, Value>>, BadMessage> {
    match of.remove(key) {
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(Value::Null) | None => Ok(None),
        Some(other) => Err(bad(format!("{key} is an object, not {}", name(&other)))),
    }
}

fn bad(why: impl Into<String>) -> BadMessage {
    BadMessage(why.into())
}

const fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

pub fn connection_ack() -> Message {
    Message::Text(Utf8Bytes::from_static(r#"{"type":"connection_ack"}"#))
}

/// Answers a ping, with the same payload.
pub fn pong(payload: Option<Map<String, Value>>) -> Message {
    match payload {
        None => Message::Text(Utf8Bytes::from_static(r#"{"type":"pong"}"#)),
        Some(payload) => {
            let payload = Value::Object(payload);
            Message::text(format!(r#"{{"type":"pong","payload":{payload}}}"#))
        }
    }
}

/// One encoded execution result.
pub fn next(id: &str, result: &Bytes) -> Message {
    const AROUND: usize = r#"{"type":"next","id":"","payload":}"#.len();
    let mut text = Vec::with_capacity(AROUND + id.len() + 8 + result.len());
    text.extend_from_slice(br#"{"type":"next","id":"#);
    text.extend_from_slice(Value::from(id).to_string().as_bytes());
    text.extend_from_slice(br#","payload":"#);
    text.extend_from_slice(result);
    text.push(b'}');
    utf8(text)
}

/// Nothing was executed, and nothing follows.
pub fn error(id: &str, errors: &[ServerError]) -> Message {
    let message = serde_json::json!({ "type": "error", "id": id, "payload": errors });
    Message::text(message.to_string())
}

pub fn complete(id: &str) -> Message {
    Message::text(serde_json::json!({ "type": "complete", "id": id }).to_string())
}

fn utf8(text: Vec<u8>) -> Message {
    // JSON is UTF-8.
    Utf8Bytes::try_from(text).map_or_else(|_| Message::text(""), Message::Text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn why(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    fn text(message: Message) -> Value {
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }

    #[test]
    fn messages_that_the_protocol_allows_are_parsed() {
        let subscribe = json!({ "type": "subscribe", "id": "1", "payload": {
            "query": "{ a }", "operationName": null, "variables": { "n": 1 }, "extensions": { "e": [true] } } });
        let ClientMessage::Subscribe { id, parameters } = parse(&subscribe.to_string()).unwrap() else {
            panic!()
        };
        assert_eq!((id.as_str(), &parameters.operation_name), ("1", &None));
        assert_eq!(serde_json::to_value(&parameters.variables).unwrap(), json!({ "n": 1 }));

        for payload in ["", r#","payload":null"#, r#","payload":{}"#] {
            let message = parse(&format!(r#"{{"type":"connection_init"{payload}}}"#));
            assert!(matches!(message, Ok(ClientMessage::ConnectionInit(payload)) if payload.is_empty()));
        }
        assert!(matches!(parse(r#"{"type":"pong","payload":{"a":1}}"#), Ok(ClientMessage::Pong)));
        assert!(matches!(parse(r#"{"type":"ping"}"#), Ok(ClientMessage::Ping(None))));
        let complete = parse(r#"{"type":"complete","id":"x","unknown":1}"#);
        assert!(matches!(complete, Ok(ClientMessage::Complete { id }) if id == "x"));
    }

    #[test]
    fn other_messages_are_refused_with_the_reason() {
        let payload = |payload: &str| format!(r#"{{"type":"subscribe","id":"1","payload":{payload}}}"#);
        for (bad, reason) in [
            ("{", "the message is not JSON: EOF while parsing an object at line 1 column 1"),
            ("[]", "a message is an object, not an array"),
            ("{}", "the message has no type"),
            (r#"{"type":1}"#, "type is a string, not a number"),
            (r#"{"type":"start"}"#, r#"there is no message of type "start""#),
            (r#"{"type":"next","id":"1","payload":{}}"#, "a client does not send next"),
            (r#"{"type":"ping","payload":"x"}"#, "payload is an object, not a string"),
            (r#"{"type":"connection_init","payload":[]}"#, "payload is an object, not an array"),
            (r#"{"type":"complete"}"#, "the message has no id"),
            (r#"{"type":"complete","id":7}"#, "id is a string, not a number"),
            (r#"{"type":"complete","id":""}"#, "id is empty"),
            (r#"{"type":"subscribe","id":"1"}"#, "subscribe has no payload"),
            (&payload("null"), "payload is an object, not null"),
        ] {
            assert_eq!(why(bad), reason, "{bad}");
        }
        for (bad, parameter) in [
            ("{}", "query"),
            (r#"{"query":null}"#, "query"),
            (r#"{"query":7}"#, "query"),
            (r#"{"query":"","operationName":1}"#, "operationName"),
            (r#"{"query":"","variables":[]}"#, "variables"),
            (r#"{"query":"","extensions":"x"}"#, "extensions"),
        ] {
            let reason = why(&payload(bad));
            assert!(reason.starts_with(&format!("payload: {parameter} ")), "{bad}: {reason}");
        }
        let long = format!(r#"{{"type":"complete","id":"{}"}}"#, "x".repeat(MAX_ID + 1));
        assert_eq!(why(&long), "id has more than 256 bytes");
    }

    #[test]
    fn the_server_sends_the_messages_of_the_protocol() {
        let id = "a\"\\\u{1}é";
        assert_eq!(text(connection_ack()), json!({ "type": "connection_ack" }));
        assert_eq!(
            text(next(id, &Bytes::from_static(br#"{"data":{"a":1}}"#))),
            json!({ "type": "next", "id": id, "payload": { "data": { "a": 1 } } })
        );
        let errors = [ServerError::new("wrong", None)];
        assert_eq!(
            text(error(id, &errors)),
            json!({ "type": "error", "id": id, "payload": [{ "message": "wrong" }] })
        );
        assert_eq!(text(complete(id)), json!({ "type": "complete", "id": id }));
        assert_eq!(text(pong(None)), json!({ "type": "pong" }));
        let payload = json!({ "at": 7 }).as_object().cloned();
        assert_eq!(text(pong(payload)), json!({ "type": "pong", "payload": { "at": 7 } }));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,200}") {
            let _ = parse(&text);
        }
    }
}
