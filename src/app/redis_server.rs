//! Redis as the settings name it: what the start requires of it, and what `plaudit check` therefore looks at.

use super::{
    AppError,
    address::{address, advice_on_login, until_reachable},
};
use plaudit_catalogue::{
    primitives::ShardCount,
    settings::{PipelineSettings, RedisSettings},
};
use plaudit_store::{
    StoreError,
    redis::{CertificateFiles, Deployment, Redis, nodes::process},
};

/// What can be said of a Redis that can be used.
pub struct RedisReport {
    /// What is well.
    pub facts: Vec<String>,
    /// What is not as it should be.
    pub warnings: Vec<String>,
    /// What is not as it should be, and need not be said at each start.
    pub sizes: Vec<String>,
    /// As services do that manage Redis for others.
    pub forbids_config: bool,
}

pub fn open_redis(settings: &RedisSettings, url: &str, shards: ShardCount) -> Result<Redis, AppError> {
    let files = CertificateFiles {
        ca: settings.redis_ca.as_deref(),
        client_certificate: settings.redis_client_certificate.as_deref(),
        client_key: settings.redis_client_key.as_deref(),
    };
    let deployment = Deployment::parse(url, files);
    deployment.and_then(|deployment| Redis::of(deployment, shards)).map_err(|error| redis_error(url, error))
}

/// The virtual shards with which an installation begins. A cluster needs some for each master; on one server
/// each of them only costs.
pub fn first_shards(settings: &PipelineSettings, url: &str) -> ShardCount {
    let usual = if Deployment::is_cluster(url) { ShardCount::OF_CLUSTER } else { ShardCount::OF_SERVER };
    settings.virtual_shards.unwrap_or(usual)
}

/// Checks that Redis can be used. Changes nothing.
pub async fn check_redis(redis: &Redis, url: &str, allow_unsafe: bool) -> Result<RedisReport, AppError> {
    let check =
        until_reachable(|| process::check_process(redis)).await.map_err(|error| redis_error(url, error))?;
    if let Some(reason) = check.unusable.into_iter().next() {
        return Err(AppError::Redis { address: address(url), reason });
    }
    let mut warnings = check.advice;
    for reason in check.unsafe_settings {
        if allow_unsafe {
            warnings.push(format!("{reason} (allowed by redis_allow_unsafe)"));
        } else {
            let reason = format!("{reason}, or allow it with --redis-allow-unsafe");
            return Err(AppError::Redis { address: address(url), reason });
        }
    }
    let (facts, sizes, forbids_config) = (check.facts, check.sizes, check.forbids_config);
    Ok(RedisReport { facts, warnings, sizes, forbids_config })
}

pub fn redis_error(url: &str, error: StoreError) -> AppError {
    let advice = format!("{}{}", advice_on_scheme(url, &error), advice_on_login(url, &error));
    AppError::Redis { address: address(url), reason: format!("{error}{advice}") }
}

/// A server that speaks TLS, and a client that does not, understand nothing of each other, nor the reverse.
fn advice_on_scheme(url: &str, error: &StoreError) -> &'static str {
    let is_misunderstanding = match error {
        StoreError::RedisUnreachable(error) => !error.is_connection_refusal(),
        StoreError::Unexpected(_) => true,
        _ => false,
    };
    match url.split_once("://") {
        Some(("redis", _)) if is_misunderstanding => "; if it speaks TLS there, write rediss:// in redis_url",
        Some(("rediss", _)) if is_misunderstanding => {
            "; if it does not speak TLS there, write redis:// in redis_url"
        }
        _ => "",
    }
}
