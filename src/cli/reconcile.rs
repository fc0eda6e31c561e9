//! `plaudit reconcile`: recounts from rows, prints drift, and repairs it on request.

use std::{collections::BTreeSet, io::Write, time::Duration};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::{
    args::{Format, StoresArgs},
    entity::{NameError, Named, entity_id},
};
use plaudit_catalogue::{Entity, EntityKind, settings::duration};
use plaudit_counting::reconcile::{CheckReport, EntityWalk, Finding, PAGE, Reconciler, Trigger, Windows};
use plaudit_store::{
    StoreError, StoreResult,
    sql::{Db, counting::recount},
};

const LONGEST_SINCE: Duration = Duration::from_hours(24 * 366);

#[derive(Args, Clone, Debug)]
pub struct ReconcileArgs {
    /// Repair what drifted; without it nothing is changed
    #[arg(long)]
    pub repair: bool,

    /// Only what was touched within this time, 1s to 366days: likes and other edges as far as the table `activity`
    /// has them, new notes, decided comments, grants of coins, hidden users and removed notes
    #[arg(long, value_name = "DURATION", conflicts_with = "entity")]
    #[arg(value_parser = duration(Duration::from_secs(1)..=LONGEST_SINCE))]
    pub since: Option<Duration>,

    /// Only this one, as note_42 or note:<key>; may be given several times; kinds: user (user:<subject>), note,
    /// comment, group, inbox
    #[arg(long, value_name = "ID", value_parser = entity_id)]
    pub entity: Vec<Named>,

    /// For people, or one JSON object per line: one for each finding, the last one with the sums
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "table")]
    pub format: Format,

    #[command(flatten)]
    pub stores: StoresArgs,
}

/// Runs to the end. Returns whether all counts are correct: nothing drifted, or all of it was repaired.
pub async fn run(args: &ReconcileArgs) -> Result<bool, NameError> {
    let (redis, db) = args.stores.open().await?;
    let mut entities = Vec::with_capacity(args.entity.len());
    for named in &args.entity {
        entities.push(named.find(&db).await?);
    }
    let reconciler = Reconciler::new(redis, db.clone(), Trigger::Command, args.repair);
    let mut report = DriftReport::new(args.format);
    let outcome = if !entities.is_empty() {
        check_named(&reconciler, &entities, &mut report).await
    } else if let Some(since) = args.since {
        check_recent(&reconciler, &db, since, &mut report).await
    } else {
        check_all(&reconciler, &db, &mut report).await
    };
    report.end();
    outcome?;
    Ok(report.sums.drifted == report.sums.repaired)
}

async fn check_named(
    reconciler: &Reconciler,
    entities: &[Entity],
    report: &mut DriftReport,
) -> StoreResult<()> {
    report.bar.set_length(entities.len() as u64);
    for entity in entities {
        let outcome = reconciler.check_all(&[*entity]).await?;
        if outcome.checked == 0 {
            report.note(&format!("there is no {entity}"));
        }
        report.take_in(&outcome);
        report.bar.inc(1);
    }
    Ok(())
}

async fn check_recent(
    reconciler: &Reconciler,
    db: &Db,
    since: Duration,
    report: &mut DriftReport,
) -> StoreResult<()> {
    let mut windows = Windows::since(since, plaudit_catalogue::primitives::now());
    report.bar.set_length(windows.left());
    let mut reported = BTreeSet::new();
    while let Some(touched) = windows.next(db).await? {
        // An entity touched in several windows is reported once.
        let touched: Vec<Entity> = touched.difference(&reported).copied().collect();
        for page in touched.chunks(PAGE) {
            let outcome = check_page(reconciler, page).await?;
            reported.extend(outcome.findings.iter().map(|finding| finding.entity));
            report.take_in(&outcome);
        }
        report.bar.inc(1);
    }
    Ok(())
}

async fn check_all(reconciler: &Reconciler, db: &Db, report: &mut DriftReport) -> StoreResult<()> {
    let mut highest = Vec::new();
    for kind in EntityKind::ALL {
        highest.push(recount::highest_id(db, *kind).await? as u64);
    }
    report.bar.set_length(highest.iter().sum());
    let mut walk = EntityWalk::default();
    while let Some((kind, ids)) = walk.next(db, PAGE).await? {
        let entities: Vec<Entity> = ids.iter().map(|id| Entity::new(kind, *id)).collect();
        report.take_in(&check_page(reconciler, &entities).await?);
        let done: u64 = highest[..kind as usize].iter().sum();
        let last = ids.last().map_or(0, |id| id.get() as u64);
        report.bar.set_position(done + last.min(highest[kind as usize]));
    }
    Ok(())
}

/// Checks a page of entities. Retries transient errors a few times.
async fn check_page(reconciler: &Reconciler, entities: &[Entity]) -> StoreResult<CheckReport> {
    use backon::{ExponentialBuilder, Retryable};
    let attempt = || reconciler.check_all(entities);
    attempt.retry(ExponentialBuilder::default().with_max_times(4)).when(StoreError::is_transient).await
}

#[derive(Default)]
struct Sums {
    checked: u64,
    skipped: u64,
    drifted: u64,
    repaired: u64,
}

/// Prints each finding on stdout at once, and progress on stderr if that is a terminal.
struct DriftReport {
    format: Format,
    bar: ProgressBar,
    sums: Sums,
}

impl DriftReport {
    fn new(format: Format) -> Self {
        let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}  {eta}");
        let bar = ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { format, bar, sums: Sums::default() }
    }

    fn take_in(&mut self, outcome: &CheckReport) {
        let findings = &outcome.findings;
        if self.format == Format::Table && self.sums.drifted == 0 && !findings.is_empty() {
            let (found, expected) = ("found", "expected");
            self.line(&row(["entity", "what", "counter", found, expected, "off", "done"]));
        }
        for finding in findings {
            self.line(&match self.format {
                Format::Table => table_row(finding),
                Format::Json => json!(finding).to_string(),
            });
        }
        self.sums.checked += outcome.checked;
        self.sums.skipped += outcome.skipped.len() as u64;
        self.sums.drifted += findings.len() as u64;
        self.sums.repaired += outcome.repaired();
        self.bar.set_message(format!("{} drifted", self.sums.drifted));
    }

    fn note(&self, text: &str) {
        self.bar.suspend(|| eprintln!("plaudit: {text}"));
    }

    /// Ignores errors: a closed pipe (`| head`) must not stop the repair.
    fn line(&self, text: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(std::io::stdout(), "{text}");
        });
    }

    fn end(&self) {
        self.bar.finish_and_clear();
        let Sums { checked, skipped, drifted, repaired } = self.sums;
        self.line(&match self.format {
            Format::Table => {
                let busy = if skipped > 0 {
                    format!(", {skipped} changed too often to compare")
                } else {
                    String::new()
                };
                format!("checked {checked}{busy}: {drifted} drifted, {repaired} repaired")
            }
            Format::Json => json!({
                "checked": checked, "skipped": skipped, "drifted": drifted, "repaired": repaired,
            })
            .to_string(),
        });
    }
}

fn table_row(finding: &Finding) -> String {
    let number = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    row([
        &finding.entity.to_string(),
        finding.what.name(),
        finding.counter,
        &number(finding.found),
        &number(finding.expected),
        &format!("{:+}", finding.off),
        finding.done(),
    ])
}

fn row([entity, what, counter, found, expected, off, done]: [&str; 7]) -> String {
    format!("{entity:<18} {what:<15} {counter:<18} {found:>10} {expected:>10} {off:>8}  {done}")
}
