//! Reconciliation in the background, by the owner of shard 0: each second a small sample, what was touched
//! lately first, and once a night everything. It repairs what it finds.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, Days, NaiveTime, Utc};
use parking_lot::Mutex;
use tokio_stream::StreamExt;

use super::housekeeping::KEEPER;
use crate::{
    catalogue::{Entity, EntityKind},
    pipeline::leadership::{
        Leadership,
        retry::{self, delays},
    },
    reconcile::{By, Outcome, PAGE, Reconciler, Walk},
    store::{StoreError, StoreResult, sql::Nightly},
};

const SECOND: Duration = Duration::from_secs(1);
/// Touched entities that wait to be sampled; when there are more, others are left out.
const MOST_TOUCHED: usize = 1_000;
/// How often it looks whether a night has come.
const LOOK: Duration = Duration::from_secs(5);
/// The nightly run rests after each page for as long as that took, and at least so long.
const SHORTEST_REST: Duration = Duration::from_millis(20);

/// Never returns.
pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    if leadership.lease.shard != KEEPER {
        return std::future::pending().await;
    }
    tell(&Outcome::default()); // it may stay so
    let settings = &leadership.context.settings;
    let (touched, sample) = (Mutex::new(Touched::default()), settings.reconcile_sample);
    let background = async {
        if sample > 0 {
            tokio::join!(hear(&leadership, &touched), check_samples(&leadership, &touched, sample));
        }
    };
    let nights = async {
        if let Some(at) = settings.reconcile_at.0 {
            attend_nights(&leadership, at).await;
        }
    };
    tokio::join!(background, nights);
    std::future::pending().await
}

/// Entities whose counts changed, as the shards say on their channels: by folds and by direct changes,
/// whoever makes them.
#[derive(Default)]
struct Touched {
    /// Heard since the last sample: they may still move.
    fresh: HashSet<Entity>,
    ripe: VecDeque<Entity>,
}

impl Touched {
    fn hear(&mut self, entity: Entity) {
        if self.fresh.len() + self.ripe.len() < MOST_TOUCHED {
            self.fresh.insert(entity);
        }
    }

    /// Takes what has rested for a sample's time.
    fn take(&mut self, most: usize) -> Vec<Entity> {
        let taken = self.ripe.drain(..most.min(self.ripe.len())).collect();
        for entity in self.fresh.drain() {
            if !self.ripe.contains(&entity) {
                self.ripe.push_back(entity);
            }
        }
        taken
    }
}

/// Never returns.
async fn hear(leadership: &Leadership, touched: &Mutex<Touched>) {
    let mut waits = delays();
    loop {
        if let Ok(listener) = leadership.redis().listen().await {
            waits = delays();
            let mut messages = std::pin::pin!(listener.into_messages());
            while let Some(message) = messages.next().await {
                let mut touched = touched.lock();
                for change in message.into_iter().flat_map(|message| message.changes) {
                    touched.hear(change.entity);
                }
            }
        }
        tokio::time::sleep(waits.next().unwrap_or(retry::LONGEST)).await;
    }
}

/// Never returns. What is not filled by touched entities is filled by a walk over all.
async fn check_samples(leadership: &Leadership, touched: &Mutex<Touched>, size: usize) {
    let reconciler = reconciler(leadership, By::Background);
    let mut walk = Walk::default();
    let mut ticks = tokio::time::interval(SECOND);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let entities = touched.lock().take(size);
        attend(async {
            tell(&reconciler.check_all(&entities).await?);
            let free = size - entities.len();
            if free > 0 {
                match walk.next(leadership.db(), free).await? {
                    Some((kind, ids)) => tell(&reconciler.check(kind, &ids).await?),
                    None => walk = Walk::default(),
                }
            }
            Ok(())
        })
        .await;
    }
}

/// Never returns.
async fn attend_nights(leadership: &Leadership, at: NaiveTime) {
    let reconciler = reconciler(leadership, By::Nightly);
    loop {
        let mut is_under_way = false;
        attend(async {
            is_under_way = next_page_of_night(leadership, &reconciler, at).await?;
            Ok(())
        })
        .await;
        if !is_under_way {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Checks a page if the night's run is due or under way; it goes on where an earlier owner stopped. Returns
/// whether there is more to do.
async fn next_page_of_night(
    leadership: &Leadership,
    reconciler: &Reconciler,
    at: NaiveTime,
) -> StoreResult<bool> {
    let db = leadership.db();
    let mut run = db.nightly().await?;
    if run.is_finished {
        if run.began_at >= last_time(at, Utc::now()) {
            return Ok(false);
        }
        run = begin(Utc::now());
        tracing::info!("the nightly reconciliation begins");
    }
    let began = Instant::now();
    let mut walk = Walk::behind(run.kind, run.after);
    match walk.next(db, PAGE).await? {
        Some((kind, ids)) => {
            let outcome = reconciler.check(kind, &ids).await?;
            tell(&outcome);
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
    db.keep_nightly(&run).await?;
    tokio::time::sleep(began.elapsed().max(SHORTEST_REST)).await;
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

/// When the (UTC) time of day was last, up to now.
fn last_time(at: NaiveTime, now: DateTime<Utc>) -> DateTime<Utc> {
    let today = now.date_naive().and_time(at).and_utc();
    if today <= now { today } else { today - Days::new(1) }
}

fn reconciler(leadership: &Leadership, by: By) -> Reconciler {
    Reconciler::new(leadership.redis().clone(), leadership.db().clone(), by, true)
}

/// Nothing here is urgent, and no failure may end what the shard does for everybody else.
async fn attend(work: impl Future<Output = StoreResult<()>>) {
    if let Err(error) = work.await {
        if error.is_transient() {
            tracing::debug!(%error, "cannot reconcile now");
        } else {
            tracing::error!(%error, "cannot reconcile; trying again");
        }
    }
}

fn tell(outcome: &Outcome) {
    metrics::counter!("plaudit_reconcile_checked_total").increment(outcome.checked);
    metrics::counter!("plaudit_reconcile_skipped_total").increment(outcome.skipped.len() as u64);
    metrics::counter!("plaudit_reconcile_drift_total").increment(outcome.findings.len() as u64);
    metrics::counter!("plaudit_reconcile_repaired_total").increment(outcome.repaired());
    for finding in &outcome.findings {
        tracing::warn!(
            entity = %finding.entity,
            what = %finding.what,
            counter = finding.counter,
            from = finding.found,
            to = finding.expected,
            "drifted; repaired"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn a_night_is_due_from_its_time_on_and_until_the_next_one() {
        let at = NaiveTime::from_hms_opt(2, 0, 0).unwrap();
        assert_eq!(last_time(at, utc("2026-03-05T01:59:59Z")), utc("2026-03-04T02:00:00Z"));
        assert_eq!(last_time(at, utc("2026-03-05T02:00:00Z")), utc("2026-03-05T02:00:00Z"));
        assert_eq!(last_time(at, utc("2026-03-05T23:00:00Z")), utc("2026-03-05T02:00:00Z"));
    }

    #[test]
    fn what_was_just_heard_rests_for_a_sample_and_is_taken_once() {
        let entity = |id: i64| Entity::new(EntityKind::Note, id.try_into().unwrap());
        let mut touched = Touched::default();
        for id in [1, 2, 1] {
            touched.hear(entity(id));
        }
        assert_eq!(touched.take(5), []);
        assert_eq!(touched.take(1).len(), 1);
        assert_eq!(touched.take(5).len(), 1);
        assert_eq!(touched.take(5), []);
    }

    #[test]
    fn touched_entities_do_not_pile_up() {
        let mut touched = Touched::default();
        for id in 1..=2 * MOST_TOUCHED as i64 {
            touched.hear(Entity::new(EntityKind::Note, id.try_into().unwrap()));
        }
        assert_eq!(touched.fresh.len(), MOST_TOUCHED);
    }
}
