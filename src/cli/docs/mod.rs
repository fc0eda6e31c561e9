//! `plaudit docs`: the tables of docs/reference, generated from the definitions in the code. A test compares them.

mod command_line;
mod errors;
mod limits;
mod metrics;
mod rights;
mod settings;
mod table;

use clap::{Args, ValueEnum};

#[derive(Args, Clone, Copy, Debug)]
pub struct DocsArgs {
    /// Which page's tables to print
    #[arg(value_name = "PAGE", value_enum)]
    pub page: ReferencePage,
}

/// A page of docs/reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReferencePage {
    Settings,
    Metrics,
    Limits,
    Rights,
    Cli,
    Errors,
}

/// The page's tables, in Markdown.
pub fn run(args: DocsArgs) -> String {
    match args.page {
        ReferencePage::Settings => settings::tables(),
        ReferencePage::Metrics => metrics::table(),
        ReferencePage::Limits => limits::table_of_limits(),
        ReferencePage::Rights => rights::table(),
        ReferencePage::Cli => command_line::tables(),
        ReferencePage::Errors => errors::table(),
    }
}
