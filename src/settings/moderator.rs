//! The settings of the chosen moderator.

use super::{ModerationSettings, ModeratorKind, SettingsError};
use plaudit_moderation::{HttpSettings, ModeratorSettings};

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
