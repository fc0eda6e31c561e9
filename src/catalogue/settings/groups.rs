//! The settings, one struct per concern.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, builder::BoolishValueParser};
use tracing_subscriber::EnvFilter;

use super::{
    RateSettings,
    values::{
        HostName, NightlyAt, StoreUrl, append_fsync, as_usize, duration, log_filter, mebibytes, nightly_at,
        shard_count, socket_address, whole,
    },
};
use plaudit_embedded_stores::AppendFsync;

use crate::primitives::{SchemaName, ShardCount};

const DAY: Duration = Duration::from_hours(24);
/// As humantime reads it: 365.25 days.
const YEAR: Duration = Duration::from_hours(8_766);

/// Where this installation has its files. Every command with settings takes these.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Place")]
pub struct LocationSettings {
    /// Settings file (TOML); default: plaudit.toml if it exists
    ///
    /// A flag or a variable, not a line of the file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Directory of the embedded servers' data and of the generated secret
    #[arg(long, value_name = "DIR", default_value = "./.plaudit")]
    pub data_dir: PathBuf,
}

/// The address, and which pages are served.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "HTTP")]
pub struct ServerSettings {
    /// Address and port to listen on; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = socket_address)]
    pub listen: SocketAddr,

    /// Another address and port, for operators; default: none
    ///
    /// It serves everything, and `listen` then answers 404 for `/metrics`, `/status`, `/admin` and `/admin/metrics`.
    #[arg(long, value_name = "ADDRESS", value_parser = socket_address)]
    pub operator_listen: Option<SocketAddr>,

    /// Serve the demo app at /; default: only with the generated secret
    #[arg(long, value_name = "BOOL", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true")]
    pub demo: Option<bool>,

    /// Serve GraphiQL, a page to try queries on; default: only with the generated secret
    #[arg(long, value_name = "BOOL", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true")]
    pub graphiql: Option<bool>,

    /// Give a token to anybody who asks; default: only with the generated secret
    ///
    /// Serves `/dev/token`, `/dev/users` and `/dev/storm`. Needs a secret to sign with.
    #[arg(long, value_name = "BOOL", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true")]
    pub dev_token: Option<bool>,

    /// Hosts, such as my-laptop.local, under which the development addresses answer; default: only this machine's
    ///
    /// Names and addresses of the loopback interface are always answered, at any port.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    pub dev_hosts: Vec<HostName>,
}

impl ServerSettings {
    /// Whether only this machine reaches the process.
    pub fn is_on_loopback(&self) -> bool {
        std::iter::once(self.listen).chain(self.operator_listen).all(|address| address.ip().is_loopback())
    }

    pub fn serves_demo(&self) -> bool {
        self.demo == Some(true)
    }

    pub fn serves_graphiql(&self) -> bool {
        self.graphiql == Some(true)
    }

    pub fn gives_dev_tokens(&self) -> bool {
        self.dev_token == Some(true)
    }
}

/// The store of the log and the live counts.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Redis")]
pub struct RedisSettings {
    /// Your own Redis 7 or newer; default: an embedded one
    ///
    /// redis:// for one server, rediss:// with TLS, redis+cluster://host:port,host:port for a cluster,
    /// redis+sentinel://host:port,host:port/name behind Sentinel.
    #[arg(long, value_name = "URL")]
    pub redis_url: Option<StoreUrl>,

    /// Certificate of the CA that signed your Redis' certificate (PEM file); default: the CAs that this machine trusts
    ///
    /// With rediss:// in `redis_url`, as the next two.
    #[arg(long, value_name = "FILE")]
    pub redis_ca: Option<PathBuf>,

    /// Certificate by which Plaudit shows your Redis who it is (PEM file)
    #[arg(long, value_name = "FILE")]
    pub redis_client_certificate: Option<PathBuf>,

    /// Key of that certificate (PEM file)
    #[arg(long, value_name = "FILE")]
    pub redis_client_key: Option<PathBuf>,

    /// Start on a Redis that may lose likes (no append-only file, or allkeys eviction), with a warning
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true")]
    pub redis_allow_unsafe: bool,

    /// When the embedded Redis syncs to disk: once a second, or before each reply (slower, loses nothing)
    #[arg(long, value_name = "WHEN", default_value = "everysec", value_parser = append_fsync())]
    pub appendfsync: AppendFsync,
}

/// The store of all durable data.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "PostgreSQL")]
pub struct DatabaseSettings {
    /// Your own PostgreSQL 15 or newer; default: an embedded one
    #[arg(long, value_name = "URL")]
    pub database_url: Option<StoreUrl>,

    /// PostgreSQL itself, if database_url is a pooler in transaction mode; default: database_url
    ///
    /// Requests go through the pooler; the pipeline, migrations and other commands do not.
    #[arg(long, value_name = "URL")]
    pub database_direct_url: Option<StoreUrl>,

    /// Schema of the tables, created if it is missing
    #[arg(long, value_name = "NAME", default_value = "public")]
    pub database_schema: SchemaName,

    /// Connections to PostgreSQL that requests share, 1 to 1000
    ///
    /// The pipeline takes 16 beside them.
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = whole(1..=1000, Some))]
    pub database_connections: u32,
}

/// A standby for reads.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "PostgreSQL")]
pub struct ReplicaSettings {
    /// A streaming standby that answers reads of lists and exports; default: database_url
    ///
    /// While it is more than 10 s behind, or does not answer, PostgreSQL itself is read.
    #[arg(long, value_name = "URL")]
    pub database_replica_url: Option<StoreUrl>,
}

/// The pipeline from Redis to PostgreSQL.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Pipeline")]
pub struct PipelineSettings {
    /// Parts into which users and entities are divided, 1 to 1024; default: 16 on a Redis Cluster, otherwise 2
    ///
    /// Used at the very first start only. Later `plaudit reshard` changes it.
    #[arg(long, value_name = "COUNT", value_parser = shard_count())]
    pub virtual_shards: Option<ShardCount>,

    /// Events that one PostgreSQL transaction takes at most, 1 to 2000; up to 10000 in a backlog
    ///
    /// More than this are taken while a batch needs less than half a second.
    #[arg(long, value_name = "EVENTS", default_value = "1000", value_parser = whole(1..=2_000, as_usize))]
    pub batch_events: usize,

    /// Events that one process persists per second at most, 1 to 10000000
    ///
    /// Over all its shards together, so that a backlog leaves the database time for others.
    #[arg(long, value_name = "EVENTS", default_value = "50000", value_parser = whole(1..=10_000_000, Some))]
    pub persist_rate: u32,

    /// How long a transaction waits for more events, 0s to 10s
    #[arg(long, value_name = "DURATION", default_value = "50ms")]
    #[arg(value_parser = duration(Duration::ZERO..=Duration::from_secs(10)))]
    pub batch_wait: Duration,

    /// How long after a process falls silent another one takes over its shards, 1s to 1h
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    #[arg(value_parser = duration(Duration::from_secs(1)..=Duration::from_hours(1)))]
    pub lease: Duration,

    /// How long a stop waits until pending events are persisted, 0s to 10m
    ///
    /// The next owner persists what is left.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    #[arg(value_parser = duration(Duration::ZERO..=Duration::from_mins(10)))]
    pub shutdown_drain: Duration,

    /// How long the table activity keeps who did what and when, 0s to 10years; 0s keeps nothing
    ///
    /// Older days are dropped hourly.
    #[arg(long, value_name = "DURATION", default_value = "90days")]
    #[arg(value_parser = duration(Duration::ZERO..=YEAR * 10))]
    pub activity_retention: Duration,

    /// How long the stream of events keeps an event, 0s to 30days; 0s switches it off
    ///
    /// Older ones are deleted hourly. The same for all processes; switched on again, the stream begins empty.
    #[arg(long, value_name = "DURATION", default_value = "7days")]
    #[arg(value_parser = duration(Duration::ZERO..=DAY * 30))]
    pub event_retention: Duration,

    /// How long texts of removed notes and groups are kept, 0s to 10years
    ///
    /// Older ones are emptied hourly. Texts of removed comments and of erased users go at once.
    #[arg(long, value_name = "DURATION", default_value = "30days")]
    #[arg(value_parser = duration(Duration::ZERO..=YEAR * 10))]
    pub removed_text_retention: Duration,

    /// How long decisions about comments and notes are kept, 1day to 10years
    ///
    /// Older ones are deleted hourly, but the last rejection of one stays as long as its author sees it.
    #[arg(long, value_name = "DURATION", default_value = "365days")]
    #[arg(value_parser = duration(DAY..=YEAR * 10))]
    pub decision_retention: Duration,

    /// How long an inbox keeps an entry without a new event, 1day to 10years
    ///
    /// Older entries are deleted daily. What was unread in them stays in the badges until the badge is marked as read.
    #[arg(long, value_name = "DURATION", default_value = "90days")]
    #[arg(value_parser = duration(DAY..=YEAR * 10))]
    pub inbox_retention: Duration,

    /// When all totals are recounted each night and repaired, as HH:MM in UTC; or off
    #[arg(long, value_name = "TIME", default_value = "02:00", value_parser = nightly_at)]
    pub reconcile_at: NightlyAt,

    /// Users, notes, comments and groups that are recounted each second and repaired, in at most a tenth of the
    /// time, 0 to 1000; 0 for none
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = whole(0..=1000, as_usize))]
    pub reconcile_sample: usize,

    /// How many replicas must have an event before it is counted, 0 to 10
    ///
    /// Only with your own Redis.
    #[arg(long, value_name = "COUNT", default_value = "0", value_parser = whole(0..=10, Some))]
    #[arg(help_heading = "Redis")]
    pub redis_replicas: u32,

    /// Percent of Redis' memory that events may take that are not in PostgreSQL yet, 1 to 90
    ///
    /// Beyond it actions are refused with `RETRY_LATER`.
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = whole(1..=90, Some))]
    #[arg(help_heading = "Redis")]
    pub redis_log_share: u32,
}

impl PipelineSettings {
    /// Whether the table activity has steps.
    pub const fn keeps_activity(&self) -> bool {
        !self.activity_retention.is_zero()
    }

    /// Whether there is a stream of events.
    pub const fn streams_events(&self) -> bool {
        !self.event_retention.is_zero()
    }
}

/// Limits of the domain's rules.
#[derive(Args, Clone, Copy, PartialEq, Eq, Debug)]
pub struct DomainSettings {
    /// Of the pipeline, too: a flip succeeds only when so many replicas of Redis have it.
    #[arg(skip)]
    pub redis_replicas: u32,

    /// How many users one user may follow, 1 to 5000
    #[arg(long, value_name = "USERS", default_value = "5000", value_parser = whole(1..=5000, Some))]
    #[arg(help_heading = "Service")]
    pub follow_limit: u32,

    /// Memory of all subscriptions of a process in MiB, 64 to 65536
    ///
    /// One user or address takes a thirty-second at most. A subscription beyond it is refused with `LIMIT_EXCEEDED`.
    #[arg(long, value_name = "MIB", default_value = "2048", value_parser = whole(64..=65_536, mebibytes))]
    #[arg(help_heading = "Sockets")]
    pub subscription_memory: u64,

    /// How long further views of a note by the same viewer do not count, 0s to 1day; 0s counts each request
    ///
    /// Without a token an address is a viewer. Each process remembers 4 million views.
    #[arg(long, value_name = "DURATION", default_value = "30m")]
    #[arg(value_parser = duration(Duration::ZERO..=DAY), help_heading = "Service")]
    pub view_window: Duration,

    /// Have notes judged as comments are, before others see them; an edit of a note, too
    ///
    /// What is waiting when it is turned off is still decided.
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true", action = clap::ArgAction::Set)]
    #[arg(help_heading = "Moderation")]
    pub moderate_notes: bool,

    /// Show `User.subject` only to services, moderators and the user, and find users by their subjects only for them
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true", action = clap::ArgAction::Set)]
    #[arg(help_heading = "Service")]
    pub private_subjects: bool,

    /// Record also that somebody switches off what is off, such as an unlike without a like
    ///
    /// On while an app's history is imported beside this service: an older like of the import then stays off.
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = BoolishValueParser::new())]
    #[arg(num_args = 0..=1, default_missing_value = "true", action = clap::ArgAction::Set)]
    #[arg(help_heading = "Service")]
    pub record_every_off: bool,

    /// How long a mutation waits for its own new count before it answers, 0s to 1m
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    #[arg(value_parser = duration(Duration::ZERO..=Duration::from_mins(1)), help_heading = "Live counts")]
    pub reply_wait: Duration,

    #[command(flatten)]
    pub rates: RateSettings,
}

/// The log.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct LogSettings {
    /// What to log: error, warn, info, debug or trace, also by module, such as info,plaudit_counting::hub=debug
    ///
    /// Log lines go to stderr.
    #[arg(long, value_name = "FILTER", default_value = "info,sqlx::postgres::notice=warn", value_parser = log_filter)]
    pub log: EnvFilter,

    /// Lines for people, or one JSON object per line for programs
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub log_format: LogFormat,
}

/// What a process does; one process may do both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ProcessRole {
    /// Answers clients.
    Api,
    /// Folds events into counts and persists them.
    Pipeline,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}
