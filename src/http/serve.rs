//! Accepts connections and serves HTTP/1.1 on them until a stop.

use std::{convert::Infallible, net::SocketAddr, pin::pin, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode},
    response::Response,
    serve::Listener,
};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::connection::{Phase, TimedStream};
use crate::settings::RequestSettings;

/// Longest head of a request, in bytes. hyper limits it to 100 lines, its default; another number costs allocations.
const MAX_HEAD: usize = 64 * 1024;

/// Serves until `stop`, then completes the requests in progress.
pub async fn serve(
    mut listener: TcpListener,
    router: Router,
    settings: Arc<RequestSettings>,
    stop: CancellationToken,
) {
    let connections = TaskTracker::new();
    // `accept` retries after errors such as too many open files.
    while let Some((stream, address)) = stop.run_until_cancelled(Listener::accept(&mut listener)).await {
        connections.spawn(serve_one(stream, address, router.clone(), Arc::clone(&settings), stop.clone()));
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn serve_one(
    stream: TcpStream,
    address: SocketAddr,
    router: Router,
    settings: Arc<RequestSettings>,
    stop: CancellationToken,
) {
    // Answers are written whole, so Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    let phase = Phase::default();
    let io =
        TokioIo::new(TimedStream::new(stream, phase.clone(), settings.header_timeout, settings.send_timeout));
    let service = service(router, address, phase);
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(settings.idle_timeout)
            .max_header_size(MAX_HEAD)
            .max_buf_size(MAX_HEAD)
            .serve_connection(io, service)
            .with_upgrades()
    );
    tokio::select! {
        // Errors of a connection concern only its client.
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// The router with the address of the client; records in `phase` when a request begins and ends.
fn service(
    router: Router,
    address: SocketAddr,
    phase: Phase,
) -> impl Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send> {
    let router = TowerToHyperService::new(router);
    service_fn(move |mut request: Request<Incoming>| {
        phase.request_begins();
        request.extensions_mut().insert(ConnectInfo(address));
        let (response, phase) = (router.call(request.map(Body::new)), phase.clone());
        async move {
            let response = response.await?;
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                phase.request_ends();
            }
            Ok(response)
        }
    })
}
