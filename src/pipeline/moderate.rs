//! Has comments judged that wait, and carries out what is decided. The owner of shard 0 does it.
//!
//! A comment is leased while it is being judged. A kill leaves it leased: it is judged again when the lease
//! has ended. Whatever is decided twice, the first one counts: a decision finds the comment pending or does
//! nothing.

use std::{sync::Arc, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use futures_util::{StreamExt, stream};

use super::{retry::keep_on, tenure::Tenure};
use crate::{
    catalogue::Entity,
    moderation::{Failure, Judgement, Submission},
    primitives::{CommentId, ShardId},
    store::{
        StoreError, StoreResult,
        sql::{self, Decision, QueuedComment, Verdict},
    },
};

/// The shard whose owner does it.
const KEEPER: ShardId = ShardId(0);
/// Comments that are leased together: what is held in memory.
const PAGE: i64 = 64;
/// Comments of a page that are judged at the same time; the moderator has a bound of its own.
const AT_ONCE: usize = 16;
/// A lease is longer than a judgement takes by this much.
const SPARE: Duration = Duration::from_secs(5);
/// Tries before a comment waits for a person.
const TRIES: i32 = 5;
/// Looks by itself this often: an announcement may be missed, and a pause ends.
const EVERY: Duration = Duration::from_millis(500);

pub async fn run(tenure: Arc<Tenure>) -> StoreError {
    if tenure.lease.shard != KEEPER {
        return std::future::pending().await;
    }
    keep_on(&tenure, "moderate", || async {
        match moderate(&tenure).await {
            // One odd comment must not end what the shard does for everybody else.
            Err(error) if !error.is_transient() => {
                tracing::error!(%error, "cannot decide a comment; trying again");
                tokio::time::sleep(EVERY).await;
                Ok(())
            }
            result => result,
        }
    })
    .await
}

/// Judges the comments that are due; waits when there are none.
async fn moderate(tenure: &Tenure) -> StoreResult<()> {
    let announced = tenure.context.queued.notified();
    let lease = tenure.context.settings.moderator_timeout * 2 + SPARE;
    let comments = tenure.db().lease_queued_comments(PAGE, lease).await?;
    if comments.is_empty() {
        let _ = tokio::time::timeout(EVERY, announced).await;
        return Ok(());
    }
    let judged = stream::iter(comments).map(|comment| judge(tenure, comment)).buffer_unordered(AT_ONCE);
    let outcomes: Vec<StoreResult<()>> = judged.collect().await;
    outcomes.into_iter().collect()
}

async fn judge(tenure: &Tenure, comment: QueuedComment) -> StoreResult<()> {
    let moderator = &tenure.context.settings.moderator;
    let QueuedComment { id, body, images, tries } = comment;
    let (verdict, reason) = match moderator.judge(&Submission { text: body, images }).await {
        Ok(Judgement::Approved) => (Verdict::Approved, String::new()),
        Ok(Judgement::Rejected { reason }) => (Verdict::Rejected, reason),
        Ok(Judgement::Undecided { reason }) => (Verdict::Undecided, reason),
        Err(failure) if failure.is_transient() && tries < TRIES => {
            tracing::debug!(comment = %id, %failure, "cannot judge a comment now");
            return tenure.db().requeue_comment(id, pause(tenure, tries, &failure)).await;
        }
        Err(failure) => (Verdict::Undecided, failure.to_string()),
    };
    decide(tenure, id, Decision { verdict, reason: &reason, by: moderator.name() }).await
}

/// Until the next try: four times as long each time, with jitter, and not before the moderator wants it.
fn pause(tenure: &Tenure, tries: i32, failure: &Failure) -> Duration {
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(tenure.context.settings.moderator_retry)
        .with_factor(4.0)
        .without_max_delay()
        .with_jitter()
        .with_max_times(TRIES as usize)
        .build();
    let pause = pauses.nth(tries.max(1) as usize - 1).unwrap_or(EVERY);
    pause.max(failure.retry_after().unwrap_or_default())
}

/// One transaction: the decision, what it counts, and corrections.
async fn decide(tenure: &Tenure, comment: CommentId, decision: Decision<'_>) -> StoreResult<()> {
    let db = tenure.db();
    let mut tx = db.begin().await?;
    sql::lock_removals_shared(db, &mut tx).await?;
    let Some(decided) = sql::decide(db, &mut tx, comment, decision).await? else { return Ok(()) };
    sql::move_totals(db, &mut tx, &decided.moved).await?;
    let stale: Vec<Entity> = decided.moved.keys().copied().chain(decided.touched).collect();
    sql::add_stale_lines(db, &mut tx, tenure.redis().shards(), &stale, "a comment was decided").await?;
    sql::commit(db, tx).await
}
