//! `plaudit check`: whether `plaudit serve` with the same settings would start and run well.

use std::path::{Path, PathBuf};

use clap::Args;

use super::USUAL_FILE;
use crate::app;
use plaudit_catalogue::settings::Settings;

#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Check settings, files and rights only, and ask no store and no other host
    #[arg(long)]
    pub offline: bool,

    #[command(flatten)]
    pub settings: Settings,
}

/// Prints one line for each finding. Returns whether all is well.
pub async fn run(args: &CheckArgs) -> bool {
    let usual = || Path::new(USUAL_FILE).exists().then(|| PathBuf::from(USUAL_FILE));
    let file = args.settings.location.config.clone().or_else(usual);
    let findings = app::check(&args.settings, file.as_deref(), !args.offline).await;
    print!("{findings}");
    findings.are_well()
}

/// What `plaudit check` prints of settings that cannot be used.
pub fn settings_line(error: &clap::Error) -> String {
    let mut findings = app::Findings::default();
    let text = error.to_string();
    findings.error("settings", text.trim_start_matches("error: ").trim_end());
    findings.to_string()
}
