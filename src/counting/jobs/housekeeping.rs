//! Retention: a singleton job that deletes what is older than its retention, when a leadership starts and then
//! hourly. Nothing of it is urgent: a task that fails is repeated an hour later.

use std::{sync::Arc, time::Duration};

use chrono::{Days, Utc};
use tokio::time::Instant;

use crate::leadership::Leadership;
use plaudit_catalogue::{GROUPS, NOTES};
use plaudit_store::{
    KEY_LIFE, StoreError, StoreResult,
    sql::{
        content::removed_texts::{self, Removed},
        counting::{activity, dead, idempotency, repairs},
        inbox,
        moderation::{decisions, reports},
        stream::{self, webhooks},
    },
};

const EVERY: Duration = Duration::from_hours(1);
/// How often inboxes are searched for old entries: that reads all of them.
const INBOXES_EVERY: Duration = Duration::from_hours(24);
const PAGE: i64 = 1_000;
/// Events of the stream are many, and narrow.
const EVENTS: i64 = 10_000;
/// How long the event of an erasure keeps the user's subject: until then consumers can erase their own data.
const ERASED_SUBJECTS: Duration = Duration::from_hours(24 * 3);
/// Retention of batches that the webhook gave up.
const DEAD_BATCHES: Duration = Duration::from_hours(24 * 30);
/// Retention of decided dead events, of records of repairs, and of closed cases with their reports.
const RECORD_RETENTION: Duration = Duration::from_hours(24 * 90);

/// Never returns.
pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let mut inboxes_due = Instant::now();
    loop {
        attempt("drop old activity", drop_old_activity(&leadership)).await;
        attempt("prepare tomorrow's activity", prepare_tomorrow(&leadership)).await;
        attempt("delete old events", delete_old_events(&leadership)).await;
        attempt("delete old idempotency keys", delete_old_keys(&leadership)).await;
        attempt("delete decided dead events", delete_decided_dead_events(&leadership)).await;
        attempt("delete old repairs", delete_old_repairs(&leadership)).await;
        attempt("delete reports of closed cases", delete_old_reports(&leadership)).await;
        attempt("empty texts of removed notes and groups", empty_removed_texts(&leadership)).await;
        attempt("delete old decisions", delete_old_decisions(&leadership)).await;
        if inboxes_due <= Instant::now() {
            attempt("delete old inbox entries", delete_old_entries(&leadership)).await;
            inboxes_due += INBOXES_EVERY;
        }
        tokio::time::sleep(EVERY).await;
    }
}

async fn attempt(task: &str, work: impl Future<Output = StoreResult<()>>) {
    if let Err(error) = work.await {
        tracing::warn!(task, %error, "housekeeping failed; repeating it in an hour");
    }
}

/// Drops the days of `activity` that are wholly older than the retention.
async fn drop_old_activity(leadership: &Leadership) -> StoreResult<()> {
    let oldest_kept = (Utc::now() - leadership.context.settings.activity_retention).date_naive();
    for day in activity::activity_days_before(leadership.db(), oldest_kept).await? {
        activity::drop_activity_day(leadership.db(), day).await?;
        tracing::info!(%day, "a day of activity was dropped");
    }
    Ok(())
}

/// Creates tomorrow's partition of `activity`, so that no batch has to.
async fn prepare_tomorrow(leadership: &Leadership) -> StoreResult<()> {
    if !leadership.context.settings.keeps_activity() {
        return Ok(());
    }
    let tomorrow = Utc::now().date_naive() + Days::new(1);
    activity::prepare_activity_day(leadership.db(), tomorrow).await
}

/// Deletes events of the stream, page by page; all of them if it is off. Empties subjects of erased users.
async fn delete_old_events(leadership: &Leadership) -> StoreResult<()> {
    let settings = &leadership.context.settings;
    stream::retention::empty_erased_subjects(leadership.db(), ERASED_SUBJECTS).await?;
    webhooks::clean_batches(leadership.db(), DEAD_BATCHES, ERASED_SUBJECTS).await?;
    while stream::retention::delete_old_events(leadership.db(), settings.event_retention, EVENTS).await?
        == EVENTS as u64
    {}
    Ok(())
}

/// Deletes expired idempotency keys, page by page.
async fn delete_old_keys(leadership: &Leadership) -> StoreResult<()> {
    while idempotency::delete_old_keys(leadership.db(), KEY_LIFE, PAGE).await? == PAGE as u64 {}
    Ok(())
}

/// Deletes dead events that were decided longer ago than the retention, page by page.
async fn delete_decided_dead_events(leadership: &Leadership) -> StoreResult<()> {
    while dead::delete_decided_dead_events(leadership.db(), RECORD_RETENTION, PAGE).await? == PAGE as u64 {}
    Ok(())
}

/// Deletes old records of repairs, page by page.
async fn delete_old_repairs(leadership: &Leadership) -> StoreResult<()> {
    while repairs::delete_old_repairs(leadership.db(), RECORD_RETENTION, PAGE).await? == PAGE as u64 {}
    Ok(())
}

/// Deletes cases that were closed longer ago than the retention, first their reports, page by page.
async fn delete_old_reports(leadership: &Leadership) -> StoreResult<()> {
    while reports::delete_old_reports(leadership.db(), RECORD_RETENTION, PAGE).await? > 0 {}
    Ok(())
}

/// Empties texts of what was removed longer ago than the retention, page by page.
async fn empty_removed_texts(leadership: &Leadership) -> StoreResult<()> {
    let removed = Removed::Before(leadership.context.settings.removed_text_retention);
    for rows in [NOTES, GROUPS] {
        let mut emptied = PAGE as usize;
        while emptied == PAGE as usize {
            let mut tx = leadership.db().begin().await?;
            emptied = removed_texts::empty_removed(&mut tx, rows, removed, PAGE as usize).await?;
            tx.commit().await?;
        }
    }
    Ok(())
}

/// Deletes decisions about notes and comments that are older than the retention, page by page.
async fn delete_old_decisions(leadership: &Leadership) -> StoreResult<()> {
    let retention = leadership.context.settings.decision_retention;
    while decisions::delete_old_decisions(leadership.db(), retention, PAGE).await? == PAGE as u64 {}
    Ok(())
}

/// Deletes inbox entries without a new event during the retention, page by page.
async fn delete_old_entries(leadership: &Leadership) -> StoreResult<()> {
    let (mut next, age) = (Some(0), leadership.context.settings.inbox_retention);
    while let Some(block) = next {
        let mut tx = leadership.db().begin().await?;
        next = inbox::retention::delete_old_entries(&mut tx, age, block, PAGE as usize).await?;
        tx.commit().await?;
    }
    Ok(())
}
