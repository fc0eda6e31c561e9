//! What is answered without executing GraphQL counts for the client's address, too: pages, metrics, preflights,
//! upgrades to a WebSocket, and what is refused.
//!
//! `/livez` and `/readyz` do not: they are answered from memory, which takes no longer than to refuse them, and those
//! who ask them (a kubelet, a balancer) may have the address of clients, whose requests must not end this process.

use std::net::IpAddr;

use axum::{
    body::HttpBody,
    extract::Request,
    http::{header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{address::client_address, request_error::RequestError};
use crate::http::{ApiState, SharedApiState};
use plaudit_domain::{PerClass, RateClass, Requester, Work};
use plaudit_graphql::{ApiError, Code};

/// Middleware: answers count like answers of GraphQL, by their bytes and at least as one read. Beyond the limit
/// it is 429.
pub async fn charge(state: SharedApiState, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let address = limited_address(&state, &parts);
    if let Err(refusal) = admit(&state, address) {
        return refusal.into_response();
    }
    let response = next.run(Request::from_parts(parts, body)).await;
    let bytes = response.body().size_hint().exact().unwrap_or_default();
    let beyond_the_first = Work { bytes, ..Work::default() }.cost().units() - 1;
    if beyond_the_first > 0 {
        let rates = state.api.plaudit.rates();
        rates.charge(
            &rates.payer(Some(Requester::of_address(address))),
            &PerClass::of_reads(beyond_the_first),
        );
    }
    response
}

/// A refusal counts as a read; beyond the limit of reads, the answer is `RATE_LIMITED`. A refused token is counted
/// where it is examined.
pub fn refuse(state: &ApiState, parts: &Parts, refusal: RequestError) -> RequestError {
    if [Code::Unauthenticated, Code::RateLimited].iter().any(|code| code.name() == refusal.code()) {
        return refusal;
    }
    admit(state, limited_address(state, parts)).err().unwrap_or(refusal)
}

/// All other methods at `/graphql`.
pub async fn refuse_method(state: SharedApiState, request: Request) -> RequestError {
    let refusal = RequestError::of_method("use POST, or GET for queries", "GET, HEAD, POST");
    refuse(&state, &request.into_parts().0, refusal)
}

/// Counts one read. `address`: `None` for those who ask for many clients.
///
/// # Errors
/// 429 beyond the limit of the address.
pub fn admit(state: &ApiState, address: Option<IpAddr>) -> Result<(), RequestError> {
    let rates = state.api.plaudit.rates();
    let payer = rates.payer(Some(Requester::of_address(address)));
    rates.admit(&payer, &PerClass::one(RateClass::Read)).map_err(|error| {
        let error = ApiError::from(error);
        let seconds = error.retry_after().unwrap_or_default();
        RequestError::of(error).with_header(header::RETRY_AFTER, seconds.into())
    })
}

/// `None` for a gateway.
pub fn limited_address(state: &ApiState, parts: &Parts) -> Option<IpAddr> {
    let requests = &state.api.requests;
    let client = client_address(parts, &requests.trusted_proxies);
    (!(requests.federation && client.is_proxy)).then_some(client.address)
}
