//! Keys of tokens, from the settings or the data directory.

use super::AppError;
use plaudit_embedded_stores::DataDir;
use plaudit_token_auth::{Subject, TokenSecret, TokenSigner, TokenVerifier};

use crate::{http::Development, settings::Settings};

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
    /// Reads or fetches the public keys. Without them uses the secret of the settings, or the generated one.
    ///
    /// # Errors
    /// [`AppError::Jwks`], or the generated secret cannot be read.
    pub async fn open(settings: &Settings, data_dir: &DataDir) -> Result<Self, AppError> {
        let expected = settings.auth.expected();
        if let Some(source) = settings.auth.jwks() {
            let verifier = TokenVerifier::jwks(source, settings.auth.jwks_refresh, expected).await?;
            return Ok(Self { verifier, dev: None });
        }
        let secret = match &settings.auth.jwt_secret {
            Some(secret) => secret.clone(),
            None => data_dir.jwt_secret()?.parse::<TokenSecret>()?,
        };
        let dev = settings
            .server
            .gives_dev_tokens()
            .then(|| development(TokenSigner::hs256(&secret).expected(expected.clone())));
        Ok(Self { verifier: TokenVerifier::hs256_expecting(&secret, &expected), dev: dev.transpose()? })
    }
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
