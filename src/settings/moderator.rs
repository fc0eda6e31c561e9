//! What the chosen moderator needs, out of all that is set.

use super::{Moderation, ModeratorKind, SettingsError};
use crate::moderation;

impl Moderation {
    /// # Errors
    /// [`SettingsError::ModeratorNeeds`] naming the first setting that is missing.
    pub fn chosen(&self) -> Result<moderation::Settings, SettingsError> {
        match self.moderator {
            ModeratorKind::AcceptAll => Ok(moderation::Settings::AcceptAll),
            ModeratorKind::Blocklist => {
                let path = needed("blocklist", "moderator_blocklist", self.moderator_blocklist.as_ref())?;
                Ok(moderation::Settings::Blocklist(path))
            }
            ModeratorKind::Http => Ok(moderation::Settings::Http(self.http()?)),
        }
    }

    fn http(&self) -> Result<moderation::HttpSettings, SettingsError> {
        Ok(moderation::HttpSettings {
            endpoint: needed("http", "moderator_url", self.moderator_url.as_ref())?,
            model: needed("http", "moderator_model", self.moderator_model.as_ref())?,
            prompt: self.moderator_prompt.clone(),
            api_key: self.moderator_api_key.clone(),
            timeout: self.moderator_timeout,
            concurrency: self.moderator_concurrency as usize,
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
