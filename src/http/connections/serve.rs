//! Accepts connections and serves HTTP/1.1 on them until a stop.

use std::{net::SocketAddr, pin::pin, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode, header},
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

use super::{
    connection::{AnswerBody, Phase, TimedStream, Unfinished},
    listener::{Connections, MadeRoom},
};
use plaudit_catalogue::settings::RequestSettings;

/// Longest head of a request, in bytes: more than hyper's longest URL (64 KiB), so that a longer one is 414 and
/// not 431. hyper limits it to 100 lines, its default; another number costs allocations.
const MAX_HEAD: usize = 72 * 1024;

/// Serves until `stop`, then completes the requests in progress.
pub async fn serve(
    mut listener: TcpListener,
    router: Router,
    settings: Arc<RequestSettings>,
    connections: Connections,
    stop: CancellationToken,
) {
    let tasks = TaskTracker::new();
    // `accept` retries after errors such as too many open files.
    while let Some((stream, address)) = stop.run_until_cancelled(Listener::accept(&mut listener)).await {
        let Some((stream, open)) = connections.admit(stream, address) else { continue };
        let client = (address, Phase::new(open));
        tasks.spawn(serve_one(stream, client, router.clone(), Arc::clone(&settings), stop.clone()));
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

/// Until either side ends the connection, or until it makes room for another one while it has no request.
async fn serve_one(
    stream: TcpStream,
    (address, phase): (SocketAddr, Phase),
    router: Router,
    settings: Arc<RequestSettings>,
    stop: CancellationToken,
) {
    // Answers are written whole, so Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    let unfinished = Unfinished::default();
    let (head, send) = (settings.client_timeout, settings.send_timeout());
    let io = TokioIo::new(TimedStream::new(stream, (phase.clone(), unfinished.clone()), head, send));
    let service = service(router, address, phase.clone(), unfinished);
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
        () = phase.makes_room() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// The router with the address of the client; records in `phase` when a request begins and ends.
fn service(
    router: Router,
    address: SocketAddr,
    phase: Phase,
    unfinished: Unfinished,
) -> impl Service<Request<Incoming>, Response = Response<AnswerBody>, Error = MadeRoom, Future: Send> {
    let router = TowerToHyperService::new(router);
    service_fn(move |mut request: Request<Incoming>| {
        let begun = phase.request_begins();
        request.extensions_mut().insert(ConnectInfo(address));
        if request.headers().contains_key(header::UPGRADE) {
            request.extensions_mut().insert(unfinished.clone());
        }
        let (response, phase) = (router.call(request.map(Body::new)), phase.clone());
        async move {
            begun?;
            let Ok(response) = response.await;
            let ends = if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                phase.is_upgraded();
                None
            } else {
                Some(phase)
            };
            Ok(response.map(|body| AnswerBody::new(body, ends)))
        }
    })
}
