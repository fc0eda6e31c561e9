//! Reconciliation: a singleton job that compares counts with PostgreSQL's rows and repairs differences. Every
//! few seconds it checks a small sample, recently changed entities first, and once a night everything.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, Days, NaiveTime, Utc};
use parking_lot::Mutex;

use crate::{
    leadership::{Leadership, retry},
    reconcile::{CheckReport, DriftKind, EntityWalk, PAGE, Reconciler, Trigger},
};
use plaudit_catalogue::{EdgeKind, Entity, EntityKind};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{ChannelItem, ShardsOfNode, counts::channel, nodes::shards_of_nodes},
    sql::counting::repairs::{self, Nightly},
};

/// Most seconds between two samples: what is read of each shard for a sample costs less with larger ones.
const MOST_SECONDS: usize = 5;
/// Maximum number of changed entities that wait to be sampled. Others are not sampled.
const MAX_CHANGED: usize = 1_000;
/// How often it checks whether the nightly run is due.
const NIGHT_CHECK: Duration = Duration::from_secs(5);
/// How long a sample may take. It has fewer entities if their rows are many: a hundred users with a million likes each
/// would be minutes of work in one statement of PostgreSQL, which ends after 15 s.
const LONGEST_SAMPLE: Duration = Duration::from_millis(50);
/// After a sample it rests for at least this many times what the sample took, so that it works a tenth of the time:
/// users with millions of likes are a second's work of PostgreSQL each, and among what changes most often.
const REST_PER_SAMPLE: u32 = 9;
/// The nightly run pauses after each page for as long as the page took, and at least for this.
const MIN_PAUSE: Duration = Duration::from_millis(20);

/// Never returns.
pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    report(&CheckReport::default()); // registers the counters at 0
    register_drift();
    let settings = &leadership.context.settings;
    let (changed, sample) = (Mutex::new(ChangedEntities::default()), settings.reconcile_sample);
    let background = async {
        if sample > 0 {
            tokio::join!(
                collect_changes(&leadership, &changed),
                check_samples(&leadership, &changed, sample)
            );
        }
    };
    let nightly = async {
        if let Some(at) = settings.reconcile_at.0 {
            run_nightly(&leadership, at).await;
        }
    };
    tokio::join!(background, nightly);
    std::future::pending().await
}

/// Entities whose counts changed by folds or direct changes of any process, from the shards' channels.
#[derive(Default)]
struct ChangedEntities {
    /// Changed since the last sample, so they may still move.
    fresh: HashSet<Entity>,
    /// Unchanged since the sample before, so ready to be checked.
    settled: VecDeque<Entity>,
}

impl ChangedEntities {
    fn add(&mut self, entity: Entity) {
        if self.fresh.len() + self.settled.len() < MAX_CHANGED {
            self.fresh.insert(entity);
        }
    }

    /// Takes up to `max` entities that have rested for the time of one sample.
    fn take(&mut self, max: usize) -> Vec<Entity> {
        let sample = self.settled.drain(..max.min(self.settled.len())).collect();
        for entity in self.fresh.drain() {
            if !self.settled.contains(&entity) {
                self.settled.push_back(entity);
            }
        }
        sample
    }
}

/// Collects changed entities. Never returns.
async fn collect_changes(leadership: &Leadership, changed: &Mutex<ChangedEntities>) {
    shards_of_nodes::on_each_node(leadership.redis(), |node| collect_from(node, changed)).await;
}

async fn collect_from(node: ShardsOfNode, changed: &Mutex<ChangedEntities>) {
    let mut delays = retry::delays();
    loop {
        if let Ok(mut listener) = channel::listen(&node).await {
            delays.reset();
            while let Some(event) = listener.next().await {
                let Ok(ChannelItem::Message(message)) = event else { continue };
                let mut changed = changed.lock();
                for change in message.changes {
                    changed.add(change.entity);
                }
            }
        }
        delays.pause().await;
    }
}

/// Checks samples, at most `per_second` entities on average: changed ones first, filled up by a walk over all. Never
/// returns.
async fn check_samples(leadership: &Leadership, changed: &Mutex<ChangedEntities>, per_second: usize) {
    let seconds = (PAGE / per_second).clamp(1, MOST_SECONDS);
    let most = per_second * seconds;
    let mut size = most;
    let reconciler = reconciler(leadership, Trigger::Background);
    let mut walk = EntityWalk::default();
    let pause = Duration::from_secs(seconds as u64);
    loop {
        let began = Instant::now();
        let entities = changed.lock().take(size);
        attempt(async {
            report(&reconciler.check_all(&entities).await?);
            let free = size - entities.len();
            if free > 0 {
                match walk.next(leadership.db(), free).await? {
                    Some((kind, ids)) => report(&reconciler.check(kind, &ids).await?),
                    None => walk = EntityWalk::default(),
                }
            }
            Ok(())
        })
        .await;
        let took = began.elapsed();
        size = size_after(size, took, most);
        tokio::time::sleep(pause.max(took * REST_PER_SAMPLE)).await;
    }
}

/// How many entities the next sample has: as many as take [`LONGEST_SAMPLE`], at most twice as many as before.
fn size_after(size: usize, took: Duration, most: usize) -> usize {
    let fitting = size as f64 * LONGEST_SAMPLE.as_secs_f64() / took.as_secs_f64().max(f64::EPSILON);
    (fitting as usize).clamp(1, (2 * size).min(most))
}

/// Runs the nightly reconciliation at its time. Never returns.
async fn run_nightly(leadership: &Leadership, at: NaiveTime) {
    let reconciler = reconciler(leadership, Trigger::Nightly);
    loop {
        let mut is_under_way = false;
        attempt(async {
            is_under_way = check_nightly_page(leadership, &reconciler, at).await?;
            Ok(())
        })
        .await;
        if !is_under_way {
            tokio::time::sleep(NIGHT_CHECK).await;
        }
    }
}

/// Checks a page if the nightly run is due or under way; it continues where an earlier owner stopped. Returns
/// whether there is more to do.
async fn check_nightly_page(
    leadership: &Leadership,
    reconciler: &Reconciler,
    at: NaiveTime,
) -> StoreResult<bool> {
    let db = leadership.db();
    let mut run = repairs::nightly(db).await?;
    if run.is_finished {
        if run.began_at >= last_time(at, Utc::now()) {
            return Ok(false);
        }
        run = begin(Utc::now());
        tracing::info!("the nightly reconciliation begins");
    }
    let began = Instant::now();
    let mut walk = EntityWalk::behind(run.kind, run.after);
    match walk.next(db, PAGE).await? {
        Some((kind, ids)) => {
            let outcome = reconciler.check(kind, &ids).await?;
            report(&outcome);
            run.checked += outcome.checked as i64;
            run.skipped += outcome.skipped.len() as i64;
            run.drifted += outcome.findings.len() as i64;
            run.repaired += outcome.repaired() as i64;
            (run.kind, run.after) = walk.place().unwrap_or((run.kind, run.after));
        }
        None => {
            run.is_finished = true;
            let Nightly { checked, skipped, drifted, repaired, .. } = run;
            tracing::info!(checked, skipped, drifted, repaired, "the nightly reconciliation has ended");
        }
    }
    repairs::keep_nightly(db, &run).await?;
    tokio::time::sleep(began.elapsed().max(MIN_PAUSE)).await;
    Ok(!run.is_finished)
}

fn begin(now: DateTime<Utc>) -> Nightly {
    let kind = EntityKind::ALL[0];
    Nightly {
        began_at: now,
        is_finished: false,
        kind,
        after: 0,
        checked: 0,
        skipped: 0,
        drifted: 0,
        repaired: 0,
    }
}

/// The latest moment up to `now` with this time of day (UTC).
fn last_time(at: NaiveTime, now: DateTime<Utc>) -> DateTime<Utc> {
    let today = now.date_naive().and_time(at).and_utc();
    if today <= now { today } else { today - Days::new(1) }
}

fn reconciler(leadership: &Leadership, by: Trigger) -> Reconciler {
    Reconciler::new(leadership.redis().clone(), leadership.db().clone(), by, true)
}

/// Logs a failure and goes on: reconciliation is not urgent, and must not end the leadership.
async fn attempt(work: impl Future<Output = StoreResult<()>>) {
    if let Err(error) = work.await {
        if error.is_transient() {
            tracing::debug!(%error, "cannot reconcile now");
        } else {
            tracing::error!(%error, "cannot reconcile; retrying");
        }
    }
}

fn report(outcome: &CheckReport) {
    metrics::counter!("plaudit_reconcile_checked_total").increment(outcome.checked);
    metrics::counter!("plaudit_reconcile_skipped_total").increment(outcome.skipped.len() as u64);
    metrics::counter!("plaudit_reconcile_repaired_total").increment(outcome.repaired());
    for finding in &outcome.findings {
        count_drift(finding.what, finding.entity.kind, finding.counter, 1);
        tracing::warn!(
            entity = %finding.entity,
            what = %finding.what,
            counter = finding.counter,
            from = finding.found,
            to = finding.expected,
            "a count drifted and was repaired"
        );
    }
}

/// Registers drift at 0 of each counter and each kind of edges.
fn register_drift() {
    for kind in EntityKind::ALL {
        for counter in kind.counters() {
            count_drift(DriftKind::Total, *kind, counter.name(), 0);
            count_drift(DriftKind::Redis, *kind, counter.name(), 0);
        }
        count_drift(DriftKind::TotalsMissing, *kind, "", 0);
        count_drift(DriftKind::TotalsOrphaned, *kind, "", 0);
    }
    for kind in EdgeKind::ALL {
        count_drift(DriftKind::Members, EntityKind::User, kind.name(), 0);
        count_drift(DriftKind::Flips, EntityKind::User, kind.name(), 0);
    }
}

/// `counter` is empty for all counters of the entity.
fn count_drift(what: DriftKind, kind: EntityKind, counter: &'static str, findings: u64) {
    let counter = if counter.is_empty() { "all" } else { counter };
    let labels = [("entity", kind.name()), ("counter", counter), ("what", what.name())];
    metrics::counter!("plaudit_reconcile_drift_total", &labels).increment(findings);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn the_last_time_is_today_or_yesterday() {
        let at = NaiveTime::from_hms_opt(2, 0, 0).unwrap();
        assert_eq!(last_time(at, utc("2026-03-05T01:59:59Z")), utc("2026-03-04T02:00:00Z"));
        assert_eq!(last_time(at, utc("2026-03-05T02:00:00Z")), utc("2026-03-05T02:00:00Z"));
        assert_eq!(last_time(at, utc("2026-03-05T23:00:00Z")), utc("2026-03-05T02:00:00Z"));
    }

    #[test]
    fn a_sample_has_as_many_entities_as_fit_into_its_time() {
        let after = |size, millis| size_after(size, Duration::from_millis(millis), 100);
        assert_eq!(after(100, 20), 100);
        assert_eq!(after(100, 2_500), 2);
        assert_eq!(after(1, 2_500), 1);
        assert_eq!(after(2, 5), 4);
        assert_eq!(after(4, 40), 5);
        assert_eq!(after(80, 0), 100);
    }

    #[test]
    fn a_changed_entity_rests_for_one_sample_and_is_taken_once() {
        let entity = |id: i64| Entity::new(EntityKind::Note, id.try_into().unwrap());
        let mut changed = ChangedEntities::default();
        for id in [1, 2, 1] {
            changed.add(entity(id));
        }
        assert_eq!(changed.take(5), []);
        assert_eq!(changed.take(1).len(), 1);
        assert_eq!(changed.take(5).len(), 1);
        assert_eq!(changed.take(5), []);
    }

    #[test]
    fn changed_entities_are_bounded() {
        let mut changed = ChangedEntities::default();
        for id in 1..=2 * MAX_CHANGED as i64 {
            changed.add(Entity::new(EntityKind::Note, id.try_into().unwrap()));
        }
        assert_eq!(changed.fresh.len(), MAX_CHANGED);
    }
}
