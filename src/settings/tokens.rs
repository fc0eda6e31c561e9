//! The keys of tokens: one secret, or public keys.

use std::{path::PathBuf, time::Duration};

use clap::{Args, builder::NonEmptyStringValueParser};

use super::{SettingsError, values::duration};
use plaudit_token_auth::{ExpectedClaims, JwksSource, JwksUrl, TokenSecret};

/// All optional with embedded stores and a loopback address: a secret is generated.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Tokens")]
pub struct TokenSettings {
    /// Secret of the tokens (HS256), at least 32 bytes; default: one generated into the data directory
    ///
    /// The generated secret is only for embedded servers on a loopback address.
    #[arg(long, value_name = "SECRET")]
    pub jwt_secret: Option<TokenSecret>,

    /// File with the public keys of the tokens (a JWKS: RS256, ES256, EdDSA), instead of a secret
    #[arg(long, value_name = "FILE")]
    pub jwks_file: Option<PathBuf>,

    /// Address of the public keys: https, or http on a loopback address
    #[arg(long, value_name = "URL")]
    pub jwks_url: Option<JwksUrl>,

    /// How often the public keys are read again, 10s to 1day
    ///
    /// An unknown key is looked up at once.
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    #[arg(value_parser = duration(Duration::from_secs(10)..=Duration::from_hours(24)))]
    pub jwks_refresh: Duration,

    /// What a token's aud must name; default: a token with an aud is refused
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub jwt_audience: Option<String>,

    /// What a token's iss must be; default: any
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub jwt_issuer: Option<String>,
}

impl TokenSettings {
    /// Where the public keys are; `None` when tokens are signed with a secret.
    pub fn jwks(&self) -> Option<JwksSource> {
        let file = self.jwks_file.clone().map(JwksSource::File);
        file.or_else(|| self.jwks_url.clone().map(JwksSource::Url))
    }

    /// What a token must say.
    pub fn expected(&self) -> ExpectedClaims {
        ExpectedClaims { audience: self.jwt_audience.clone(), issuer: self.jwt_issuer.clone() }
    }

    /// # Errors
    /// More than one kind of key: nobody could say which one a token must have.
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let kinds = [
            ("jwt_secret", self.jwt_secret.is_some()),
            ("jwks_file", self.jwks_file.is_some()),
            ("jwks_url", self.jwks_url.is_some()),
        ];
        let set: Vec<&str> = kinds.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
        if set.len() > 1 { Err(SettingsError::SeveralKeys(set.join(" and "))) } else { Ok(()) }
    }
}
