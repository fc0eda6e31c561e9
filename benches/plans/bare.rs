//! A handler that reads the request and answers the bytes of `{ __typename }`, served as Plaudit's own routes are. It runs
//! in a process of its own: this program again, with a variable set.

use std::sync::Arc;

use axum::{Router, http::header::CONTENT_TYPE, routing::post};
use bytes::Bytes;
use plaudit::http::{self, Connections};
use plaudit_catalogue::settings::Settings;
use plaudit_domain::Payers;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::support::Outcome;

/// The variable that makes this program the bare server.
pub const VARIABLE: &str = "BENCH_BARE_HANDLER";
const ANSWER: &str = r#"{"data":{"__typename":"Query"}}"#;

pub fn is_asked_for() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Serves until it is killed.
#[tokio::main]
pub async fn serve() -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    let answer = async |_: Bytes| ([(CONTENT_TYPE, "application/json; charset=utf-8")], ANSWER);
    let router = Router::new().route("/graphql", post(answer));
    let settings = Settings::default();
    let payers = Arc::new(Payers::new(&settings.domain.rates, settings.domain.subscription_memory));
    let connections = Connections::new(&settings, settings.requests.connections, payers);
    http::serve(listener, router, settings.requests.into(), connections, CancellationToken::new()).await;
    Ok(())
}
