//! The defaults of each group of settings.

use clap::{Args, Command};

use super::{
    CostSettings, DatabaseSettings, DocumentSettings, DomainSettings, LocationSettings, LogSettings,
    ModerationSettings, PipelineSettings, RateSettings, RedisSettings, ReplicaSettings, RequestSettings,
    ServerSettings, Settings, SocketSettings, TokenSettings, TraceSettings, WebhookSettings,
};

/// The defaults are what clap makes of an empty command line.
macro_rules! defaults {
    ($($group:ident),+ $(,)?) => {
        $(impl Default for $group {
            fn default() -> Self {
                parse_flags(&[]).expect("every setting is optional")
            }
        })+
    };
}

defaults!(
    Settings,
    CostSettings,
    DatabaseSettings,
    DocumentSettings,
    DomainSettings,
    LogSettings,
    ModerationSettings,
    PipelineSettings,
    LocationSettings,
    RateSettings,
    RedisSettings,
    ReplicaSettings,
    RequestSettings,
    ServerSettings,
    SocketSettings,
    TokenSettings,
    TraceSettings,
    WebhookSettings,
);

pub fn parse_flags<T: Args>(flags: &[&str]) -> Result<T, clap::Error> {
    let command = T::augment_args(Command::new("settings").no_binary_name(true));
    T::from_arg_matches(&command.try_get_matches_from(flags)?)
}
