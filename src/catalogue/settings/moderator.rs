//! The settings of the chosen moderator.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, builder::NonEmptyStringValueParser};
use plaudit_moderation::{ApiKey, Endpoint, HttpSettings, ModeratorSettings};

use super::{
    SettingsError,
    values::{as_usize, duration, whole},
};

/// The automatic moderator of comments.
///
/// [`Self::chosen`] collects the settings of the chosen moderator.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Moderation")]
pub struct ModerationSettings {
    /// What decides comments: nothing, a list of words, or a language model behind an HTTP endpoint
    ///
    /// It decides before a comment is displayed.
    #[arg(long, value_name = "MODERATOR", value_enum, default_value = "accept_all")]
    pub moderator: ModeratorKind,

    /// File with the words of blocklist, one per line; # begins a comment, * at an end matches within words
    ///
    /// Case, width, accents and lookalikes do not matter.
    #[arg(long, value_name = "FILE")]
    pub moderator_blocklist: Option<PathBuf>,

    /// Endpoint that http asks: OpenAI-compatible chat completions
    ///
    /// It must support answers by a JSON schema.
    #[arg(long, value_name = "URL")]
    pub moderator_url: Option<Endpoint>,

    /// The model that http asks for
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub moderator_model: Option<String>,

    /// What http allows and what not; default: a short text
    ///
    /// How to answer is appended to it.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub moderator_prompt: Option<String>,

    /// The key that http sends as a bearer token
    #[arg(long, value_name = "KEY")]
    pub moderator_api_key: Option<ApiKey>,

    /// How long http waits for a judgement, quick retries included, 100ms to 2m
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    #[arg(value_parser = duration(Duration::from_millis(100)..=Duration::from_mins(2)))]
    pub moderator_timeout: Duration,

    /// Calls that http makes at the same time, 1 to 1000
    #[arg(long, value_name = "CALLS", default_value = "8", value_parser = whole(1..=1000, as_usize))]
    pub moderator_concurrency: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ModeratorKind {
    AcceptAll,
    Blocklist,
    Http,
}

impl ModerationSettings {
    /// # Errors
    /// [`SettingsError::ModeratorNeeds`] naming the first setting that is missing.
    pub fn chosen(&self) -> Result<ModeratorSettings, SettingsError> {
        match self.moderator {
            ModeratorKind::AcceptAll => Ok(ModeratorSettings::AcceptAll),
            ModeratorKind::Blocklist => {
                let path = needed("blocklist", "moderator_blocklist", self.moderator_blocklist.as_ref())?;
                Ok(ModeratorSettings::Blocklist(path))
            }
            ModeratorKind::Http => Ok(ModeratorSettings::Http(self.http()?)),
        }
    }

    fn http(&self) -> Result<HttpSettings, SettingsError> {
        Ok(HttpSettings {
            endpoint: needed("http", "moderator_url", self.moderator_url.as_ref())?,
            model: needed("http", "moderator_model", self.moderator_model.as_ref())?,
            prompt: self.moderator_prompt.clone(),
            api_key: self.moderator_api_key.clone(),
            timeout: self.moderator_timeout,
            concurrency: self.moderator_concurrency,
        })
    }
}

fn needed<T: Clone>(
    moderator: &'static str,
    setting: &'static str,
    value: Option<&T>,
) -> Result<T, SettingsError> {
    value.cloned().ok_or(SettingsError::ModeratorNeeds { moderator, setting })
}
