//! Connections of clients: accepting them, their limits, and which makes room for another.

pub(super) mod connection;
pub(super) mod idle;
pub(super) mod listener;
pub(super) mod serve;
pub(super) mod sockets;

use axum::http::StatusCode;

use plaudit_domain::Full;
use plaudit_graphql::{ApiError, Code};

/// When clients that are refused may try again, in seconds.
const RETRY_AFTER_S: u32 = 5;

/// The answer to a client that may open no more of `what`; `in_all`: if nobody may.
fn refusal(full: Full, what: &str, in_all: &str) -> (StatusCode, ApiError) {
    match full {
        Full::OfNetwork(network, most) => {
            let message = format!("{most} {what} are open from your network {network}; close one first");
            (StatusCode::TOO_MANY_REQUESTS, ApiError::too_often(message, RETRY_AFTER_S))
        }
        Full::InAll | Full::OfUser => {
            (StatusCode::SERVICE_UNAVAILABLE, ApiError::new(Code::RetryLater, in_all))
        }
    }
}
