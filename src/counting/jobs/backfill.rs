//! Backfill after a removal, a hiding or a restoration: recounts the affected rows page by page. Each page is one
//! transaction with the totals that it moves and the position of the work, so a kill neither skips nor repeats one.

use std::{sync::Arc, time::Duration};

use super::{backfill_page::PAGE, erasing, hiding, removing};
use crate::leadership::{Leadership, retry::repeat};
use plaudit_catalogue::{
    Entity,
    primitives::fault::{self, Point},
};
use plaudit_store::{
    StoreError, StoreResult,
    sql::{
        counting::{
            backfills::{self, Backfill, BackfillKind},
            counts, invalidations,
        },
        ownership::shards,
        people::hiding::settle_placeholders,
    },
};

/// Looks for work this often without an announcement, and retries this long after a failure.
const EVERY: Duration = Duration::from_secs(5);
/// Rows between two log lines about progress.
const LOG_EVERY: i64 = 20 * PAGE as i64;

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    repeat(&leadership, "backfill", || async {
        // A transaction that orders a backfill also writes invalidations, which are announced.
        let announced = leadership.context.invalidations_announced.notified();
        match backfill_page(&leadership).await {
            Ok(true) => {}
            Ok(false) => drop(tokio::time::timeout(EVERY, announced).await),
            // A backfill that fails for good must not end the leadership.
            Err(error) if !error.is_transient() => {
                tracing::error!(%error, "a backfill failed; retrying");
                tokio::time::sleep(EVERY).await;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    })
    .await
}

/// Does one page of the oldest backfill of the shards that the process leads. Returns whether there was one.
async fn backfill_page(leadership: &Leadership) -> StoreResult<bool> {
    let (db, shards) = (leadership.db(), leadership.context.led.all());
    // Checked without a lock first: the lock blocks batches.
    if !leadership.is_first_of_process() || !backfills::has_backfills(db, &shards).await? {
        return Ok(false);
    }
    let mut tx = db.begin().await?;
    shards::lock_removals(&mut tx).await?;
    let Some(mut work) = backfills::next_backfill(&mut tx, &shards).await? else { return Ok(false) };
    let page = match work.kind {
        BackfillKind::Hide => hiding::page(&mut tx, &mut work, true).await?,
        BackfillKind::Restore => hiding::page(&mut tx, &mut work, false).await?,
        BackfillKind::Remove => removing::page(&mut tx, &mut work).await?,
        BackfillKind::Erase => erasing::page(&mut tx, &mut work, leadership.redis().shards()).await?,
    };
    counts::move_totals(&mut tx, &page.moved).await?;
    let invalid: Vec<Entity> = page.moved.keys().copied().chain(page.changed).collect();
    settle_placeholders(&mut tx, &invalid).await?;
    invalidations::add_invalidations(&mut tx, leadership.redis().shards(), &invalid, work_name(work.kind))
        .await?;
    invalidations::add_set_invalidations(
        &mut tx,
        leadership.redis().shards(),
        &page.sets,
        work_name(work.kind),
    )
    .await?;
    backfills::save_backfill(&mut tx, &work).await?;
    fault::reached(Point::BeforePage)?;
    tx.commit().await?;
    fault::reached(Point::AfterPage)?;
    log_progress(&work);
    Ok(true)
}

fn log_progress(work: &Backfill) {
    let Backfill { subject, done, total, is_finished, .. } = work;
    let what = work_name(work.kind);
    if *is_finished {
        tracing::info!(%subject, what, done, "a backfill has finished");
    } else if done % LOG_EVERY == 0 && *done > 0 {
        tracing::info!(%subject, what, done, total, "a backfill is under way");
    }
}

const fn work_name(kind: BackfillKind) -> &'static str {
    match kind {
        BackfillKind::Hide => "hidden",
        BackfillKind::Restore => "restored",
        BackfillKind::Remove => "removed",
        BackfillKind::Erase => "erased",
    }
}
