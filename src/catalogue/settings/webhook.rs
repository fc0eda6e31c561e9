//! The webhook that the stream of events is delivered to.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::STANDARD};
use clap::Args;
use plaudit_outgoing_http::is_encrypted_or_private;
use url::Url;

use super::SettingsError;

/// The webhook.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Webhook")]
pub struct WebhookSettings {
    /// Where the stream of events is delivered, as Standard Webhooks
    ///
    /// An https URL; plain http only for private and loopback addresses. Redirects are never followed.
    #[arg(long, value_name = "URL")]
    pub webhook_url: Option<WebhookUrl>,

    /// What webhooks are signed with: `whsec_` and the base64 of 24 to 64 bytes
    ///
    /// Two while you rotate it: then each delivery has two signatures.
    #[arg(long, value_name = "SECRETS", value_delimiter = ',')]
    pub webhook_secret: Vec<WebhookSecret>,
}

impl WebhookSettings {
    /// # Errors
    /// [`SettingsError::NoWebhookSecret`] for a URL without a secret, and [`SettingsError::ManyWebhookSecrets`]
    /// for more than two.
    pub fn check(&self) -> Result<(), SettingsError> {
        match (&self.webhook_url, self.webhook_secret.len()) {
            (Some(_), 0) => Err(SettingsError::NoWebhookSecret),
            (_, 0..=2) => Ok(()),
            _ => Err(SettingsError::ManyWebhookSecrets),
        }
    }
}

/// URL of a webhook. It may contain a password, so `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

#[derive(Clone, Debug, thiserror::Error)]
#[error("must be an https URL, or an http URL of a private or loopback address")]
pub struct BadWebhookUrl;

impl WebhookUrl {
    pub const fn url(&self) -> &Url {
        &self.0
    }

    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }
}

impl FromStr for WebhookUrl {
    type Err = BadWebhookUrl;

    fn from_str(text: &str) -> Result<Self, BadWebhookUrl> {
        let url: Url = text.parse().map_err(|_| BadWebhookUrl)?;
        if is_encrypted_or_private(&url) { Ok(Self(url)) } else { Err(BadWebhookUrl) }
    }
}

/// A key for signatures; `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "must be whsec_ and the base64 of 24 to 64 bytes; `echo whsec_$(openssl rand -base64 32)` makes a good one"
)]
pub struct BadWebhookSecret;

impl WebhookSecret {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for WebhookSecret {
    type Err = BadWebhookSecret;

    fn from_str(text: &str) -> Result<Self, BadWebhookSecret> {
        let key = text.strip_prefix("whsec_").and_then(|key| STANDARD.decode(key).ok());
        key.filter(|key| (24..=64).contains(&key.len())).map(Self).ok_or(BadWebhookSecret)
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookUrl(hidden)")
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_private_addresses_only() {
        for good in [
            "https://app.example/hook",
            "http://127.0.0.1:9/x",
            "http://[::1]/",
            "http://10.0.0.7/",
            "http://app/",
        ] {
            assert!(good.parse::<WebhookUrl>().is_ok(), "{good}");
        }
        for bad in
            ["", "app", "http://8.8.8.8/", "http://[2001:db8::1]/", "ftp://10.0.0.1/", "file:///etc/passwd"]
        {
            assert!(bad.parse::<WebhookUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_secret_has_enough_bytes_and_debug_hides_it() {
        let secret = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
        for bytes in [24, 32, 64] {
            let read: WebhookSecret = secret(bytes).parse().unwrap();
            assert_eq!(
                (read.bytes().len(), format!("{read:?}")),
                (bytes, "WebhookSecret(hidden)".to_owned())
            );
        }
        for bad in [&secret(23), &secret(65), "whsec_", "", "whsec_%%%", &STANDARD.encode([7; 32])] {
            assert!(bad.parse::<WebhookSecret>().is_err(), "{bad}");
        }
    }
}
