//! `plaudit docs`: the tables of docs/reference, generated from the definitions in the code, which a test compares; and
//! for packages the man page and the completions of shells.

mod command_line;
mod errors;
mod limits;
mod metrics;
mod package;
mod rights;
mod settings;
mod table;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

#[derive(Args, Clone, Copy, Debug)]
pub struct DocsArgs {
    /// Which page's tables to print
    #[arg(value_name = "PAGE", value_enum)]
    pub page: ReferencePage,
}

/// A page of docs/reference, or a file of a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReferencePage {
    Settings,
    Metrics,
    Limits,
    Rights,
    Cli,
    Errors,
    Man,
    Bash,
    Zsh,
    Fish,
}

/// The page's tables, in Markdown, or the file.
pub fn run(args: DocsArgs) -> String {
    match args.page {
        ReferencePage::Settings => settings::tables(),
        ReferencePage::Metrics => metrics::table(),
        ReferencePage::Limits => limits::table_of_limits(),
        ReferencePage::Rights => rights::table(),
        ReferencePage::Cli => command_line::tables(),
        ReferencePage::Errors => errors::table(),
        ReferencePage::Man => package::man_page(),
        ReferencePage::Bash => package::completions(Shell::Bash),
        ReferencePage::Zsh => package::completions(Shell::Zsh),
        ReferencePage::Fish => package::completions(Shell::Fish),
    }
}
