//! The issuers of tokens: one secret, public keys, or several of them.

use std::path::PathBuf;

use clap::{Args, builder::NonEmptyStringValueParser};

use super::{SettingsError, issuers::issuers};
use plaudit_token_auth::{ExpectedClaims, Issuer, IssuerKeys, Issuers, JwksLocation, JwksUrl, TokenSecret};

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

    /// What a token's aud must name; default: a token with an aud is refused
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub jwt_audience: Option<String>,

    /// What a token's iss must be; default: any
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub jwt_issuer: Option<String>,

    /// Who signs tokens, if it is more than one or has claims of its own; replaces all of these
    ///
    /// Tables `[[issuer]]` in the file, elsewhere a JSON list: [fields](../guide/signing-in.md).
    #[arg(long, value_name = "LIST", value_parser = issuers)]
    pub issuer: Option<Issuers>,
}

impl TokenSettings {
    /// Whether any keys are set.
    pub const fn has_keys(&self) -> bool {
        self.jwt_secret.is_some() || !self.has_own_secret()
    }

    /// Whether tokens are signed with `jwt_secret` or the generated secret.
    pub const fn has_own_secret(&self) -> bool {
        self.jwks_file.is_none() && self.jwks_url.is_none() && self.issuer.is_none()
    }

    /// All whose tokens are accepted. `generated`: reads the generated secret, if no keys are set.
    ///
    /// # Errors
    /// `generated` has failed.
    pub fn issuers<E>(&self, generated: impl FnOnce() -> Result<TokenSecret, E>) -> Result<Issuers, E> {
        if let Some(issuers) = &self.issuer {
            return Ok(issuers.clone());
        }
        let keys = match (self.jwks(), &self.jwt_secret) {
            (Some(source), _) => IssuerKeys::Public(source),
            (None, Some(secret)) => IssuerKeys::Secret(secret.clone()),
            (None, None) => IssuerKeys::Secret(generated()?),
        };
        let expected =
            ExpectedClaims { audience: self.jwt_audience.clone(), issuer: self.jwt_issuer.clone() };
        Ok(Issuer::new(keys, expected).into())
    }

    fn jwks(&self) -> Option<JwksLocation> {
        let file = self.jwks_file.clone().map(JwksLocation::File);
        file.or_else(|| self.jwks_url.clone().map(JwksLocation::Url))
    }

    /// # Errors
    /// More than one kind of key: nobody could say which one a token must have.
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let keys = [
            ("jwt_secret", self.jwt_secret.is_some()),
            ("jwks_file", self.jwks_file.is_some()),
            ("jwks_url", self.jwks_url.is_some()),
        ];
        let expected =
            [("jwt_audience", self.jwt_audience.is_some()), ("jwt_issuer", self.jwt_issuer.is_some())];
        if self.issuer.is_some() {
            let beside = names(keys.iter().chain(&expected));
            return if beside.is_empty() {
                Ok(())
            } else {
                Err(SettingsError::IssuerAlone(beside.join(" and ")))
            };
        }
        let kinds = names(&keys);
        if kinds.len() > 1 { Err(SettingsError::SeveralKeys(kinds.join(" and "))) } else { Ok(()) }
    }
}

/// The names of the settings that are set.
fn names<'a>(settings: impl IntoIterator<Item = &'a (&'static str, bool)>) -> Vec<&'static str> {
    settings.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect()
}
