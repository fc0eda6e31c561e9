//! Close codes of WebSockets, from `graphql-transport-ws` (4xxx) and RFC 6455 (1xxx). Each reason fits into its
//! frame.

use axum::extract::ws::CloseFrame;
use std::borrow::Cow;

use tokio_tungstenite::tungstenite;

use crate::http::connections::connection::TooManyFragments;
use plaudit_graphql::ApiError;

/// Longest reason that fits into a close frame, in bytes (RFC 6455, 5.5).
const MAX_REASON: usize = 123;

/// How a connection ends.
#[derive(Debug)]
pub enum End {
    /// By this server, with a code.
    Closed(Close),
    /// By the client; the server answers its close frame.
    ByClient,
    /// Without a close frame: the network failed, or the client no longer reads or answers.
    Lost,
}

/// A close code, and a reason for people.
#[derive(PartialEq, Eq, Debug)]
pub struct Close {
    code: u16,
    reason: Cow<'static, str>,
}

impl Close {
    /// The server stops; clients reconnect by themselves.
    pub const SERVICE_RESTART: Self = Self::of(1012, "Service restart");
    pub const INIT_TIMEOUT: Self = Self::of(4408, "Connection initialisation timeout");
    pub const UNAUTHORIZED: Self = Self::of(4401, "Unauthorized");
    pub const SECOND_INIT: Self = Self::of(4429, "Too many initialisation requests");
    pub const NO_SUBPROTOCOL: Self = Self::of(4406, "Subprotocol not acceptable");
    pub const TOKEN_EXPIRED: Self = Self::of(4403, "Forbidden: the token has expired; get a new one");

    const fn of(code: u16, reason: &'static str) -> Self {
        Self { code, reason: Cow::Borrowed(reason) }
    }

    fn new(code: u16, reason: String) -> Self {
        Self { code, reason: shortened(reason).into() }
    }

    pub fn bad_message(why: &str) -> Self {
        Self::new(4400, why.to_owned())
    }

    /// With 4403 clients get another token, with 1013 they try again after a pause.
    pub fn unauthenticated(why: ApiError) -> Self {
        let code = if why.retry_after().is_some() { 1013 } else { 4403 };
        let why = why.message().to_owned();
        Self::new(code, if code == 4403 { format!("Forbidden: {why}") } else { why })
    }

    pub fn subscriber_exists(id: &str) -> Self {
        const EXISTS: &str = " already exists";
        let mut id = id.to_owned();
        id.truncate(id.floor_char_boundary(MAX_REASON - "Subscriber for ".len() - EXISTS.len()));
        Self::new(4409, format!("Subscriber for {id}{EXISTS}"))
    }

    /// A code of RFC 6455. Clients do not reconnect after it, as after 4429, which has another meaning.
    pub fn too_many_messages(per_second: u32) -> Self {
        Self::new(1008, format!("Too many messages: {per_second} per second are allowed"))
    }

    /// The close after data that is no message of RFC 6455 or is too long; `None` for a failure of the connection.
    fn unreadable(error: &tungstenite::Error, limit: usize) -> Option<Self> {
        use tungstenite::{Error, error::ProtocolError};
        match error {
            Error::Capacity(_) => Some(Self::new(1009, format!("A message has at most {limit} bytes"))),
            Error::Io(why) => {
                let too_many = why.get_ref()?.downcast_ref::<TooManyFragments>()?;
                Some(Self::new(1009, too_many.to_string()))
            }
            Error::Utf8(_) => Some(Self::of(1007, "A text message must be UTF-8")),
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => None,
            Error::Protocol(why) => Some(Self::new(1002, why.to_string())),
            _ => None,
        }
    }

    /// The close after a message that could not be received.
    pub fn of_failure(error: axum::Error, limit: usize) -> End {
        let error = error.into_inner();
        let why = error.downcast_ref().and_then(|error| Self::unreadable(error, limit));
        why.map_or(End::Lost, End::Closed)
    }

    pub fn frame(self) -> CloseFrame {
        CloseFrame { code: self.code, reason: self.reason.as_ref().into() }
    }
}

impl From<Close> for End {
    fn from(close: Close) -> Self {
        Self::Closed(close)
    }
}

impl End {
    /// The label of the metric. Codes that clients send are not labels, because they could send thousands of different
    /// ones.
    pub fn label(&self) -> String {
        match self {
            Self::Closed(close) => close.code.to_string(),
            Self::ByClient => "1000".to_owned(),
            Self::Lost => "1006".to_owned(),
        }
    }
}

fn shortened(mut reason: String) -> String {
    reason.truncate(reason.floor_char_boundary(MAX_REASON));
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_fits_into_its_frame() {
        assert_eq!(Close::bad_message(&"é".repeat(100)).reason, "é".repeat(61));
        assert_eq!(Close::bad_message("short").reason, "short");
    }

    #[test]
    fn a_long_id_is_truncated_and_the_end_of_the_reason_is_not() {
        let reason = Close::subscriber_exists(&"é".repeat(100)).reason;
        assert!(reason.len() <= MAX_REASON && reason.ends_with("é already exists"), "{reason}");
        assert_eq!(Close::subscriber_exists("7").reason, "Subscriber for 7 already exists");
    }
}
