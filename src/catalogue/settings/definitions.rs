//! Look-up of settings by name, in the spelling of each origin.
//!
//! A value from the file or the environment is parsed as the corresponding flag. So all origins share one parser and
//! one set of limits, and clap finds the nearest name for an unknown one.

use std::{
    error::Error,
    ffi::{OsStr, OsString},
};

use clap::{
    Arg, Args, Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{Settings, error::Origin};

/// The prefix of every variable.
pub(super) const PREFIX: &str = "PLAUDIT_";

/// The setting that names the settings file, and therefore cannot be in it.
pub const CONFIG: &str = "config";

pub(super) struct Definitions(Command);

impl Definitions {
    pub fn new() -> Self {
        let bare = Command::new("settings").no_binary_name(true).disable_help_flag(true);
        Self(Settings::augment_args(bare))
    }

    pub fn contains(&self, id: &str) -> bool {
        self.0.get_arguments().any(|arg| arg.get_id() == id)
    }

    /// The setting with this name in the origin.
    pub fn find(&self, name: &str, origin: &Origin) -> Option<&Arg> {
        self.0.get_arguments().find(|arg| spelling(arg, origin).is_some_and(|spelled| spelled == name))
    }

    /// The known name nearest to `name`.
    pub fn nearest(&self, name: &str, origin: &Origin) -> Option<String> {
        let flag = format!("--{}", name.trim_start_matches(PREFIX).to_lowercase().replace('_', "-"));
        let meant = self.suggestion(&flag).unwrap_or(flag);
        let arg = self.0.get_arguments().find(|arg| arg.get_long() == meant.strip_prefix("--"))?;
        spelling(arg, origin)
    }

    fn suggestion(&self, flag: &str) -> Option<String> {
        let error = self.0.clone().try_get_matches_from([flag]).err()?;
        match error.get(ContextKind::SuggestedArg) {
            Some(ContextValue::String(suggested)) => Some(suggested.clone()),
            _ => None,
        }
    }

    /// Why the value is invalid for a setting; `None` if it is valid.
    pub fn fault(&self, setting: &Arg, value: &OsStr) -> Option<String> {
        let mut flag = OsString::from(format!("--{}=", setting.get_long()?));
        flag.push(value);
        let error = self.0.clone().try_get_matches_from([flag]).err()?;
        Some(reason(&error))
    }
}

/// The variable that sets a setting.
pub(super) fn variable(setting: &Arg) -> String {
    format!("{PREFIX}{}", setting.get_id().as_str().to_uppercase())
}

fn spelling(setting: &Arg, origin: &Origin) -> Option<String> {
    let id = setting.get_id().as_str();
    match origin {
        Origin::Environment => Some(variable(setting)),
        Origin::File(_) => (id != CONFIG).then(|| id.to_owned()),
    }
}

/// The reason without clap's message, which would name a flag that the user did not write, and repeat the value.
fn reason(error: &clap::Error) -> String {
    match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(source), _) => source.to_string(),
        (None, Some(ContextValue::Strings(valid))) if !valid.is_empty() => {
            format!("it must be one of {}", valid.join(", "))
        }
        _ if error.kind() == ErrorKind::InvalidValue => "it is empty".to_owned(),
        _ => error.kind().to_string(),
    }
}
