//! Keys of tokens, from the settings or the data directory.

use std::time::Duration;

use super::AppError;
use plaudit_embedded_stores::DataDir;
use plaudit_token_auth::{Subject, TokenSigner, TokenVerifier};

use crate::http::Development;
use plaudit_catalogue::settings::Settings;

/// How often public keys are read again. An unknown key is looked up at once.
const JWKS_REFRESH: Duration = Duration::from_mins(10);
/// A user of the demo data; the development token is for this user.
pub const DEV_SUBJECT: &str = "mira.okafor";
/// More users of the demo data, with many notes and followers and a full inbox.
const DEV_OTHERS: [&str; 7] = [
    "freya.jorgensen",
    "vikram.gunawardena",
    "nomsa.phiri",
    "bongani.mokoena",
    "weijie.zhao",
    "camila.ibanez",
    "noemie.lambert",
];
const DEV_MODERATOR: &str = "moderator";

/// Verifies tokens, and signs development tokens if they are enabled.
pub struct TokenKeys {
    pub verifier: TokenVerifier,
    pub dev: Option<Development>,
}

impl TokenKeys {
    /// Reads or fetches the public keys. Without any keys in the settings uses the generated secret.
    ///
    /// # Errors
    /// [`AppError::Jwks`], or the generated secret cannot be read.
    pub async fn open(settings: &Settings, data_dir: &DataDir) -> Result<Self, AppError> {
        let issuers = settings.auth.issuers(|| Ok::<_, AppError>(data_dir.jwt_secret()?.parse()?))?;
        let verifier = TokenVerifier::open(&issuers, JWKS_REFRESH).await?;
        let signer = if settings.server.gives_dev_tokens() { issuers.signer() } else { None };
        Ok(Self { verifier, dev: signer.map(development).transpose()? })
    }
}

/// Checks that the keys of tokens can be used, as far as they are in files; with `is_online` also those at URLs.
///
/// # Errors
/// As [`TokenKeys::open`].
pub async fn check_keys(settings: &Settings, is_online: bool) -> Result<(), AppError> {
    if !settings.auth.has_keys() {
        return Ok(()); // the generated secret
    }
    let issuers = settings.auth.issuers(|| Err(AppError::NeverStarted))?;
    let issuers = if is_online { Some(issuers) } else { issuers.without_urls() };
    if let Some(issuers) = issuers {
        TokenVerifier::open(&issuers, JWKS_REFRESH).await?;
    }
    Ok(())
}

fn development(signer: TokenSigner) -> Result<Development, AppError> {
    let subject = |text: &str| text.parse::<Subject>().map_err(std::io::Error::other);
    Ok(Development {
        signer,
        user: subject(DEV_SUBJECT)?,
        others: DEV_OTHERS.into_iter().map(subject).collect::<Result<_, _>>()?,
        moderator: subject(DEV_MODERATOR)?,
    })
}
