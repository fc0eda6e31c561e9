//! The keys of tokens, as they are set.

use super::AppError;
use crate::{
    auth::{Subject, TokenSecret, TokenSigner, TokenVerifier},
    embedded::DataDir,
    http::DevToken,
    settings::Settings,
};

/// A user that the demo data begins with; the development token is for them.
pub const DEV_SUBJECT: &str = "mira.okafor";

/// Verifies tokens, and signs those for development, where that is allowed.
pub struct TokenKeys {
    pub verifier: TokenVerifier,
    pub dev: Option<DevToken>,
}

impl TokenKeys {
    /// Reads or fetches public keys; takes the secret that is set, or else the generated one.
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
        let dev = settings.gives_dev_tokens().then(|| {
            let signer = TokenSigner::hs256(&secret).expected(expected.clone());
            let subject = DEV_SUBJECT.parse::<Subject>().map_err(std::io::Error::other)?;
            Ok::<_, AppError>(DevToken { signer, subject })
        });
        Ok(Self { verifier: TokenVerifier::hs256_expecting(&secret, &expected), dev: dev.transpose()? })
    }
}
