//! The `plaudit` command: runs a subcommand and maps its result to an exit code. `src/lib.rs` describes the layers.

use std::process::ExitCode;

use plaudit::{
    app::{self, start_log},
    cli::{self, Cli, Command},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exit code: something drifted and was not repaired.
const DRIFTED: u8 = 1;
/// Exit code: lines of an import were rejected, or are missing or otherwise.
const REJECTED: u8 = 2;
/// Exit code: the check failed, so drift is unknown. The same code as for wrong flags.
const NOT_DONE: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    // For TLS to Redis, whose client chooses no cryptography itself. Fails only if one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Reads FAILPOINTS where there are fail points: see `plaudit_catalogue::primitives::fault`.
    let _points = fail::has_failpoints().then(fail::FailScenario::setup);
    match run(Cli::read().command).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("plaudit: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<ExitCode, Box<dyn std::error::Error>> {
    match command {
        Command::Serve(settings) => {
            start_log(&settings.log);
            app::serve(*settings).await?;
        }
        Command::Check(args) => {
            start_log(&args.settings.log);
            return Ok(if cli::check::run(&args).await { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Command::Ready(args) => print!("{}", cli::ready::run(&args).await?),
        Command::Migrate(args) => {
            start_log(&args.log);
            args.open().await?;
        }
        Command::Seed(args) => {
            start_log(&args.stores.log);
            cli::seed::run(&args).await?;
        }
        Command::Dead(args) => {
            start_log(args.command.log());
            cli::dead::run(&args).await?;
        }
        Command::Reconcile(args) => {
            start_log(&args.stores.log);
            return Ok(match cli::reconcile::run(&args).await {
                Ok(true) => ExitCode::SUCCESS,
                Ok(false) => ExitCode::from(DRIFTED),
                Err(error) => {
                    eprintln!("plaudit: {error}");
                    ExitCode::from(NOT_DONE)
                }
            });
        }
        Command::Explain(args) => {
            start_log(&args.stores.log);
            println!("{}", cli::explain::run(&args).await?);
        }
        Command::Export(args) => {
            start_log(&args.stores.log);
            cli::export::run(&args).await?;
        }
        Command::Import(args) => {
            start_log(&args.stores.log);
            return Ok(if cli::import::run(&args).await? {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(REJECTED)
            });
        }
        Command::Reshard(args) => {
            start_log(&args.settings.log);
            print!("{}", cli::reshard::run(&args).await?);
        }
        Command::Trim(args) => {
            start_log(&args.stores.log);
            print!("{}", cli::trim::run(&args).await?);
        }
        Command::Erase(args) => {
            start_log(&args.stores.log);
            print!("{}", cli::erase::run(&args).await?);
        }
        Command::Events(args) => {
            start_log(&args.stores.log);
            cli::events::run(&args).await?;
        }
        Command::Webhooks(args) => {
            start_log(&args.stores.log);
            print!("{}", cli::webhooks::run(&args).await?);
        }
        Command::Token(args) => {
            println!("{}", cli::token::token(&args)?);
        }
        Command::Schema(args) if args.subgraph => print!("{}", plaudit_graphql::federation_sdl()),
        Command::Schema(_) => print!("{}", plaudit_graphql::sdl()),
        Command::Licenses => print!("{}", cli::LICENSES),
        Command::Docs(args) => print!("{}", cli::docs::run(args)),
    }
    Ok(ExitCode::SUCCESS)
}
