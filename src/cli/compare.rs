//! `plaudit compare`: tells which lines of an import Plaudit lacks or has otherwise, beside a running server.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use clap::Args;

use super::{
    args::StoresArgs,
    import::{progress_bar, with_bar},
};
use crate::app::AppError;
use plaudit_tools::import::{CompareError, Compared, Comparer, Comparison, Progress, Source};

#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    /// Files of JSON lines, also .gz and .zst; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Write the lines that are missing or otherwise to this file
    #[arg(long, value_name = "FILE")]
    pub write_differences: Option<PathBuf>,

    #[command(flatten)]
    pub stores: StoresArgs,
}

#[derive(Debug, thiserror::Error)]
pub enum CompareCommandError {
    #[error(transparent)]
    App(#[from] AppError),
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error("cannot write {}: {source}", path.display())]
    Differences { path: PathBuf, source: io::Error },
}

/// Compares the files and prints what was found by types of lines. Returns whether all are equal.
pub async fn run(args: &CompareArgs) -> Result<bool, CompareCommandError> {
    let (redis, db) = args.stores.open().await?;
    let path = args.write_differences.clone().unwrap_or_default();
    let writing = |source| CompareCommandError::Differences { path: path.clone(), source };
    let file = args.write_differences.as_ref().map(File::create).transpose().map_err(writing)?;
    let mut differences = file.map(BufWriter::new);
    let mut comparer = Comparer::new(redis, db);
    let mut all_equal = true;
    for file in &args.files {
        let source = Source::of(file);
        let progress = Progress::default();
        let bar = progress_bar(source.bytes().unwrap_or(0), &progress);
        let outcome =
            with_bar(&bar, &source, &progress, comparer.compare(&source, &mut differences, &progress)).await;
        bar.finish_and_clear();
        let comparison = outcome?;
        print!("{}", report(&source, &comparison));
        all_equal &= comparison.is_equal();
    }
    if let Some(mut differences) = differences {
        differences.flush().map_err(writing)?;
    }
    Ok(all_equal)
}

fn report(source: &Source, comparison: &Comparison) -> String {
    let wrong = match comparison.wrong {
        0 => String::new(),
        wrong => format!(", and {wrong} wrong lines, which plaudit import --dry-run counts"),
    };
    let mut report = format!("{}: {}{wrong}\n", source.name(), numbers(&comparison.all()));
    for (name, of_type) in &comparison.types {
        report += &format!("  {name}: {}\n", numbers(of_type));
    }
    report
}

fn numbers(compared: &Compared) -> String {
    let Compared { lines, missing, otherwise, later } = compared;
    format!("{lines} lines, {missing} missing, {otherwise} otherwise, {later} later in Plaudit")
}
