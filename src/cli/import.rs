//! `plaudit import`: writes an app's past, as JSON lines, into PostgreSQL, beside a running server; or reports which
//! lines are missing there.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use clap::Args;
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

use super::args::StoresArgs;
use crate::app::AppError;
use plaudit_catalogue::primitives::fault;
use plaudit_tools::import::{
    Compared, Comparison, DryRun, ImportError, Importer, Input, Progress, Rate, Summary,
};

/// How often the progress is shown.
const EVERY: Duration = Duration::from_millis(200);
/// The same where there is no terminal, as a line.
const LINE_EVERY: Duration = Duration::from_secs(10);

#[derive(Args, Clone, Debug)]
pub struct ImportArgs {
    /// Files of JSON lines, also .gz and .zst, in this order; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Check all lines, compare them with what Plaudit has, and write nothing, not even the rejected ones; what a line
    /// would create is kept in memory
    #[arg(long)]
    pub dry_run: bool,

    /// Write the lines that are missing or otherwise to this file, and end with 2 if there are any
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    pub write_differences: Option<PathBuf>,

    /// Most lines per second, 0 for no limit; left out, 25500 while a server runs, and otherwise no limit. With a limit
    /// one connection writes a fifth of a second's lines at a time, and rests after each
    #[arg(long, value_name = "LINES")]
    pub rate: Option<u32>,

    #[command(flatten)]
    pub stores: StoresArgs,
}

#[derive(Debug, thiserror::Error)]
pub enum ImportCommandError {
    #[error(transparent)]
    App(#[from] AppError),
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// Imports the files and prints what was done with each. Returns whether all lines were taken.
pub async fn run(args: &ImportArgs) -> Result<bool, ImportCommandError> {
    let (redis, db) = args.stores.open().await?;
    if args.dry_run {
        return compare(args, DryRun::new(redis, db)).await;
    }
    let mut importer = Importer::new(redis, db, args.rate.map_or(Rate::ByServer, Rate::Given));
    let mut all_taken = true;
    for input in args.files.iter().map(|file| Input::of(file)) {
        let progress = Progress::default();
        let summary = with_bar(&input, &progress, importer.import(&input, &progress)).await?;
        println!("{}", report(&input, &summary));
        all_taken &= summary.rejected == 0;
    }
    Ok(all_taken)
}

/// Returns whether all lines would be taken; where differences are written, whether there are none.
async fn compare(args: &ImportArgs, mut dry_run: DryRun) -> Result<bool, ImportCommandError> {
    let file = args.write_differences.as_ref().map(File::create).transpose();
    let mut differences = file.map_err(ImportError::Differences)?.map(BufWriter::new);
    let mut is_fine = true;
    for input in args.files.iter().map(|file| Input::of(file)) {
        let progress = Progress::default();
        let found = with_bar(&input, &progress, dry_run.run(&input, &mut differences, &progress)).await?;
        print!("{}", report_of_comparison(&input, &found));
        is_fine &= if differences.is_some() { found.is_equal() } else { found.rejected == 0 };
    }
    if let Some(mut differences) = differences {
        differences.flush().map_err(ImportError::Differences)?;
    }
    Ok(is_fine)
}

fn report(input: &Input, summary: &Summary) -> String {
    let Summary { lines, skipped, rejected, rows } = summary;
    let before =
        if *skipped > 0 { format!(" after {skipped} of an interrupted import") } else { String::new() };
    let where_to = match rejected {
        0 => String::new(),
        _ => format!(" to {}", input.rejects().display()),
    };
    format!(
        "{}: {lines} lines{before}, {rows} rows written, {rejected} lines rejected{where_to}",
        input.name()
    )
}

fn report_of_comparison(input: &Input, found: &Comparison) -> String {
    let Comparison { lines, rejected, types, .. } = found;
    let mut report = format!("{}: {lines} lines, nothing written, {rejected} lines rejected\n", input.name());
    for (name, compared) in
        [("all", &found.all())].into_iter().chain(types.iter().map(|(name, of)| (*name, of)))
    {
        let Compared { lines, missing, otherwise, later } = compared;
        report += &format!(
            "  {name}: {lines} lines, {missing} missing, {otherwise} otherwise, {later} later in Plaudit\n"
        );
    }
    report
}

/// Bytes of the file and lines per second; without a length, only lines.
fn progress_bar(bytes: u64, progress: &Progress) -> ProgressBar {
    let template = match bytes {
        0 => "{spinner} {lines} lines  {rate}/s  {msg}",
        _ => "{bar:40} {percent:>3} %  {lines} lines  {rate}/s  {eta}  {msg}",
    };
    let (lines, rated) = (progress.lines.clone(), progress.lines.clone());
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let show_lines = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{}", HumanCount(lines.load(Relaxed)));
    };
    let show_rate = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let seconds = state.elapsed().as_secs_f64().max(0.001);
        let _ = write!(out, "{}", HumanCount((rated.load(Relaxed) as f64 / seconds) as u64));
    };
    ProgressBar::new(bytes).with_style(style.with_key("lines", show_lines).with_key("rate", show_rate))
}

/// Shows the progress on the terminal, or by lines on standard error if that is none.
async fn with_bar<T>(input: &Input, progress: &Progress, work: impl Future<Output = T>) -> T {
    let bar = progress_bar(input.bytes().unwrap_or(0), progress);
    let mut ticks = tokio::time::interval(EVERY);
    let line_every = fault::period("import.line_every", LINE_EVERY);
    let mut told = Instant::now();
    tokio::pin!(work);
    loop {
        tokio::select! {
            outcome = &mut work => {
                bar.finish_and_clear();
                return outcome;
            }
            _ = ticks.tick() => {
                bar.set_position(progress.bytes.load(Relaxed));
                bar.set_message(match progress.rejected.load(Relaxed) {
                    0 => String::new(),
                    rejected => format!("{rejected} rejected"),
                });
                bar.tick();
                if bar.is_hidden() && told.elapsed() >= line_every {
                    told = Instant::now();
                    // The process that reads the lines may have ended: the import goes on.
                    let _ = writeln!(io::stderr(), "{}", line(input, progress, bar.elapsed()));
                }
            }
        }
    }
}

fn line(input: &Input, progress: &Progress, elapsed: Duration) -> String {
    let (lines, rejected) = (progress.lines.load(Relaxed), progress.rejected.load(Relaxed));
    let per_second = (lines as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let part = input.bytes().ok().filter(|bytes| *bytes > 0).map_or_else(String::new, |bytes| {
        format!("{} % read, ", progress.bytes.load(Relaxed).saturating_mul(100) / bytes)
    });
    format!("{}: {part}{lines} lines, {per_second} per second, {rejected} rejected so far", input.name())
}
