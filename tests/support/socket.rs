//! A client of `graphql-transport-ws`.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest, protocol::CloseFrame},
};

const PATIENCE: Duration = Duration::from_secs(20);

/// An initialised connection.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Socket {
    pub async fn open(url: &str, token: Option<String>) -> Self {
        let mut socket = Self::connect(url).await;
        let payload = token.map_or(json!({}), |token| json!({ "Authorization": format!("Bearer {token}") }));
        socket.send(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(socket.receive().await["type"], "connection_ack");
        socket
    }

    /// Connected, but not initialised.
    pub async fn connect(url: &str) -> Self {
        let url = format!("{}/graphql/ws", url.replace("http://", "ws://"));
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse().unwrap());
        let (stream, _) = connect_async(request).await.unwrap();
        Self { stream }
    }

    pub async fn send(&mut self, message: Value) {
        self.stream.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message of the protocol.
    pub async fn receive(&mut self) -> Value {
        match self.next().await {
            Ok(message) => message,
            Err(closed) => panic!("closed: {closed:?}"),
        }
    }

    async fn next(&mut self) -> Result<Value, Option<CloseFrame>> {
        loop {
            let message =
                tokio::time::timeout(PATIENCE, self.stream.next()).await.expect("a message in time");
            match message {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => return Err(frame),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    /// The close code, whatever comes before.
    pub async fn close_code(&mut self) -> u16 {
        loop {
            if let Err(frame) = self.next().await {
                return frame.map_or(0, |frame| frame.code.into());
            }
        }
    }

    pub async fn subscribe(&mut self, id: &str, query: &str, variables: Value) {
        let payload = json!({ "query": query, "variables": variables });
        self.send(json!({ "type": "subscribe", "id": id, "payload": payload })).await;
    }

    /// The `data` of the next message.
    pub async fn data(&mut self) -> Value {
        let message = self.receive().await;
        assert_eq!(message["type"], "next", "{message}");
        message["payload"]["data"].clone()
    }

    pub async fn watch_notes(&mut self, notes: &[&str]) {
        let query = "subscription ($n: [ID!]!) {
            noteCountsChanged(noteIds: $n) { __typename id likeCount countsVersion viewerHasLiked } }";
        self.subscribe("notes", query, json!({ "n": notes })).await;
    }

    /// Reads note messages until one satisfies `accept`; versions must never go backwards.
    pub async fn note_until(&mut self, accept: impl Fn(&Value) -> bool) -> Value {
        let mut newest = 0;
        loop {
            let note = self.data().await["noteCountsChanged"].clone();
            let version = note["countsVersion"].as_u64().unwrap();
            assert!(version >= newest, "a version went backwards: {note}");
            newest = version;
            if accept(&note) {
                return note;
            }
        }
    }
}
