//! Errors of the settings. clap itself reports a wrong flag.

use std::{fmt, io, path::PathBuf};

/// For the person who wrote the setting. Values are not repeated: they may be secrets.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("cannot read the settings file {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },

    #[error("{} is not valid TOML: line {line}: {reason}", path.display())]
    NotToml { path: PathBuf, line: usize, reason: String },

    #[error("`{name}` {origin} is not a setting; {}", hint(nearest.as_deref()))]
    Unknown { name: String, origin: Origin, nearest: Option<String> },

    #[error("`{name}` {origin} has a value that cannot be used: {reason}")]
    BadValue { name: String, origin: Origin, reason: String },

    /// The generated secret is in the data directory, and other processes do not have it.
    #[error(
        "the generated secret is only for embedded servers on a loopback address: set PLAUDIT_JWT_SECRET, the \
         same for all servers (`openssl rand -hex 32` makes a good one), or name the public keys of your tokens \
         with PLAUDIT_JWKS_URL, PLAUDIT_JWKS_FILE or PLAUDIT_ISSUER"
    )]
    SecretNeeded,

    #[error("{0} are set, but tokens have one kind of key: leave one of them out")]
    SeveralKeys(String),

    #[error("issuer and {0} are set: put what {0} says into a table of issuer, and leave {0} out")]
    IssuerAlone(String),

    #[error(
        "dev_token is set, but Plaudit only signs with jwt_secret or the generated secret: leave dev_token out, or \
         jwks_file, jwks_url and issuer"
    )]
    NoDevToken,

    #[error("redis_replicas is set, but the embedded Redis has no replicas; name your own with redis_url")]
    NoReplicas,

    #[error(
        "database_direct_url is set without a pooler: name the pooler by database_url, or use database_url alone"
    )]
    NoPooler,

    #[error("only_trusted_documents leaves nothing to execute: name a manifest with trusted_documents")]
    NoTrustedDocuments,

    #[error(
        "webhook_url is set without a secret to sign with: set PLAUDIT_WEBHOOK_SECRET, such as whsec_$(openssl rand -base64 32)"
    )]
    NoWebhookSecret,

    #[error("webhook_secret has more than two secrets: name the old and the new one while you rotate it")]
    ManyWebhookSecrets,

    #[error(
        "otlp_endpoint is set, but this build sends no traces: leave it out, or build with --features otlp, as packages are"
    )]
    NoTraces,

    #[error(
        "the moderator {moderator} needs {setting} too: set PLAUDIT_{}, or choose another with moderator",
        setting.to_uppercase()
    )]
    ModeratorNeeds { moderator: &'static str, setting: &'static str },
}

/// The origin of a setting's value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    Environment,
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("in the environment"),
            Self::File(path) => write!(f, "in {}", path.display()),
        }
    }
}

fn hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`plaudit serve --help` lists them all".to_owned(),
    }
}
