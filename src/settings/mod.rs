//! Every setting: its name, meaning, unit, default and limits.
//!
//! A field's name is the setting's name everywhere: `data_dir` is the flag `--data-dir`, the variable
//! `PLAUDIT_DATA_DIR` and the key `data_dir` of the settings file. What a flag says counts more than the
//! environment, and that more than the file.
//!
//! - `groups`: the settings, one struct per concern, so that a command takes only those that it needs; the
//!   first line of a field's documentation is what `plaudit serve --help` shows; `tokens`, `requests`, `cost`,
//!   `sockets` and `rates` hold some of them
//! - `moderator`: which of them the chosen moderator needs
//! - `values`: how single values are read
//! - `layers`: settings file and environment, laid under the flags; `definitions` looks settings up by name
//! - `help`: what the help texts say beside that; `error`: what can be wrong

mod cost;
mod definitions;
mod error;
mod groups;
mod help;
mod layers;
mod moderator;
mod rates;
mod requests;
mod sockets;
mod tokens;
mod values;

use clap::{Args, builder::BoolishValueParser};

pub use cost::Cost;
pub(crate) use definitions::CONFIG;
pub use error::{Origin, SettingsError};
pub use groups::{
    Database, Http, Live, Log, LogFormat, Moderation, ModeratorKind, Part, Pipeline, Place, Redis,
};
pub use help::explain;
pub use layers::Layers;
pub use rates::Rates;
pub use requests::{Documents, PageOrigin, Requests};
pub use sockets::Sockets;
pub use tokens::Auth;
pub use values::{NightlyAt, StoreUrl, ValueError};
pub(crate) use values::{duration, whole};

/// All that `plaudit serve` can be told.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Service")]
pub struct Settings {
    // These come first: clap would print them under the heading of whatever is flattened before them.
    /// What this process does: answer clients (api), move counts to PostgreSQL (pipeline), or both
    #[arg(long, value_name = "PARTS", value_enum, value_delimiter = ',', default_value = "api,pipeline")]
    pub roles: Vec<Part>,

    /// How many users one user may follow, at most 5000
    #[arg(long, value_name = "USERS", default_value = "5000", value_parser = whole(1..=5000, Some))]
    pub follow_limit: u32,

    /// Fill an empty database with demo data before the start
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true")]
    pub seed_if_empty: bool,

    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub http: Http,
    #[command(flatten)]
    pub requests: Requests,
    #[command(flatten)]
    pub documents: Documents,
    #[command(flatten)]
    pub cost: Cost,
    #[command(flatten)]
    pub auth: Auth,
    #[command(flatten)]
    pub rates: Rates,
    #[command(flatten)]
    pub redis: Redis,
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub pipeline: Pipeline,
    #[command(flatten)]
    pub live: Live,
    #[command(flatten)]
    pub sockets: Sockets,
    #[command(flatten)]
    pub moderation: Moderation,
    #[command(flatten)]
    pub log: Log,
}

impl Settings {
    pub fn runs(&self, part: Part) -> bool {
        self.roles.contains(&part)
    }

    /// Whether this process runs both stores itself.
    pub const fn is_embedded(&self) -> bool {
        self.redis.redis_url.is_none() && self.database.database_url.is_none()
    }

    /// # Errors
    /// Settings that are right by themselves but not together.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.check_keys()?;
        if self.redis.redis_url.is_none() && self.redis.redis_replicas > 0 {
            return Err(SettingsError::NoReplicas);
        }
        if self.documents.only_trusted_documents && self.documents.trusted_documents.is_none() {
            return Err(SettingsError::NoTrustedDocuments);
        }
        self.moderation.chosen()?;
        Ok(())
    }

    /// Whoever reads the data directory can make tokens with the generated secret, and other processes do not
    /// know it. So it is good on a developer's own machine, and nowhere else.
    fn check_keys(&self) -> Result<(), SettingsError> {
        self.auth.check()?;
        let has_public_keys = self.auth.jwks().is_some();
        let needs_own = self.runs(Part::Api) && !self.is_development();
        if needs_own && !has_public_keys && self.auth.jwt_secret.is_none() {
            return Err(SettingsError::SecretNeeded);
        }
        if has_public_keys && self.http.dev_token == Some(true) {
            return Err(SettingsError::NoDevToken);
        }
        Ok(())
    }

    /// Whether this looks like a developer's own machine: nobody else can come here, and nothing else is kept.
    pub const fn is_development(&self) -> bool {
        self.is_embedded() && self.http.listen.ip().is_loopback()
    }

    /// Whether the demo app is served: as set, else only in development.
    pub fn serves_demo(&self) -> bool {
        self.http.demo.unwrap_or(self.is_development())
    }

    /// Whether GraphiQL is served: as set, else only in development.
    pub fn serves_graphiql(&self) -> bool {
        self.http.graphiql.unwrap_or(self.is_development())
    }

    /// Whether clients may ask for the schema: as set, else only where nobody else can ask.
    pub fn introspects(&self) -> bool {
        self.cost.introspection.unwrap_or(self.is_development())
    }

    /// Whether anybody may have a token: as set, else only where nobody else can ask. Without a secret there is
    /// none to give.
    pub fn gives_dev_tokens(&self) -> bool {
        self.http.dev_token.unwrap_or(self.is_development() && self.auth.jwks().is_none())
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;
    use plaudit_moderation::ModeratorSettings;

    fn settings(flags: &[&str]) -> Settings {
        let command = Settings::augment_args(Command::new("settings").no_binary_name(true));
        Settings::from_arg_matches(&command.get_matches_from(flags)).unwrap()
    }

    #[test]
    fn dev_tokens_are_given_only_where_nobody_else_can_ask_unless_they_are_asked_for() {
        assert!(settings(&[]).gives_dev_tokens());
        assert!(!settings(&["--listen", "0.0.0.0:8080"]).gives_dev_tokens());
        assert!(!settings(&["--redis-url", "redis://cache"]).gives_dev_tokens());
        assert!(!settings(&["--dev-token", "false"]).gives_dev_tokens());
        assert!(settings(&["--dev-token", "--listen", "0.0.0.0:8080"]).gives_dev_tokens());
    }

    #[test]
    fn the_demo_and_graphiql_are_served_only_in_development_unless_they_are_asked_for() {
        for (flag, serves) in [
            ("--demo", Settings::serves_demo as fn(&Settings) -> bool),
            ("--graphiql", Settings::serves_graphiql),
        ] {
            assert!(serves(&settings(&[])));
            assert!(!serves(&settings(&["--listen", "0.0.0.0:8080"])));
            assert!(!serves(&settings(&["--redis-url", "redis://cache"])));
            assert!(!serves(&settings(&[flag, "false"])));
            assert!(serves(&settings(&[flag, "--listen", "0.0.0.0:8080"])));
        }
    }

    #[test]
    fn the_schema_is_told_only_where_nobody_else_can_ask_unless_it_is_asked_for() {
        assert!(settings(&[]).introspects());
        assert!(!settings(&["--listen", "0.0.0.0:8080"]).introspects());
        assert!(!settings(&["--redis-url", "redis://cache"]).introspects());
        assert!(!settings(&["--introspection", "false"]).introspects());
        assert!(settings(&["--introspection", "--listen", "0.0.0.0:8080"]).introspects());
    }

    #[test]
    fn a_process_runs_the_parts_that_are_named() {
        assert!(settings(&[]).runs(Part::Api) && settings(&[]).runs(Part::Pipeline));
        let one = settings(&["--roles", "pipeline"]);
        assert!(!one.runs(Part::Api) && one.runs(Part::Pipeline));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let only_trusted = settings(&["--only-trusted-documents"]).check();
        assert!(matches!(only_trusted, Err(SettingsError::NoTrustedDocuments)));
        assert!(matches!(settings(&["--redis-replicas", "1"]).check(), Err(SettingsError::NoReplicas)));
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
        ] {
            let error = settings(elsewhere).check().unwrap_err();
            assert!(matches!(error, SettingsError::SecretNeeded), "{elsewhere:?}");
            assert!(error.to_string().contains("PLAUDIT_JWT_SECRET"), "{error}");
            assert!(settings(&[elsewhere, &["--jwt-secret", &secret]].concat()).check().is_ok());
            assert!(settings(&[elsewhere, &["--jwks-file", "keys.json"]].concat()).check().is_ok());
            // Who answers no clients reads no tokens.
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
        let public = settings(&["--jwks-url", url]);
        assert!(public.check().is_ok() && !public.gives_dev_tokens());
        let asked_for = settings(&["--jwks-url", url, "--dev-token"]).check();
        assert!(matches!(asked_for, Err(SettingsError::NoDevToken)));
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
    fn no_secret_prints() {
        let secret = "hunter2 ".repeat(4);
        let flags = [
            ["--jwt-secret", &secret],
            ["--database-url", "postgres://app:hunter2@db/app"],
            ["--moderator-url", "https://app:hunter2@llm/v1"],
            ["--moderator-api-key", "sk-hunter2"],
        ]
        .concat();
        assert!(!format!("{:?}", settings(&flags)).contains("hunter2"));
    }
}
