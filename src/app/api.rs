//! The role `api`: the hub, the domain with its background work, and the routes that clients use.

use std::{net::SocketAddr, num::NonZeroUsize, sync::Arc};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    AppError,
    keys::{DEV_SUBJECT, TokenKeys},
    stores::Stores,
};
use crate::http::{self, Api, Exposition, Readiness, Routes, Sockets};
use plaudit_catalogue::settings::{DocumentSettings, DomainSettings, Settings};
use plaudit_counting::hub::Hub;
use plaudit_domain::{Payers, Plaudit, UnappendedViews, content::views};
use plaudit_graphql::{Documents, Manifest};
use plaudit_store::sql::connection::replica;

/// Users, notes, comments and groups whose counts are held in memory.
const HUB_CACHE: NonZeroUsize = NonZeroUsize::new(100_000).unwrap();

pub struct ApiRole {
    settings: Settings,
    plaudit: Plaudit,
    stop: CancellationToken,
    /// The domain's background work: exchanges request counts between processes, and appends views to the log.
    background: JoinHandle<()>,
}

impl ApiRole {
    /// Starts the hub and the domain's background work.
    /// `views`: those that it takes over.
    pub fn start(settings: &Settings, stores: &Stores, views: UnappendedViews) -> Self {
        let stop = CancellationToken::new();
        let hub = Hub::new(stores.redis.clone(), stores.db.clone(), HUB_CACHE);
        let (following, until) = (hub.clone(), stop.clone());
        tokio::spawn(async move { following.run(until).await });
        let (db, until) = (stores.db.clone(), stop.clone());
        tokio::spawn(async move { until.run_until_cancelled(db.watch_timeline()).await });
        let (db, until) = (stores.db.clone(), stop.clone());
        tokio::spawn(async move { until.run_until_cancelled(replica::watch_replica(&db)).await });
        let redis_replicas = settings.pipeline.redis_replicas;
        let domain = DomainSettings { redis_replicas, ..settings.domain };
        let plaudit = Plaudit::new(stores.redis.clone(), stores.db.clone(), hub, domain);
        views::take_views(&plaudit, views);
        let (working, until) = (plaudit.clone(), stop.clone());
        let background = tokio::spawn(async move { views::run(&working, until).await });
        Self { settings: settings.clone(), plaudit, stop, background }
    }

    pub fn hub(&self) -> &Hub {
        self.plaudit.hub()
    }

    pub fn payers(&self) -> &Arc<Payers> {
        self.plaudit.rates().payers()
    }

    /// `sockets` are their open connections.
    pub fn routes(
        &self,
        keys: TokenKeys,
        documents: Documents,
        sockets: Sockets,
        readiness: Arc<dyn Readiness>,
        metrics: Exposition,
    ) -> Routes {
        http::routes(Api {
            plaudit: self.plaudit.clone(),
            verifier: keys.verifier,
            dev: keys.dev,
            documents,
            readiness,
            metrics,
            sockets,
            server: self.settings.server.clone(),
            requests: Arc::new(self.settings.requests.clone()),
            cost: self.settings.cost,
        })
    }

    /// The addresses, and in development a token, for the person who started the server.
    /// `operators`: where the operator's page is.
    pub fn start_lines(&self, address: SocketAddr, operators: SocketAddr, keys: &TokenKeys) -> Vec<String> {
        let mut lines =
            vec![format!("  GraphQL   http://{address}/graphql, subscriptions at ws://{address}/graphql/ws")];
        if self.settings.server.serves_demo() {
            lines.push(format!("  demo      http://{address}/"));
        }
        if self.settings.server.serves_graphiql() {
            lines.push(format!("  GraphiQL  http://{address}/graphiql"));
        }
        let on = self.settings.development_tools();
        if !on.is_empty() {
            lines.push(format!("  on for development, each a setting of its name: {}", on.join(", ")));
        }
        lines.push(format!("  admin     http://{operators}/admin"));
        if let Some(token) = keys.dev.as_ref().and_then(|dev| dev.sign().ok()) {
            lines.push(format!("  a token of {DEV_SUBJECT}, for development:\n{token}"));
        }
        lines
    }

    /// Returns the views that are not appended.
    pub async fn stop(self) -> UnappendedViews {
        self.stop.cancel();
        let _ = self.background.await;
        views::unappended_views(&self.plaudit)
    }
}

/// Reads the manifest of trusted documents, if the settings name one.
///
/// # Errors
/// The manifest cannot be read.
pub fn documents(settings: &Settings) -> Result<Documents, AppError> {
    let DocumentSettings { trusted_documents, only_trusted_documents } = &settings.documents;
    let manifest = trusted_documents.as_deref().map(Manifest::read).transpose()?;
    Ok(Documents::new(manifest.unwrap_or_default(), *only_trusted_documents, settings.cost.document_cache))
}
