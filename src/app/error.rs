//! Errors of commands, each with a message of one line.

use plaudit_embedded_stores::EmbeddedError;
use plaudit_moderation::ModeratorError;
use plaudit_token_auth::{JwksError, SecretTooShort};
use plaudit_traces::StartError;

use plaudit_catalogue::settings::SettingsError;
use plaudit_graphql::ManifestError;
use plaudit_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    #[error("cannot use Redis at {address}: {reason} (setting redis_url)")]
    Redis { address: String, reason: String },
    #[error("cannot use PostgreSQL at {address}: {reason} (setting {setting})")]
    Database { address: String, reason: String, setting: &'static str },
    #[error("cannot listen on {address}: {source} (setting listen)")]
    Listen { address: std::net::SocketAddr, source: std::io::Error },
    #[error(
        "no Plaudit is running on {data_dir} with an embedded {store}: start one with `plaudit serve`, or name your own by \
         --{setting}"
    )]
    NotRunning { data_dir: String, store: &'static str, setting: &'static str },
    #[error("not ready: {reason}")]
    NotReady { reason: String },
    #[error("no `plaudit serve` has started on this database yet, so there is nothing to look at")]
    NeverStarted,
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Moderator(#[from] ModeratorError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Jwks(#[from] JwksError),
    #[error("the secret of the tokens in the data directory is unusable: {0}")]
    Secret(#[from] SecretTooShort),
    #[error(transparent)]
    Traces(#[from] StartError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}
