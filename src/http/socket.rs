//! GraphQL over WebSocket (`graphql-transport-ws`): `/graphql/ws`.

use std::sync::Arc;

use async_graphql::{
    Data, Error,
    http::{WebSocket as Protocol, WebSocketProtocols, WsMessage},
};
use axum::{
    extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures_util::{SinkExt, StreamExt, future::ready};

use super::{
    Shared, State,
    caller::{SentBy, viewer_of},
    refusal::Refusal,
};
use crate::graphql::{ApiError, ApiResult, Caller, Code, Viewer};

const PROTOCOL: WebSocketProtocols = WebSocketProtocols::GraphQLWS;

/// Bytes of one message from a client.
const MAX_MESSAGE: usize = 64 * 1024;
/// Bytes of each buffer of a connection. The defaults cost 130 KiB per connection more.
const BUFFER: usize = 4 * 1024;
/// Longest reason that fits into a close frame, in bytes.
const MAX_REASON: usize = 123;

/// RFC 6455's registry of close codes: the service is restarted, the client may reconnect.
const SERVICE_RESTART: u16 = 1012;

/// Begins the reason of a close when the token was refused.
const FORBIDDEN: &str = "Forbidden: ";

/// Upgrades to a WebSocket. A token may come with this request, or with `connection_init`, which browsers
/// need; the latter wins.
pub async fn open(state: State, SentBy(caller): SentBy, upgrade: WebSocketUpgrade) -> Response {
    let upgrade = upgrade
        .protocols([PROTOCOL.sec_websocket_protocol()])
        .max_message_size(MAX_MESSAGE)
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER);
    if upgrade.selected_protocol().is_none() {
        let message = format!("Sec-WebSocket-Protocol must offer {}", PROTOCOL.sec_websocket_protocol());
        let error = ApiError::new(Code::BadUserInput, message);
        return Refusal::new(StatusCode::BAD_REQUEST, error).into_response();
    }
    let shared = Arc::clone(&state.0);
    let sockets = shared.api.sockets.clone();
    upgrade.on_upgrade(move |socket| sockets.track(serve(socket, shared, caller)))
}

async fn serve(socket: WebSocket, shared: Arc<Shared>, caller: Caller) {
    let (mut replies_to, received) = socket.split();
    let messages = received
        .take_while(|message| ready(message.is_ok()))
        .filter_map(|message| ready(message.ok().filter(is_data).map(Message::into_data)));
    let (engine, sockets) = (shared.engine.clone(), shared.api.sockets.clone());
    let mut replies = std::pin::pin!(
        Protocol::new(engine, messages, PROTOCOL)
            .on_connection_init(async move |payload| sign_in(&payload, caller, &shared).await)
    );
    loop {
        let next = tokio::select! {
            next = replies.next() => next,
            () = sockets.stopping() => Some(elsewhere()),
        };
        let Some(reply) = next else { return };
        let is_last = matches!(reply, WsMessage::Close(..));
        if replies_to.send(frame(reply)).await.is_err() || is_last {
            return;
        }
    }
}

/// This server stops; clients come back by themselves, and find another one or the next.
fn elsewhere() -> WsMessage {
    WsMessage::Close(SERVICE_RESTART, "Service restart".to_owned())
}

const fn is_data(message: &Message) -> bool {
    matches!(message, Message::Text(_) | Message::Binary(_))
}

/// What `connection_init` brings: the viewer of everything on this connection.
async fn sign_in(payload: &serde_json::Value, caller: Caller, shared: &Shared) -> Result<Data, Error> {
    let viewer = match token_in(payload) {
        Some(authorization) => refuse_bad(viewer_of(authorization, &shared.api.verifier).await)?,
        None => caller.viewer,
    };
    let mut data = Data::default();
    data.insert(Caller { viewer, ..caller });
    Ok(data)
}

fn token_in(payload: &serde_json::Value) -> Option<&str> {
    let value = payload.get("Authorization").or_else(|| payload.get("authorization"))?;
    // What is no text cannot be a token; as an empty one it is refused.
    Some(value.as_str().unwrap_or_default())
}

fn refuse_bad(viewer: ApiResult<Viewer>) -> Result<Viewer, Error> {
    viewer.map_err(|error| {
        let error = Error::from(error);
        Error { message: format!("{FORBIDDEN}{}", error.message), ..error }
    })
}

fn frame(reply: WsMessage) -> Message {
    match reply {
        WsMessage::Text(text) => Message::Text(text.into()),
        WsMessage::Close(code, reason) => {
            let code = close_code(code, &reason);
            Message::Close(Some(CloseFrame { code, reason: shortened(reason).into() }))
        }
    }
}

/// The engine's codes are not those of the protocol, and clients decide by them whether to come back.
fn close_code(engines: u16, reason: &str) -> u16 {
    match engines {
        1002 if reason.starts_with(FORBIDDEN) => 4403,
        // Not a message of the protocol.
        1002 => 4400,
        // Subscribed before the connection was acknowledged.
        1011 => 4401,
        other => other,
    }
}

fn shortened(mut reason: String) -> String {
    reason.truncate(reason.floor_char_boundary(MAX_REASON));
    reason
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_token_is_found_in_either_spelling() {
        assert_eq!(token_in(&json!({ "Authorization": "Bearer a" })), Some("Bearer a"));
        assert_eq!(token_in(&json!({ "authorization": "Bearer a" })), Some("Bearer a"));
        assert_eq!(token_in(&json!({ "authorization": 7 })), Some(""));
        assert_eq!(token_in(&json!({})), None);
        assert_eq!(token_in(&json!(null)), None);
    }

    #[test]
    fn a_connection_is_closed_with_the_protocols_codes() {
        let refused = refuse_bad(Err(ApiError::no_token())).unwrap_err().message;
        assert_eq!(close_code(1002, &refused), 4403);
        assert_eq!(close_code(1002, "expected value at line 1"), 4400);
        assert_eq!(close_code(4429, "Too many initialisation requests."), 4429);
    }

    #[test]
    fn a_reason_fits_into_its_frame() {
        assert_eq!(shortened("é".repeat(100)), "é".repeat(61));
        assert_eq!(shortened("short".into()), "short");
    }
}
