//! GraphQL over WebSocket, `/graphql/ws`: the protocol `graphql-transport-ws`, as PROTOCOL.md of graphql-ws
//! specifies.
//!
//! - [`connection`]: the state of one connection, and how it handles each message
//! - [`messages`]: reading and writing messages; [`close`]: close codes and reasons
//! - [`operations`]: the running operations of a connection; [`deadlines`]: its time limits
//! - [`fuzzing`]: properties for the fuzz tests

mod close;
mod connection;
mod deadlines;
#[doc(hidden)]
pub mod fuzzing;
mod messages;
mod operations;

use std::sync::Arc;

use axum::{
    Extension,
    extract::ws::{Message, WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use plaudit_traces::TraceParent;

use super::{
    SharedApiState,
    connections::{connection::Unfinished, sockets::Transport},
    requests::{account, caller::SentBy, request_error::RequestError},
};
use close::Close;
use connection::{MOST_BYTES, SocketConnection};
pub(super) use deadlines::until;

const SUBPROTOCOL: &str = "graphql-transport-ws";

/// Bytes of each buffer of a connection. The default sizes take 130 KiB more per connection.
const BUFFER: usize = 4 * 1024;

/// Upgrades to a WebSocket. The token may be in a header of this request or in `connection_init`, because browsers
/// cannot set headers; the token of `connection_init` takes precedence.
pub(super) async fn open(
    state: SharedApiState,
    SentBy(caller): SentBy,
    traceparent: Option<Extension<TraceParent>>,
    unfinished: Option<Extension<Unfinished>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, RequestError> {
    account::admit(&state, caller.limited_address())?;
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(why) => return Ok(why.into_response()),
    };
    let Some(Extension(unfinished)) = unfinished else { return Ok(StatusCode::BAD_REQUEST.into_response()) };
    let (shared, traceparent) = (Arc::clone(&state.0), traceparent.map(|Extension(parent)| parent));
    let place = shared.api.sockets.admit(caller.limited_address(), Transport::WebSocket)?;
    unfinished.limit(MOST_BYTES);
    let upgrade = upgrade
        .protocols([SUBPROTOCOL])
        .max_message_size(MOST_BYTES)
        .max_frame_size(MOST_BYTES)
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER);
    let has_subprotocol = upgrade.selected_protocol().is_some();
    Ok(upgrade.on_upgrade(async move |socket| {
        if has_subprotocol {
            SocketConnection::new(socket, unfinished, shared, caller, traceparent).serve().await;
        } else {
            refuse(socket).await;
        }
        drop(place);
    }))
}

/// Closes with a code after the upgrade, because browsers do not show a page why an upgrade failed.
async fn refuse(mut socket: WebSocket) {
    let _ = socket.send(Message::Close(Some(Close::NO_SUBPROTOCOL.frame()))).await;
}
