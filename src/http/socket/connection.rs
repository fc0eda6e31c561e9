//! State machine of one WebSocket connection: `connection_init` and its answer, then operations, until one side closes
//! it.

use std::{pin::pin, sync::Arc, time::Duration};

use async_graphql::ServerError;
use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use metrics::counter;
use plaudit_traces::TraceParent;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until, timeout};

use super::{
    super::{
        Api, ApiState,
        operation::{OperationStep, StreamedOperation, rejected},
    },
    close::{Close, End},
    deadlines::{Deadlines, Due},
    messages::{self, ClientMessage},
    operations::Operations,
};
use crate::http::{
    connections::{connection::Unfinished, sockets::Transport},
    operators::observe::Observation,
    requests::caller::{ACT_AS, subject_of, viewer_of},
};
use plaudit_catalogue::settings::SocketSettings;
use plaudit_graphql::{ApiError, ApiResult, Caller, Code, Parameters, Viewer};

/// Most bytes of one message from a client. A longer one closes the connection.
pub(super) const MOST_BYTES: usize = 64 << 10;
/// Name of what the client says of its trace, in the payload of `connection_init`.
const TRACE_PARENT: &str = "traceparent";
/// How long a client may take to confirm a close. Until then its messages are read and dropped, because unread data
/// would make TCP discard the close frame.
const CONFIRM_CLOSE: Duration = Duration::from_secs(1);
/// Burst of messages, as a multiple of those per second: a page that was offline subscribes to everything again.
const BURST: u32 = 4;

/// One task per connection. It takes the next message of an operation only after it has sent the previous one, so a
/// slow client needs no queue here: operations keep only the latest change.
pub struct SocketConnection {
    socket: WebSocket,
    unfinished: Unfinished,
    shared: Arc<ApiState>,
    caller: Caller,
    /// What the client says of its trace, for operations that do not say it themselves.
    traceparent: Option<TraceParent>,
    is_initialised: bool,
    operations: Operations,
    deadlines: Deadlines,
    messages: DefaultDirectRateLimiter,
}

impl SocketConnection {
    /// `traceparent`: of the upgrade.
    pub fn new(
        socket: WebSocket,
        unfinished: Unfinished,
        shared: Arc<ApiState>,
        caller: Caller,
        traceparent: Option<TraceParent>,
    ) -> Self {
        let settings = shared.api.sockets.settings();
        let quota = Quota::per_second(settings.socket_messages);
        let burst = settings.socket_messages.saturating_mul(BURST.try_into().unwrap_or(quota.burst_size()));
        // The socket of a gateway carries the operations of all its clients.
        let most = if caller.is_gateway { u32::MAX } else { settings.socket_subscriptions };
        Self {
            socket,
            unfinished,
            caller,
            traceparent,
            is_initialised: false,
            operations: Operations::new(most),
            deadlines: Deadlines::new(
                shared.api.requests.client_timeout,
                settings.socket_ping,
                Instant::now(),
            ),
            messages: RateLimiter::direct(quota.allow_burst(burst)),
            shared,
        }
    }

    pub async fn serve(mut self) {
        let end = self.run().await;
        counter!("plaudit_socket_closes_total", "code" => end.label()).increment(1);
        self.operations.stop_all();
        self.finish(end).await;
    }

    async fn run(&mut self) -> End {
        let mut stopping = pin!(self.shared.api.sockets.stopping());
        let mut timer = pin!(sleep_until(self.deadlines.earliest()));
        loop {
            // Polled in random order, so that neither operations nor the client can starve the others.
            let result = tokio::select! {
                () = &mut stopping => Err(Close::SERVICE_RESTART.into()),
                () = &mut timer => self.check_deadlines().await,
                Some((id, step)) = self.operations.next() => self.send_step(&id, step).await,
                received = self.socket.recv() => self.receive(received).await,
            };
            if let Err(end) = result {
                return end;
            }
            if timer.deadline() != self.deadlines.earliest() {
                timer.as_mut().reset(self.deadlines.earliest());
            }
        }
    }

    async fn check_deadlines(&mut self) -> Result<(), End> {
        match self.deadlines.due(Instant::now()) {
            Due::InitTimeout => Err(Close::INIT_TIMEOUT.into()),
            Due::TokenExpiry => Err(Close::TOKEN_EXPIRED.into()),
            Due::Dead => Err(End::Lost),
            Due::Ping => self.send(Message::Ping(Bytes::new())).await,
            Due::Nothing => Ok(()),
        }
    }

    async fn receive(&mut self, received: Option<Result<Message, axum::Error>>) -> Result<(), End> {
        let message = match received {
            Some(Ok(message)) => message,
            Some(Err(error)) => return Err(Close::of_failure(error, MOST_BYTES)),
            None => return Err(End::Lost),
        };
        self.unfinished.finished();
        self.deadlines.message_received();
        if !self.caller.is_gateway && self.messages.check().is_err() {
            return Err(Close::too_many_messages(self.settings().socket_messages.get()).into());
        }
        match message {
            Message::Text(text) => self.take(&text).await,
            // Text in a binary message is accepted, as graphql-ws does.
            Message::Binary(bytes) => match str::from_utf8(&bytes) {
                Ok(text) => self.take(text).await,
                Err(_) => Err(Close::bad_message("a binary message must be UTF-8 text").into()),
            },
            // Frames of RFC 6455; the library answers pings.
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => Err(End::ByClient),
        }
    }

    async fn take(&mut self, text: &str) -> Result<(), End> {
        match messages::parse(text).map_err(|why| Close::bad_message(&why.to_string()))? {
            ClientMessage::ConnectionInit(payload) => {
                self.initialise(&payload).await?;
                self.send(messages::connection_ack()).await
            }
            ClientMessage::Ping(payload) => self.send(messages::pong(payload)).await,
            ClientMessage::Pong => Ok(()),
            ClientMessage::Subscribe { id, parameters } => self.subscribe(id, *parameters).await,
            ClientMessage::Complete { id } => {
                self.operations.stop(&id);
                Ok(())
            }
        }
    }

    /// A token in the payload replaces the one in the header of the upgrade, and so does the user for whom a
    /// service acts.
    async fn initialise(&mut self, payload: &Map<String, Value>) -> Result<(), Close> {
        if self.is_initialised {
            return Err(Close::SECOND_INIT);
        }
        let viewer = viewer_by(payload, &self.caller, &self.shared.api).await;
        self.caller.viewer = viewer.map_err(Close::unauthenticated)?;
        self.traceparent =
            text_in(payload, TRACE_PARENT).and_then(|text| text.parse().ok()).or(self.traceparent);
        self.is_initialised = true;
        self.deadlines.initialised(self.caller.viewer.expires_at());
        Ok(())
    }

    async fn subscribe(&mut self, id: String, parameters: Parameters) -> Result<(), End> {
        if !self.is_initialised {
            return Err(Close::UNAUTHORIZED.into());
        }
        if self.operations.has(&id) {
            return Err(Close::subscriber_exists(&id).into());
        }
        let observed = Observation::begin(Transport::WebSocket, parameters.traceparent.or(self.traceparent));
        if self.operations.is_full() {
            observed.end(Code::LimitExceeded.name(), None);
            let error = too_many_operations(self.settings().socket_subscriptions);
            return self.send(messages::error(&id, &[error])).await;
        }
        let operation =
            StreamedOperation::prepare(Arc::clone(&self.shared), parameters, self.caller.clone(), observed);
        // It may wait for others, and the connection goes on.
        let steps = operation.map(|operation| operation.map_or_else(rejected, StreamedOperation::run));
        self.operations.start(id, steps.flatten_stream().boxed());
        Ok(())
    }

    async fn send_step(&mut self, id: &str, step: OperationStep) -> Result<(), End> {
        let message = match step {
            OperationStep::Next(result) => messages::next(id, &result),
            OperationStep::Rejected(errors) => {
                self.operations.stop(id);
                messages::error(id, &errors)
            }
            OperationStep::Complete => {
                self.operations.stop(id);
                messages::complete(id)
            }
        };
        self.send(message).await
    }

    /// Returns when the operating system has taken the message.
    async fn send(&mut self, message: Message) -> Result<(), End> {
        match timeout(self.shared.api.requests.client_timeout, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Lost),
        }
    }

    async fn finish(&mut self, end: End) {
        match end {
            End::Lost => return,
            End::ByClient => {}
            End::Closed(close) => {
                if self.send(Message::Close(Some(close.frame()))).await.is_err() {
                    return;
                }
            }
        }
        let confirmed = async { while let Some(Ok(_)) = self.socket.recv().await {} };
        let _ = timeout(CONFIRM_CLOSE, confirmed).await;
    }

    fn settings(&self) -> &SocketSettings {
        self.shared.api.sockets.settings()
    }
}

/// The viewer by the payload of `connection_init`, and by the upgrade's headers what the payload lacks.
async fn viewer_by(payload: &Map<String, Value>, of_upgrade: &Caller, api: &Api) -> ApiResult<Viewer> {
    let (mut token, mut acted_for) = of_upgrade.viewer.parts();
    if let Some(authorization) = text_in(payload, "Authorization") {
        token = viewer_of(authorization, api, of_upgrade.limited_address()).await?;
    }
    if let Some(subject) = text_in(payload, ACT_AS) {
        acted_for = Some(subject_of(subject)?);
    }
    acted_for.map_or(Ok(token.clone()), |subject| token.acting_for(subject))
}

/// A text of the payload; its name may be in small letters, too.
fn text_in<'a>(payload: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    let value = payload.get(name).or_else(|| payload.get(&name.to_ascii_lowercase()))?;
    // A value that is no text can be neither token nor subject; as an empty one it is refused.
    Some(value.as_str().unwrap_or_default())
}

fn too_many_operations(limit: u32) -> ServerError {
    let message =
        format!("{limit} operations run on this connection, which is the limit; complete one first");
    ApiError::new(Code::LimitExceeded, message).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_token_may_be_in_either_spelling_of_authorization() {
        for (payload, token) in [
            (json!({ "Authorization": "Bearer a" }), Some("Bearer a")),
            (json!({ "authorization": "Bearer a" }), Some("Bearer a")),
            (json!({ "authorization": 7 }), Some("")),
            (json!({}), None),
        ] {
            assert_eq!(text_in(payload.as_object().unwrap(), "Authorization"), token);
        }
    }
}
