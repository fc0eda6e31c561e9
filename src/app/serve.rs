//! `plaudit serve`: starts what the process's roles need, runs until a signal, stops in the opposite order.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use futures_util::future::{self, FutureExt, OptionFuture};
use parking_lot::Mutex;
use plaudit_demo_data::SeedSize;
use plaudit_traces::Collector;
use tokio::{net::TcpListener, signal::unix};
use tokio_util::sync::CancellationToken;

use super::{
    AppError, api,
    api::ApiRole,
    keys::TokenKeys,
    leaving::Leaving,
    metrics, open_files,
    pipeline::PipelineRole,
    readiness::{Checks, Latch},
    service_manager,
    stores::Stores,
    time_slice,
};
use crate::http::{self, Connections, Exposition, Sockets};
use plaudit_catalogue::{
    primitives::ShardCount,
    settings::{ProcessRole, Settings, TraceSettings},
};
use plaudit_domain::{Payers, UnappendedViews};
use plaudit_store::sql::{Db, ownership::installation};
use plaudit_tools::seed::{progress_bar, seed};

/// How often a process reads whether the number of shards has changed.
const LAYOUT_READ_EVERY: Duration = Duration::from_secs(1);
/// How long a stop waits until the collector has the last traces.
const FINISH_TRACES: Duration = Duration::from_secs(2);
/// Connections that `operator_listen` accepts, beside the connections of clients: so clients cannot keep operators out.
const OPERATORS: u32 = 64;

/// Runs until SIGINT or SIGTERM. When the number of shards has changed, the roles end as at a stop and start again; the
/// listeners and embedded stores stay.
pub async fn serve(settings: Settings) -> Result<(), AppError> {
    open_files::raise_limit();
    time_slice::shorten(); // before stores are started, so that they have it, too
    tokio::spawn(service_manager::keep_alive());
    let listeners = Listeners {
        public: listen(settings.server.listen).await?.into_std()?,
        operators: match settings.server.operator_listen {
            Some(address) => Some(listen(address).await?.into_std()?),
            None => None,
        },
    };
    // Before the stores, because they count from their first call.
    let metrics = Exposition::new(metrics::install().map_err(std::io::Error::other)?);
    start_traces(&settings.traces)?;
    api::documents(&settings)?; // before the stores, because it may fail
    let mut stores = Stores::open(&settings).await?;
    if settings.seed_if_empty {
        seed_if_empty(&stores.pipeline_db).await?;
    }
    let signal = stop_signal()?;
    let listeners = kept_until(signal.clone(), listeners);
    let (latch, mut views) = (Latch::new(signal.clone()), UnappendedViews::default());
    loop {
        let Some(listeners) = listeners.lock().as_ref().map(Listeners::listening) else { break };
        let stop = signal.child_token();
        let changed =
            tokio::spawn(until_layout_changes(stores.db.clone(), stores.redis.shards(), stop.clone()));
        let leaving = Leaving {
            stop,
            signal: signal.clone(),
            spread: settings.sockets.shutdown_spread,
            closed: CancellationToken::new(),
        };
        views = serve_layout(&settings, &stores, listeners?, metrics.clone(), leaving, &latch, views).await?;
        changed.abort();
        if signal.is_cancelled() {
            break;
        }
        connect_again(&mut stores, &settings, &signal).await;
    }
    stores.close().await;
    plaudit_traces::finish(FINISH_TRACES).await;
    tracing::info!("the server has stopped");
    Ok(())
}

fn start_traces(settings: &TraceSettings) -> Result<(), AppError> {
    let Some(endpoint) = &settings.otlp_endpoint else { return Ok(()) };
    let (endpoint, version) = (endpoint.url().clone(), env!("BUILD_VERSION"));
    plaudit_traces::start(&Collector { endpoint, sample: settings.otlp_sample, version })?;
    Ok(())
}

/// At `listen`, and at `operator_listen` if that is set.
struct Listeners<T> {
    public: T,
    operators: Option<T>,
}

impl Listeners<std::net::TcpListener> {
    fn listening(&self) -> std::io::Result<Listeners<TcpListener>> {
        let listening = |kept: &std::net::TcpListener| TcpListener::from_std(kept.try_clone()?);
        let operators = self.operators.as_ref().map(listening).transpose()?;
        Ok(Listeners { public: listening(&self.public)?, operators })
    }
}

/// The listeners stay while roles end and start again. They are closed at the signal, so that no connection waits for a
/// process that ends.
fn kept_until<T: Send + 'static>(signal: CancellationToken, listeners: T) -> Arc<Mutex<Option<T>>> {
    let kept = Arc::new(Mutex::new(Some(listeners)));
    let held = Arc::clone(&kept);
    tokio::spawn(async move {
        signal.cancelled().await;
        held.lock().take();
    });
    kept
}

/// Serves until the process leaves. `views`: those that the number of shards before has left; returns those
/// that this one leaves.
async fn serve_layout(
    settings: &Settings,
    stores: &Stores,
    listeners: Listeners<TcpListener>,
    metrics: Exposition,
    leaving: Leaving,
    latch: &Latch,
    views: UnappendedViews,
) -> Result<UnappendedViews, AppError> {
    let address = listeners.public.local_addr()?;
    let of_operators = listeners.operators.as_ref().map(TcpListener::local_addr).transpose()?;
    let documents = api::documents(settings)?;
    let pipeline = settings.runs(ProcessRole::Pipeline).then(|| PipelineRole::start(settings, stores));
    let pipeline = pipeline.transpose()?;
    let api = settings.runs(ProcessRole::Api).then(|| ApiRole::start(settings, stores, views));
    let checks = Arc::new(Checks {
        redis: stores.redis.patient(),
        db: stores.db.patient(),
        hub: api.as_ref().map(|api| api.hub().clone()),
        pipeline: pipeline.as_ref().map(PipelineRole::ownership),
        stop: leaving.stop.clone(),
        latch: latch.clone(),
    });
    let mut lines = vec![format!("listening on http://{address}")];
    let payers = api.as_ref().map_or_else(|| new_payers(settings), |api| Arc::clone(api.payers()));
    let sockets = Sockets::new(settings.sockets, settings.requests.sockets(), Arc::clone(&payers));
    let routes = match &api {
        Some(api) => {
            let keys = TokenKeys::open(settings, &stores.data_dir).await?;
            lines.extend(api.start_lines(address, of_operators.unwrap_or(address), &keys));
            api.routes(keys, documents, sockets.clone(), checks.clone(), metrics)
        }
        None => http::routes_without_api(checks.clone(), metrics, of_operators.is_some()),
    };
    if !latch.was_right() {
        tokio::spawn(leaving.stop.clone().run_until_cancelled_owned(wait_until_ready(checks, lines)));
    }

    let serve = |listener, routes, files, payers| {
        let connections = Connections::new(settings, files, payers);
        http::serve(listener, routes, settings.requests.clone().into(), connections, leaving.closed.clone())
    };
    let to_operators = listeners.operators.zip(routes.operators);
    let to_operators =
        to_operators.map(|(listener, routes)| serve(listener, routes, OPERATORS, new_payers(settings)));
    let to_public = serve(listeners.public, routes.public, files_for_clients(stores), payers);
    let serving = future::join(to_public, OptionFuture::from(to_operators)).map(drop);
    let (pipeline, ()) =
        tokio::join!(leaving.hand_over(pipeline, &stores.pipeline_db), leaving.serve(serving, sockets));
    let left = match api {
        Some(api) => api.stop().await, // first, because it appends views, which the pipeline then persists
        None => UnappendedViews::default(),
    };
    if let Some(pipeline) = pipeline {
        pipeline.stop().await;
    }
    Ok(left)
}

/// Accounts of their own: the connections of operators do not count for clients.
fn new_payers(settings: &Settings) -> Arc<Payers> {
    Arc::new(Payers::new(&settings.domain.rates, settings.domain.subscription_memory))
}

fn files_for_clients(stores: &Stores) -> u32 {
    let files = open_files::left_for_clients(stores.connections);
    if let Some(warning) = files.warning {
        tracing::warn!("{warning}");
    }
    files.left
}

/// Cancels `stop` when the installation has another layout than `shards`.
async fn until_layout_changes(db: Db, shards: ShardCount, stop: CancellationToken) {
    loop {
        tokio::time::sleep(LAYOUT_READ_EVERY).await;
        match installation::shard_count(&db).await {
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

pub async fn listen(address: SocketAddr) -> Result<TcpListener, AppError> {
    TcpListener::bind(address).await.map_err(|source| AppError::Listen { address, source })
}

async fn seed_if_empty(db: &Db) -> Result<(), AppError> {
    let now = plaudit_catalogue::primitives::now();
    seed(db, SeedSize::default(), now, progress_bar()).await?;
    Ok(())
}

/// Cancelled at the first SIGINT or SIGTERM. The second one ends the process at once: nothing that was acknowledged
/// depends on a stop.
fn stop_signal() -> Result<CancellationToken, AppError> {
    let mut interrupt = unix::signal(unix::SignalKind::interrupt())?;
    let mut terminate = unix::signal(unix::SignalKind::terminate())?;
    let signal = CancellationToken::new();
    let cancel = signal.clone();
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        next().await;
        tracing::info!("the server stops");
        service_manager::is_stopping();
        cancel.cancel();
        next().await;
        tracing::warn!("a second signal ends the process at once");
        std::process::exit(1);
    });
    Ok(signal)
}

/// Waits until all is right, then prints the addresses, and clients may be sent here. The server answers before that.
async fn wait_until_ready(checks: Arc<Checks>, lines: Vec<String>) {
    let mut pause = Duration::from_millis(20);
    while !checks.all_is_right().await {
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(Duration::from_secs(1));
    }
    checks.latch.set();
    println!("{}", lines.join("\n"));
    service_manager::is_ready();
}
