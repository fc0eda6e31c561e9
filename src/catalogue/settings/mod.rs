//! Every setting: its name, meaning, unit, default and limits.
//!
//! A field's name is the setting's name everywhere: `data_dir` is the flag `--data-dir`, the variable
//! `PLAUDIT_DATA_DIR` and the key `data_dir` of the settings file. A flag overrides the environment,
//! and that overrides the file.
//!
//! - `groups`: the settings, one struct per concern, so that a command takes only those that it needs; the
//!   first line of a field's documentation is what `plaudit serve --help` shows; `tokens`, `requests`, `cost`,
//!   `sockets` and `rates` hold some of them
//! - `moderator`: the settings of the chosen moderator; `issuers`: the list of issuers of tokens; `webhook`:
//!   the webhook, its URL and its secrets; `traces`: the collector of traces
//! - `values`: parsers of single values; `defaults`: each group with its defaults
//! - `layers`: settings file and environment, which flags override; `definitions` looks settings up by name
//! - `help`: additions to the help texts; `error`: errors of the settings

mod cost;
mod defaults;
mod definitions;
mod error;
mod groups;
mod help;
mod issuers;
mod layers;
mod moderator;
mod rates;
mod requests;
mod sockets;
mod tokens;
mod traces;
mod values;
mod webhook;

use clap::{Args, builder::BoolishValueParser};

pub use cost::CostSettings;
pub use definitions::CONFIG;
pub use error::{Origin, SettingsError};
pub use groups::{
    DatabaseSettings, DomainSettings, LocationSettings, LogFormat, LogSettings, PipelineSettings,
    ProcessRole, RedisSettings, ReplicaSettings, ServerSettings,
};
pub use help::explain;
pub use layers::Layers;
pub use moderator::{ModerationSettings, ModeratorKind};
pub use rates::RateSettings;
pub use requests::{DocumentSettings, PageOrigin, RequestSettings};
pub use sockets::SocketSettings;
pub use tokens::TokenSettings;
pub use traces::{OtlpEndpoint, TraceSettings};
pub use values::{HostName, NightlyAt, StoreUrl, ValueError, shard_count};
pub use values::{as_usize, duration, whole};
pub use webhook::{WebhookSecret, WebhookSettings, WebhookUrl};

/// All settings of `plaudit serve`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Service")]
pub struct Settings {
    // These come first: clap would print them under the heading of whatever is flattened before them.
    /// What this process does: answer clients (api), run the pipeline from Redis to PostgreSQL (pipeline), or
    /// both
    #[arg(long, value_name = "PARTS", value_enum, value_delimiter = ',', default_value = "api,pipeline")]
    pub roles: Vec<ProcessRole>,

    /// Fill an empty database with demo data before the start
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true")]
    pub seed_if_empty: bool,

    #[command(flatten)]
    pub domain: DomainSettings,
    #[command(flatten)]
    pub location: LocationSettings,
    #[command(flatten)]
    pub server: ServerSettings,
    #[command(flatten)]
    pub requests: RequestSettings,
    #[command(flatten)]
    pub documents: DocumentSettings,
    #[command(flatten)]
    pub cost: CostSettings,
    #[command(flatten)]
    pub auth: TokenSettings,
    #[command(flatten)]
    pub redis: RedisSettings,
    #[command(flatten)]
    pub database: DatabaseSettings,
    #[command(flatten)]
    pub replica: ReplicaSettings,
    #[command(flatten)]
    pub pipeline: PipelineSettings,
    #[command(flatten)]
    pub webhook: WebhookSettings,
    #[command(flatten)]
    pub sockets: SocketSettings,
    #[command(flatten)]
    pub moderation: ModerationSettings,
    #[command(flatten)]
    pub log: LogSettings,
    #[command(flatten)]
    pub traces: TraceSettings,
}

impl Settings {
    pub fn runs(&self, role: ProcessRole) -> bool {
        self.roles.contains(&role)
    }

    /// Whether this process runs both stores itself.
    pub const fn is_embedded(&self) -> bool {
        self.redis.redis_url.is_none() && self.database.database_url.is_none()
    }

    /// # Errors
    /// Settings that contradict each other.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.check_keys()?;
        if self.redis.redis_url.is_none() && self.pipeline.redis_replicas > 0 {
            return Err(SettingsError::NoReplicas);
        }
        if self.database.database_direct_url.is_some() && self.database.database_url.is_none() {
            return Err(SettingsError::NoPooler);
        }
        if self.documents.only_trusted_documents && self.documents.trusted_documents.is_none() {
            return Err(SettingsError::NoTrustedDocuments);
        }
        if self.traces.otlp_endpoint.is_some() && !plaudit_traces::IS_BUILT {
            return Err(SettingsError::NoTraces);
        }
        self.moderation.chosen()?;
        self.webhook.check()?;
        Ok(())
    }

    /// Everybody who can read the data directory can sign tokens with the generated secret, and other processes do
    /// not have it. So it is only for a developer's own machine.
    fn check_keys(&self) -> Result<(), SettingsError> {
        self.auth.check()?;
        if self.runs(ProcessRole::Api) && !self.auth.has_keys() && !self.is_development() {
            return Err(SettingsError::SecretNeeded);
        }
        if !self.auth.has_own_secret() && self.server.dev_token == Some(true) {
            return Err(SettingsError::NoDevToken);
        }
        Ok(())
    }

    /// Whether this is a developer's own machine: embedded stores, a loopback address, and no keys for tokens, so that
    /// the secret is the generated one. Who sets a secret may have a proxy in front, also on a loopback address.
    pub fn is_development(&self) -> bool {
        self.is_embedded() && self.server.is_on_loopback() && !self.auth.has_keys()
    }

    /// Decides what is not set and has no fixed default: on a developer's own machine the demo app and GraphiQL
    /// are served, clients may ask for the schema, anybody may have a token, and pages of the machine may send
    /// requests. Also decides limits that follow from others.
    pub fn complete(&mut self) {
        let is_development = self.is_development();
        self.requests.loopback_pages = is_development;
        self.server.demo.get_or_insert(is_development);
        self.server.graphiql.get_or_insert(is_development);
        self.server.dev_token.get_or_insert(is_development);
        self.cost.introspection.get_or_insert(is_development);
        self.cost.complete();
    }

    /// The settings that are on and help developers, but also attackers.
    pub fn development_tools(&self) -> Vec<&'static str> {
        let tools = [
            ("demo", self.server.serves_demo()),
            ("graphiql", self.server.serves_graphiql()),
            ("introspection", self.cost.introspects()),
            ("dev_token", self.server.gives_dev_tokens()),
        ];
        tools.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{defaults::parse_flags, *};
    use plaudit_moderation::ModeratorSettings;

    const ISSUER: &str = r#"[{ "iss": "https://id.example/", "jwks_file": "keys.json" }]"#;

    fn settings(flags: &[&str]) -> Settings {
        let mut settings: Settings = parse_flags(flags).unwrap();
        settings.complete();
        settings
    }

    #[test]
    fn dev_tokens_are_given_only_where_nobody_else_can_ask_unless_they_are_asked_for() {
        assert!(settings(&[]).server.gives_dev_tokens());
        assert!(!settings(&["--listen", "0.0.0.0:8080"]).server.gives_dev_tokens());
        assert!(!settings(&["--redis-url", "redis://cache"]).server.gives_dev_tokens());
        assert!(!settings(&["--dev-token", "false"]).server.gives_dev_tokens());
        assert!(!settings(&["--jwt-secret", &"s".repeat(32)]).server.gives_dev_tokens());
        assert!(settings(&["--dev-token", "--listen", "0.0.0.0:8080"]).server.gives_dev_tokens());
    }

    #[test]
    fn the_demo_and_graphiql_are_served_only_in_development_unless_they_are_asked_for() {
        for (flag, serves) in [
            ("--demo", ServerSettings::serves_demo as fn(&ServerSettings) -> bool),
            ("--graphiql", ServerSettings::serves_graphiql),
        ] {
            assert!(serves(&settings(&[]).server));
            assert!(!serves(&settings(&["--listen", "0.0.0.0:8080"]).server));
            assert!(!serves(&settings(&["--redis-url", "redis://cache"]).server));
            assert!(!serves(&settings(&["--jwt-secret", &"s".repeat(32)]).server));
            assert!(!serves(&settings(&[flag, "false"]).server));
            assert!(serves(&settings(&[flag, "--listen", "0.0.0.0:8080"]).server));
        }
    }

    #[test]
    fn the_schema_is_told_only_where_nobody_else_can_ask_unless_it_is_asked_for() {
        assert!(settings(&[]).cost.introspects());
        assert!(!settings(&["--listen", "0.0.0.0:8080"]).cost.introspects());
        assert!(!settings(&["--redis-url", "redis://cache"]).cost.introspects());
        assert!(!settings(&["--jwt-secret", &"s".repeat(32)]).cost.introspects());
        assert!(!settings(&["--introspection", "false"]).cost.introspects());
        assert!(settings(&["--introspection", "--listen", "0.0.0.0:8080"]).cost.introspects());
    }

    #[test]
    fn a_process_runs_the_parts_that_are_named() {
        assert!(settings(&[]).runs(ProcessRole::Api) && settings(&[]).runs(ProcessRole::Pipeline));
        let one = settings(&["--roles", "pipeline"]);
        assert!(!one.runs(ProcessRole::Api) && one.runs(ProcessRole::Pipeline));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let only_trusted = settings(&["--only-trusted-documents"]).check();
        assert!(matches!(only_trusted, Err(SettingsError::NoTrustedDocuments)));
        assert!(matches!(settings(&["--redis-replicas", "1"]).check(), Err(SettingsError::NoReplicas)));
        let direct = settings(&["--database-direct-url", "postgres://db/app"]).check();
        assert!(matches!(direct, Err(SettingsError::NoPooler)));
    }

    #[test]
    fn traces_are_refused_by_a_build_that_cannot_send_them() {
        let checked = settings(&["--otlp-endpoint", "http://127.0.0.1:4318"]).check();
        assert_eq!(matches!(checked, Err(SettingsError::NoTraces)), !plaudit_traces::IS_BUILT);
        assert_eq!(checked.is_ok(), plaudit_traces::IS_BUILT);
    }

    #[test]
    fn the_generated_secret_is_for_embedded_stores_on_a_loopback_address_only() {
        let (redis, database) = (["--redis-url", "redis://cache"], ["--database-url", "postgres://db/app"]);
        let secret = "s".repeat(32);
        for elsewhere in [
            &redis[..],
            &database,
            &[redis, database].concat(),
            &["--listen", "0.0.0.0:8080"],
            &["--listen", "192.0.2.7:8080"],
            &["--operator-listen", "0.0.0.0:9090"],
        ] {
            let error = settings(elsewhere).check().unwrap_err();
            assert!(matches!(error, SettingsError::SecretNeeded), "{elsewhere:?}");
            assert!(error.to_string().contains("PLAUDIT_JWT_SECRET"), "{error}");
            assert!(settings(&[elsewhere, &["--jwt-secret", &secret]].concat()).check().is_ok());
            assert!(settings(&[elsewhere, &["--jwks-file", "keys.json"]].concat()).check().is_ok());
            assert!(settings(&[elsewhere, &["--issuer", ISSUER]].concat()).check().is_ok());
            // A process without the role api reads no tokens.
            assert!(settings(&[elsewhere, &["--roles", "pipeline"]].concat()).check().is_ok());
        }
        for here in [&[][..], &["--listen", "127.0.0.2:9000"], &["--listen", "[::1]:9000"]] {
            assert!(settings(here).check().is_ok(), "{here:?}");
        }
    }

    #[test]
    fn tokens_have_one_kind_of_key() {
        let (secret, url) = ("s".repeat(32), "https://id.example/keys");
        for (flags, named) in [
            (&["--jwt-secret", &secret, "--jwks-file", "keys.json"][..], "jwt_secret and jwks_file"),
            (&["--jwt-secret", &secret, "--jwks-url", url], "jwt_secret and jwks_url"),
            (&["--jwks-file", "keys.json", "--jwks-url", url], "jwks_file and jwks_url"),
        ] {
            let error = settings(flags).check().unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
        for public in [["--jwks-url", url], ["--issuer", ISSUER]] {
            assert!(settings(&public).check().is_ok() && !settings(&public).server.gives_dev_tokens());
            let asked_for = settings(&[&public[..], &["--dev-token"]].concat()).check();
            assert!(matches!(asked_for, Err(SettingsError::NoDevToken)));
        }
        for (flag, value, name) in [
            ("--jwt-secret", secret.as_str(), "jwt_secret"),
            ("--jwks-url", url, "jwks_url"),
            ("--jwt-audience", "plaudit", "jwt_audience"),
        ] {
            let error = settings(&["--issuer", ISSUER, flag, value]).check().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("into a table of issuer"), "{error}");
        }
    }

    #[test]
    fn a_moderator_without_what_it_needs_is_refused_naming_the_missing_setting() {
        for (flags, missing) in [
            (&["--moderator", "blocklist"][..], "MODERATOR_BLOCKLIST"),
            (&["--moderator", "http"], "MODERATOR_URL"),
            (&["--moderator", "http", "--moderator-url", "http://llm/v1"], "MODERATOR_MODEL"),
        ] {
            let error = settings(flags).check().unwrap_err().to_string();
            assert!(error.contains(&format!("set PLAUDIT_{missing},")), "{error}");
        }
    }

    #[test]
    fn the_chosen_moderator_gets_what_was_set_for_it() {
        let chosen = |flags: &[&str]| settings(flags).moderation.chosen().unwrap();
        assert!(matches!(chosen(&[]), ModeratorSettings::AcceptAll));
        let words = chosen(&["--moderator", "blocklist", "--moderator-blocklist", "words.txt"]);
        assert!(matches!(words, ModeratorSettings::Blocklist(path) if path.ends_with("words.txt")));
        let flags = ["--moderator", "http", "--moderator-url", "http://llm/v1", "--moderator-model", "small"];
        let ModeratorSettings::Http(http) = chosen(&flags) else { panic!() };
        assert_eq!((http.model.as_str(), http.concurrency, http.timeout.as_secs()), ("small", 8, 10));
    }

    #[test]
    fn a_webhook_has_one_secret_or_two() {
        let secret = format!("whsec_{}", "c2VjcmV0".repeat(4));
        let url = ["--webhook-url", "https://app.example/hook"];
        let check = |secrets: usize| {
            let secrets = vec![secret.as_str(); secrets].join(",");
            let flags = if secrets.is_empty() { vec![] } else { vec!["--webhook-secret", &secrets] };
            settings(&[&url[..], &flags].concat()).check()
        };
        assert!(matches!(check(0), Err(SettingsError::NoWebhookSecret)));
        assert!(check(1).is_ok() && check(2).is_ok());
        assert!(matches!(check(3), Err(SettingsError::ManyWebhookSecrets)));
    }

    #[test]
    fn no_secret_prints() {
        let secret = "hunter2 ".repeat(4);
        let issuer = format!(r#"[{{ "secret": "{secret}" }}]"#);
        let flags = [
            ["--jwt-secret", &secret],
            ["--issuer", &issuer],
            ["--database-url", "postgres://app:hunter2@db/app"],
            ["--moderator-url", "https://app:hunter2@llm/v1"],
            ["--moderator-api-key", "sk-hunter2"],
            ["--webhook-url", "https://app:hunter2@app/hook"],
            ["--otlp-endpoint", "https://app:hunter2@otel/"],
        ]
        .concat();
        assert!(!format!("{:?}", settings(&flags)).contains("hunter2"));
    }
}
