//! Command line of `plaudit`: parses the command with its arguments and settings.
//!
//! [`Cli::read`] returns the command; `src/main.rs` runs it.

mod args;
pub mod check;
pub mod dead;
pub mod docs;
mod entity;
pub mod erase;
pub mod events;
pub mod explain;
pub mod export;
pub mod import;
pub mod ready;
pub mod reconcile;
pub mod reshard;
pub mod seed;
pub mod token;
pub mod trim;
pub mod webhooks;

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

use plaudit_catalogue::settings::{self, CONFIG, Layers, Settings, SettingsError, as_usize, whole};

pub use args::DatabaseArgs;
use args::StoresArgs;
pub use check::CheckArgs;
pub use dead::DeadArgs;
pub use docs::DocsArgs;
pub use erase::EraseArgs;
pub use events::EventsArgs;
pub use explain::ExplainArgs;
pub use export::ExportArgs;
pub use import::ImportArgs;
pub use ready::ReadyArgs;
pub use reconcile::ReconcileArgs;
pub use reshard::ReshardArgs;
pub use token::TokenArgs;
pub use trim::TrimArgs;
pub use webhooks::WebhooksArgs;

/// `scripts/licenses.mjs` writes it.
pub const LICENSES: &str = include_str!("../../ops/licenses.txt");

/// The settings file if no other is named. It need not exist.
const USUAL_FILE: &str = "plaudit.toml";

/// Counts what people do in a social app and shows the counts live, by GraphQL
///
/// `plaudit serve` needs no configuration: it runs a Redis and a PostgreSQL of its own.
#[derive(Parser, Debug)]
#[command(name = "plaudit", version = env!("BUILD_VERSION"))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run the service
    Serve(Box<Settings>),
    /// Check settings, files and stores, as `plaudit serve` does before it starts
    ///
    /// Prints one line for each subject: ok, warning or error, and its remedy. Changes nothing, and may run beside
    /// servers. Ends with 0 if nothing is an error, and with 1 otherwise.
    Check(Box<CheckArgs>),
    /// Ask whether the server with these settings is ready, for health checks where there is no shell
    ///
    /// Asks `/readyz` at the address of `listen`, for 3 s at most. Ends with 0 if it is ready, and with 1 and a
    /// line that says why otherwise.
    Ready(ReadyArgs),
    /// Bring the database's tables up to date; serve does it too
    Migrate(DatabaseArgs),
    /// Fill the database with demo data
    Seed(SeedArgs),
    /// List, apply or drop events that could not be written to PostgreSQL
    Dead(DeadArgs),
    /// Recount totals from rows, compare Redis with them, and repair what drifted
    ///
    /// Runs beside a server, which goes on counting. Ends with 0 when nothing drifted or all of it was repaired,
    /// with 1 when something drifted and was not repaired, with 2 when it could not be done.
    Reconcile(Box<ReconcileArgs>),
    /// Print the counts of a user, note, comment, group or inbox from all sides, as JSON
    Explain(Box<ExplainArgs>),
    /// Print all that everybody sees, as JSON lines that an import reads
    ///
    /// Reads PostgreSQL as it is at one moment. With --user, prints all that is held of that user instead.
    Export(Box<ExportArgs>),
    /// Import an app's history from JSON lines
    ///
    /// Runs beside a server, which goes on counting. Of an edge the later time wins, and a line that is read
    /// again changes nothing, so an import that was interrupted is repeated. Ends with 0, with 2 if lines were
    /// rejected, which are then in FILE.rejects.jsonl, and with 1 if it failed. With --dry-run, reports rejected
    /// lines, and by type lines that Plaudit lacks or that differ.
    Import(Box<ImportArgs>),
    /// Change the number of virtual shards
    ///
    /// Runs beside servers, which go on by themselves. Until it ends, actions answer RETRY_LATER. If it is
    /// interrupted, run it again, or with --abort. Takes the settings of the server.
    Reshard(Box<ReshardArgs>),
    /// Trim the logs to what is not in PostgreSQL yet
    ///
    /// For the moment before slots of a cluster are moved key by key, which blocks both nodes while a log is
    /// moved. If PostgreSQL then fails over and loses its last commits, the logs no longer have the last ten
    /// minutes to restore them.
    Trim(Box<TrimArgs>),
    /// Erase a user for good
    ///
    /// Name and subject are deleted at once. A running server, or the next one, deletes the rest.
    Erase(Box<EraseArgs>),
    /// Print what happened, as JSON lines: the stream of events
    Events(Box<EventsArgs>),
    /// Print the batches that the webhook gave up, and the one that fails now, as JSON lines
    Webhooks(Box<WebhooksArgs>),
    /// Print a token for a user, to call the service with
    Token(TokenArgs),
    /// Print the GraphQL schema
    Schema(SchemaArgs),
    /// Print what Plaudit contains, with the texts of the licences
    Licenses,
    /// Print the tables of docs/reference
    #[command(hide = true)]
    Docs(DocsArgs),
}

#[derive(Args, Clone, Debug)]
pub struct SchemaArgs {
    /// As a subgraph of Apollo Federation v2, to compose a supergraph of it
    #[arg(long)]
    pub subgraph: bool,
}

#[derive(Args, Clone, Debug)]
pub struct SeedArgs {
    /// Users to create, 1 to 1000000
    #[arg(long, value_name = "COUNT", default_value = "1000", value_parser = whole(1..=1_000_000, as_usize))]
    pub users: usize,

    /// Notes to create, at most 10000000
    #[arg(long, value_name = "COUNT", default_value = "5000", value_parser = whole(0..=10_000_000, as_usize))]
    pub notes: usize,

    #[command(flatten)]
    pub stores: StoresArgs,
}

impl Cli {
    /// Reads this process's command line, environment and settings file.
    ///
    /// Ends the process with a message after an error (exit code 2), and with the help or the version if the command
    /// line requests them (exit code 0).
    pub fn read() -> Self {
        Self::read_from(env::args_os(), env::vars_os(), Path::new(USUAL_FILE)).unwrap_or_else(|error| {
            let is_check = env::args_os().nth(1).is_some_and(|command| command == "check");
            if is_check && error.kind() == ErrorKind::ValueValidation && error.use_stderr() {
                print!("{}", check::settings_line(&error));
                std::process::exit(1);
            }
            error.exit()
        })
    }

    /// Like [`Self::read`], but from any source. Reads `usual_file` if it exists and no other file is named.
    ///
    /// Handles help, version and wrong flags before it reads the file and the environment, so that an error there does
    /// not prevent them.
    ///
    /// # Errors
    /// What `read` prints.
    pub fn read_from(
        args: impl IntoIterator<Item = OsString>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        usual_file: &Path,
    ) -> Result<Self, clap::Error> {
        let args: Vec<OsString> = args.into_iter().collect();
        let command = settings::explain(Self::command());
        let matches = command.clone().try_get_matches_from(&args)?;
        let Some(chosen_file) = settings_file(&matches) else {
            return Self::from_arg_matches(&matches);
        };
        let layers = Layers::read(chosen_file.as_deref(), usual_file, environment).map_err(clap_error)?;
        let mut cli = Self::from_arg_matches(&layers.lay_under(command).try_get_matches_from(&args)?)?;
        let settings = match &mut cli.command {
            Command::Serve(settings) => Some(settings.as_mut()),
            Command::Check(args) => Some(&mut args.settings),
            _ => None,
        };
        if let Some(settings) = settings {
            settings.complete();
            settings.check().map_err(clap_error)?;
        }
        Ok(cli)
    }
}

fn clap_error(error: SettingsError) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{error}\n"))
}

/// The file that `--config` names; the outer `None` for commands without settings.
fn settings_file(matches: &ArgMatches) -> Option<Option<PathBuf>> {
    let (_, mut command) = matches.subcommand()?;
    while let Some((_, inner)) = command.subcommand() {
        command = inner;
    }
    command.try_get_one::<PathBuf>(CONFIG).ok().map(|file| file.cloned())
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::*;

    /// Parses `plaudit <line>` with a settings file of this text.
    fn read(line: &str, variables: &[(&str, &str)], file: &str) -> Result<Cli, clap::Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plaudit.toml");
        fs::write(&path, file).unwrap();
        let args = ["plaudit"].into_iter().chain(line.split_whitespace()).map(OsString::from);
        let environment = variables.iter().map(|(name, value)| (name.into(), value.into()));
        Cli::read_from(args, environment, &path)
    }

    fn serve(line: &str, variables: &[(&str, &str)], file: &str) -> Settings {
        match read(&format!("serve {line}"), variables, file).unwrap().command {
            Command::Serve(settings) => *settings,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn clap_accepts_the_definitions() {
        settings::explain(Cli::command()).debug_assert();
    }

    #[test]
    fn a_flag_overrides_the_environment_and_the_environment_overrides_the_file() {
        let file = "follow_limit = 1\nbatch_events = 1\nbatch_wait = '1ms'\nroles = ['pipeline']";
        let variables = [("PLAUDIT_FOLLOW_LIMIT", "2"), ("PLAUDIT_BATCH_EVENTS", "2")];
        for _ in 0..2 {
            let settings = serve("--follow-limit 3", &variables, file);
            assert_eq!(settings.domain.follow_limit, 3);
            assert_eq!(settings.pipeline.batch_events, 2);
            assert_eq!(settings.pipeline.batch_wait, Duration::from_millis(1));
            assert!(!settings.runs(settings::ProcessRole::Api));
            assert_eq!(settings.database.database_connections, 20);
        }
    }

    #[test]
    fn a_boolean_can_be_set_everywhere_and_a_flag_without_a_value_means_true() {
        let seeds = |line, variables, file| serve(line, variables, file).seed_if_empty;
        assert!(!seeds("", &[], ""));
        assert!(seeds("", &[], "seed_if_empty = true"));
        assert!(seeds("", &[("PLAUDIT_SEED_IF_EMPTY", "true")], ""));
        assert!(seeds("--seed-if-empty true", &[], ""));
        assert!(!seeds("--seed-if-empty false", &[], "seed_if_empty = true"));
        assert!(seeds("--seed-if-empty", &[], "seed_if_empty = false"));
        assert!(!serve("", &[], "").domain.moderate_notes);
    }

    #[test]
    fn a_command_takes_its_own_settings_and_the_others_are_still_checked() {
        let variables = [("PLAUDIT_FOLLOW_LIMIT", "7"), ("PLAUDIT_DATA_DIR", "here")];
        match read("migrate", &variables, "").unwrap().command {
            Command::Migrate(args) => assert_eq!(args.location.data_dir, Path::new("here")),
            other => panic!("{other:?}"),
        }
        assert!(read("migrate", &[("PLAUDIT_FOLLOW_LIMIT", "0")], "").is_err());
        assert!(read("seed --users 5", &[], "users = 5").is_err(), "an option of one command is no setting");
    }

    #[test]
    fn help_works_despite_errors_in_the_file_and_the_environment() {
        let broken = [("PLAUDIT_NONSENSE", "1")];
        for line in ["serve --help", "help token", "--version", "schema", "serve --nonsense"] {
            let outcome = read(line, &broken, "not TOML");
            assert!(!outcome.is_err_and(|e| e.to_string().contains("NONSENSE")), "{line}");
        }
        assert!(read("serve", &broken, "").unwrap_err().to_string().contains("PLAUDIT_NONSENSE"));
    }

    #[test]
    fn the_help_names_every_environment_variable_and_no_value() {
        let help = read("serve --help", &[("PLAUDIT_LEASE", "42s")], "").unwrap_err().to_string();
        let command = Settings::augment_args(clap::Command::new("settings"));
        for setting in command.get_arguments() {
            let variable = format!("[env: PLAUDIT_{}]", setting.get_id().as_str().to_uppercase());
            assert!(help.contains(&variable), "{variable}");
        }
        assert!(!help.contains("42s"));
    }
}
