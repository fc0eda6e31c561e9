//! `plaudit serve`: starts what the process's roles need, runs until a signal, stops in the opposite order.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use metrics_exporter_prometheus::PrometheusHandle;
use parking_lot::Mutex;
use plaudit_demo_data::SeedSize;
use tokio::{net::TcpListener, signal::unix};
use tokio_util::sync::CancellationToken;

use super::{
    AppError, api, api::ApiRole, keys::TokenKeys, metrics, open_files, pipeline::PipelineRole,
    readiness::Checks, stores::Stores,
};
use crate::{
    http::{self, Connections, Sockets},
    primitives::ShardCount,
    seed::{progress_bar, seed},
    settings::{ProcessRole, Settings},
    store::sql::Db,
};

/// How long running requests may take after a signal.
const FINISH_REQUESTS: Duration = Duration::from_secs(5);
/// How long a stop waits until every socket is closed.
const CLOSE_SOCKETS: Duration = Duration::from_secs(2);
/// How often a process reads whether the number of shards has changed.
const LAYOUT_READ_EVERY: Duration = Duration::from_secs(1);

/// Runs until SIGINT or SIGTERM. When the number of shards has changed, the roles end as at a stop and start again; the
/// listener and embedded stores stay.
pub async fn serve(settings: Settings) -> Result<(), AppError> {
    open_files::raise_limit();
    let listener = listen(settings.server.listen).await?.into_std()?;
    // Before the stores, because they count from their first call.
    let metrics = metrics::install().map_err(std::io::Error::other)?;
    api::documents(&settings.documents)?; // before the stores, because it may fail
    let mut stores = Stores::open(&settings).await?;
    if settings.seed_if_empty {
        seed_if_empty(&stores.pipeline_db).await?;
    }
    let signal = stop_signal()?;
    let listener = kept_until(signal.clone(), listener);
    let mut is_first = true;
    loop {
        let Some(listener) = listener.lock().as_ref().map(std::net::TcpListener::try_clone) else { break };
        let stop = signal.child_token();
        let changed =
            tokio::spawn(until_layout_changes(stores.db.clone(), stores.redis.shards(), stop.clone()));
        let listener = TcpListener::from_std(listener?)?;
        serve_layout(&settings, &stores, listener, metrics.clone(), stop, is_first).await?;
        changed.abort();
        if signal.is_cancelled() {
            break;
        }
        is_first = false;
        connect_again(&mut stores, &settings, &signal).await;
    }
    stores.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// The listener stays while roles end and start again. It is closed at the signal, so that no connection waits for a
/// process that ends.
fn kept_until(
    signal: CancellationToken,
    listener: std::net::TcpListener,
) -> Arc<Mutex<Option<std::net::TcpListener>>> {
    let kept = Arc::new(Mutex::new(Some(listener)));
    let held = Arc::clone(&kept);
    tokio::spawn(async move {
        signal.cancelled().await;
        held.lock().take();
    });
    kept
}

/// Serves until `stop`.
async fn serve_layout(
    settings: &Settings,
    stores: &Stores,
    listener: TcpListener,
    metrics: PrometheusHandle,
    stop: CancellationToken,
    is_first: bool,
) -> Result<(), AppError> {
    let address = listener.local_addr()?;
    let documents = api::documents(&settings.documents)?;
    let pipeline = settings.runs(ProcessRole::Pipeline).then(|| PipelineRole::start(settings, stores));
    let pipeline = pipeline.transpose()?;
    let api = settings.runs(ProcessRole::Api).then(|| ApiRole::start(settings, stores));
    let checks = Arc::new(Checks {
        redis: stores.redis.patient(),
        db: stores.db.patient(),
        hub: api.as_ref().map(|api| api.hub().clone()),
        pipeline: pipeline.as_ref().map(PipelineRole::ownership),
    });
    let mut lines = vec![format!("listening on http://{address}")];
    let sockets = Sockets::new(settings.sockets);
    let router = match &api {
        Some(api) => {
            let keys = TokenKeys::open(settings, &stores.data_dir).await?;
            lines.extend(api.start_lines(address, &keys));
            api.router(keys, documents, sockets.clone(), checks.clone(), metrics)
        }
        None => http::health_router(checks.clone(), metrics),
    };
    if is_first {
        print_when_ready(checks, lines);
    }

    let files = open_files::left_for_clients(stores.connections);
    let connections = Connections::new(&settings.requests, files);
    let serving = http::serve(listener, router, settings.requests.clone().into(), connections, stop.clone());
    serve_until(stop, serving, sockets).await;
    if let Some(api) = api {
        api.stop().await; // first, because it appends views, which the pipeline then persists
    }
    if let Some(pipeline) = pipeline {
        pipeline.stop().await;
    }
    Ok(())
}

/// Cancels `stop` when the installation has another layout than `shards`.
async fn until_layout_changes(db: Db, shards: ShardCount, stop: CancellationToken) {
    loop {
        tokio::time::sleep(LAYOUT_READ_EVERY).await;
        match db.shard_count().await {
            Ok(Some(now)) if now.layout() != shards.layout() => {
                tracing::info!(from = shards.get(), to = now.get(), "the number of shards has changed");
                return stop.cancel();
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "cannot read the number of shards"),
        }
    }
}

/// Connects to the stores with the present number of shards; waits until they can be reached.
async fn connect_again(stores: &mut Stores, settings: &Settings, signal: &CancellationToken) {
    while let Err(error) = stores.connect_again(settings).await {
        tracing::warn!(%error, "cannot take the new number of shards over; trying again");
        if signal.run_until_cancelled(tokio::time::sleep(LAYOUT_READ_EVERY)).await.is_none() {
            return;
        }
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, AppError> {
    TcpListener::bind(address).await.map_err(|source| AppError::Listen { address, source })
}

async fn seed_if_empty(db: &Db) -> Result<(), AppError> {
    let now = chrono::Utc::now().timestamp_millis();
    seed(db, SeedSize::default(), now, progress_bar()).await?;
    Ok(())
}

/// Serves until the signal, then closes sockets and lets running requests finish.
async fn serve_until(signal: CancellationToken, serving: impl Future<Output = ()>, sockets: Sockets) {
    let closing = async {
        signal.cancelled().await;
        sockets.close_all(CLOSE_SOCKETS).await;
    };
    let finishing = async { tokio::join!(serving, closing) };
    tokio::select! {
        _ = finishing => {}
        () = async { signal.cancelled().await; tokio::time::sleep(FINISH_REQUESTS).await } => {
            tracing::warn!("stopped with requests under way");
        }
    }
}

/// Cancelled at the first SIGINT or SIGTERM.
fn stop_signal() -> Result<CancellationToken, AppError> {
    let mut interrupt = unix::signal(unix::SignalKind::interrupt())?;
    let mut terminate = unix::signal(unix::SignalKind::terminate())?;
    let signal = CancellationToken::new();
    let cancel = signal.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping");
        cancel.cancel();
    });
    Ok(signal)
}

/// Prints the addresses when every dependency is ready. The server answers before that.
fn print_when_ready(checks: Arc<Checks>, lines: Vec<String>) {
    tokio::spawn(async move {
        let mut pause = Duration::from_millis(20);
        while !checks.is_ready().await {
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(Duration::from_secs(1));
        }
        println!("{}", lines.join("\n"));
    });
}
