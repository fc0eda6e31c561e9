//! `plaudit serve`: starts the parts in order, runs until a signal, stops them in the opposite order.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::http::HeaderValue;
use tokio::{net::TcpListener, signal::unix};
use tokio_util::sync::CancellationToken;

use super::{
    AppError,
    keys::{DEV_SUBJECT, TokenKeys},
    metrics, open_files,
    readiness::Checks,
    stores::Stores,
};
use plaudit_moderation::Moderator;

use crate::{
    domain::{Limits, PerClass, Plaudit, RateLimits},
    graphql::{Documents, Manifest, RequestLimits},
    http::{self, Api, BodyLimits, ConnectionTimes, Development, Pages, SocketRules, TrustedProxies},
    hub::Hub,
    pipeline,
    seed::{SeedSize, progress_bar, seed},
    settings::{Part, Settings},
};

/// How long requests under way may take after a signal.
const FINISH_REQUESTS: Duration = Duration::from_secs(5);
/// How long a stop waits until sockets are told to go elsewhere.
const CLOSE_SOCKETS: Duration = Duration::from_secs(2);

/// Runs until SIGINT or SIGTERM.
pub async fn serve(settings: Settings) -> Result<(), AppError> {
    open_files::raise_limit();
    let listener = TcpListener::bind(settings.http.listen)
        .await
        .map_err(|source| AppError::Listen { address: settings.http.listen, source })?;
    let address = listener.local_addr()?;
    let documents = documents(&settings)?;
    // Before the stores: they count from their first call.
    let metrics = metrics::install().map_err(std::io::Error::other)?;
    let stores = Stores::open(&settings).await?;
    if settings.seed_if_empty {
        seed(&stores.pipeline_db, SeedSize::default(), chrono::Utc::now().timestamp_millis(), progress_bar())
            .await?;
    }

    let signal = stop_signal()?;
    let (stop_hub, stop_pipeline) = (CancellationToken::new(), CancellationToken::new());
    let owner = owner_name(&stores)?;
    let status = pipeline::Status::new(stores.redis.shards());
    let runs_pipeline = settings.runs(Part::Pipeline);
    let moderator = Moderator::new(&settings.moderation.chosen()?)?;
    let pipeline = runs_pipeline.then(|| {
        let settings = pipeline_settings(&settings, owner.clone(), moderator);
        let (redis, db) = (stores.redis.clone(), stores.pipeline_db.clone());
        tokio::spawn(pipeline::run(redis, db, settings, status.clone(), stop_pipeline.clone()))
    });
    let hub = Hub::new(stores.redis.clone(), stores.db.clone(), settings.live.hub_cache);
    let runs_api = settings.runs(Part::Api);
    if runs_api {
        let (hub, stop) = (hub.clone(), stop_hub.clone());
        tokio::spawn(async move { hub.run(stop).await });
    }
    let checks = Arc::new(Checks {
        redis: stores.redis.patient(),
        db: stores.db.patient(),
        hub: runs_api.then(|| hub.clone()),
        pipeline: runs_pipeline.then_some((owner, status)),
    });
    let mut lines = vec![format!("listening on http://{address}")];
    let (mut beside_requests, sockets) = (None, http::Sockets::new(socket_rules(&settings)));
    let router = if runs_api {
        let plaudit = Plaudit::new(stores.redis.clone(), stores.db.clone(), hub, limits(&settings));
        let (beside, stop) = (plaudit.clone(), stop_hub.clone());
        beside_requests = Some(tokio::spawn(async move { beside.run(stop).await }));
        let TokenKeys { verifier, dev } = TokenKeys::open(&settings, &stores.data_dir).await?;
        lines.extend(api_lines(address, &settings, dev.as_ref()));
        http::router(Api {
            plaudit,
            verifier,
            trusted_proxies: TrustedProxies(settings.rates.trusted_proxies.clone()),
            dev,
            sockets: sockets.clone(),
            limits: request_limits(&settings),
            pages: Pages { demo: settings.serves_demo(), graphiql: settings.serves_graphiql() },
            documents,
            body: body_limits(&settings),
            cors_origins: cors_origins(&settings)?,
            readiness: checks.clone(),
            metrics,
        })
    } else {
        http::health_router(checks.clone(), metrics)
    };
    print_when_ready(checks, lines);

    serve_until(listener, router, connection_times(&settings), signal, sockets).await;
    stop_hub.cancel();
    if let Some(beside_requests) = beside_requests {
        let _ = beside_requests.await; // it appends views, which the pipeline is then to persist
    }
    stop_pipeline.cancel();
    if let Some(pipeline) = pipeline {
        let _ = pipeline.await;
    }
    stores.close().await;
    tracing::info!("stopped");
    Ok(())
}

fn limits(settings: &Settings) -> Limits {
    let rates = &settings.rates;
    let rates = RateLimits {
        window: rates.rate_window,
        user: PerClass {
            reads: rates.rate_user_reads,
            writes: rates.rate_user_writes,
            creations: rates.rate_user_creations,
        },
        address: PerClass {
            reads: rates.rate_address_reads,
            writes: rates.rate_address_writes,
            creations: rates.rate_address_creations,
        },
    };
    Limits {
        follows: settings.follow_limit,
        topics: settings.sockets.subscription_topics,
        reply_wait: settings.live.reply_wait,
        rates,
    }
}

const fn socket_rules(settings: &Settings) -> SocketRules {
    SocketRules {
        sockets: settings.sockets.sockets,
        sockets_per_address: settings.sockets.sockets_per_address,
        subscriptions: settings.sockets.socket_subscriptions,
        messages_per_second: settings.sockets.socket_messages,
        message_bytes: settings.sockets.socket_message_bytes as usize,
        init_wait: settings.sockets.socket_init_wait,
        ping: settings.sockets.socket_ping,
        send_wait: settings.sockets.socket_send_wait,
    }
}

fn request_limits(settings: &Settings) -> RequestLimits {
    let cost = &settings.cost;
    RequestLimits {
        document_size: cost.max_document_size,
        tokens: cost.max_tokens,
        nesting: cost.max_nesting,
        depth: cost.max_depth,
        aliases: cost.max_aliases,
        directives: cost.max_directives,
        directives_at_once: cost.max_directives_at_once,
        mutations: cost.max_mutations,
        selections: cost.max_selections,
        complexity: cost.max_complexity,
        variable_depth: cost.max_variable_depth,
        variable_values: cost.max_variable_values,
        introspection: settings.introspects(),
        document_cache: u64::from(cost.document_cache) << 20,
    }
}

/// Who holds the data directory is the same owner as before its restart; others are new each time.
fn owner_name(stores: &Stores) -> Result<String, AppError> {
    let name = match &stores.embedded {
        Some(_) => stores.data_dir.owner_id()?,
        None => uuid::Uuid::new_v4(),
    };
    Ok(name.to_string())
}

fn pipeline_settings(settings: &Settings, owner: String, moderator: Moderator) -> pipeline::PipelineSettings {
    pipeline::PipelineSettings {
        owner,
        lease: settings.pipeline.lease,
        batch_events: settings.pipeline.batch_events as usize,
        persist_rate: settings.pipeline.persist_rate,
        batch_wait: settings.pipeline.batch_wait,
        replicas: settings.redis.redis_replicas,
        log_share: settings.redis.redis_log_share,
        activity: settings.pipeline.activity,
        activity_retention: settings.pipeline.activity_retention,
        reconcile_sample: settings.pipeline.reconcile_sample,
        reconcile_at: settings.pipeline.reconcile_at.0,
        moderator,
        moderator_timeout: settings.moderation.moderator_timeout,
        moderator_retry: settings.moderation.moderator_retry,
        drain: settings.pipeline.shutdown_drain,
    }
}

/// Serves until the signal; then sockets are sent elsewhere, and requests under way may finish.
async fn serve_until(
    listener: TcpListener,
    router: axum::Router,
    times: ConnectionTimes,
    signal: CancellationToken,
    sockets: http::Sockets,
) {
    let serving = http::serve(listener, router, times, signal.clone());
    let closing = async {
        signal.cancelled().await;
        sockets.send_elsewhere(CLOSE_SOCKETS).await;
    };
    let finishing = async { tokio::join!(serving, closing) };
    tokio::select! {
        _ = finishing => {}
        () = async { signal.cancelled().await; tokio::time::sleep(FINISH_REQUESTS).await } => {
            tracing::warn!("stopped with requests under way");
        }
    }
}

const fn connection_times(settings: &Settings) -> ConnectionTimes {
    ConnectionTimes {
        head: settings.requests.header_timeout,
        idle: settings.requests.idle_timeout,
        send: settings.requests.send_timeout,
    }
}

const fn body_limits(settings: &Settings) -> BodyLimits {
    BodyLimits { bytes: settings.requests.max_body as usize * 1024, time: settings.requests.body_timeout }
}

fn cors_origins(settings: &Settings) -> Result<Vec<HeaderValue>, AppError> {
    let origins = settings.requests.cors_origins.iter().map(|origin| HeaderValue::from_str(origin.as_str()));
    Ok(origins.collect::<Result<_, _>>().map_err(std::io::Error::other)?)
}

fn documents(settings: &Settings) -> Result<Documents, AppError> {
    let settings = &settings.documents;
    let manifest = settings.trusted_documents.as_deref().map(Manifest::read).transpose()?;
    let memory = u64::from(settings.persisted_queries) * 1024 * 1024;
    Ok(Documents::new(manifest.unwrap_or_default(), settings.only_trusted_documents, memory))
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

/// What a developer wants to know.
fn api_lines(address: SocketAddr, settings: &Settings, dev: Option<&Development>) -> Vec<String> {
    let mut lines =
        vec![format!("  GraphQL   http://{address}/graphql, subscriptions at ws://{address}/graphql/ws")];
    if settings.serves_demo() {
        lines.push(format!("  demo      http://{address}/"));
    }
    if settings.serves_graphiql() {
        lines.push(format!("  GraphiQL  http://{address}/graphiql"));
    }
    lines.push(format!("  admin     http://{address}/admin"));
    if let Some(token) = dev.and_then(|dev| dev.sign().ok()) {
        lines.push(format!("  a token of {DEV_SUBJECT}, for development:\n{token}"));
    }
    lines
}

/// Prints the addresses once everything is ready; they answer from before.
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

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    #[test]
    fn what_tests_take_for_the_usual_limits_are_the_settings_defaults() {
        let command = Settings::augment_args(Command::new("settings").no_binary_name(true));
        let settings = Settings::from_arg_matches(&command.get_matches_from([""; 0])).unwrap();
        assert_eq!(request_limits(&settings), RequestLimits::usual());
    }
}
