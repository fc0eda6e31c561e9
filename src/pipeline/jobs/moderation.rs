//! Moderation: a singleton job that has waiting comments judged and writes the decisions.
//!
//! A text is leased while it is judged. After a kill it is judged again when the lease has expired. A text that is
//! judged twice is decided once: a decision has no effect unless that very text waits for it, so one that its author
//! has replaced meanwhile is not shown.

use std::{collections::BTreeSet, slice, sync::Arc, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder, Retryable};
use futures_util::{StreamExt, stream::FuturesUnordered};
use plaudit_moderation::{Failure, Judgement, Submission};
use tokio::time::timeout;

use crate::{
    catalogue::Entity,
    pipeline::leadership::{Leadership, retry::repeat},
    primitives::CommentId,
    store::{
        StoreError, StoreResult,
        sql::moderation::{Decision, QueuedComment, SubmissionNumber, Verdict},
    },
};

/// Maximum comments that are leased at a time, held in memory, and decided in one transaction.
const MAX_COMMENTS: usize = 64;
/// By how much a lease outlasts the longest judgement.
const LEASE_MARGIN: Duration = Duration::from_secs(5);
/// Attempts to have a comment judged before it waits for a person.
const JUDGE_ATTEMPTS: i32 = 5;
/// Attempts to write decisions. After the last they are dropped, and the comments are judged again when their leases
/// have expired.
const WRITE_ATTEMPTS: usize = 5;
/// Looks for comments this often without an announcement: one may be missed, and pauses of comments end.
const EVERY: Duration = Duration::from_millis(500);

/// Result of judging one comment.
struct JudgingResult {
    comment: CommentId,
    submission: SubmissionNumber,
    outcome: JudgingOutcome,
}

enum JudgingOutcome {
    Decided(Verdict, String),
    /// The comment is judged again after this pause.
    Retry(Duration),
}

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    repeat(&leadership, "moderate", || async {
        match moderate(&leadership).await {
            // A comment that cannot be decided must not end the leadership.
            Err(error) if !error.is_transient() => {
                tracing::error!(%error, "cannot decide a comment; retrying");
                tokio::time::sleep(EVERY).await;
                Ok(())
            }
            result => result,
        }
    })
    .await
}

/// Calls the moderator for comments until none is left, then waits for more. No comment waits for a slower one: it
/// leases only as many as the moderator checks at the same time.
async fn moderate(leadership: &Leadership) -> StoreResult<()> {
    let at_once = leadership.context.moderator.at_once().min(MAX_COMMENTS);
    let lease = leadership.context.moderation.moderator_timeout * 2 + LEASE_MARGIN;
    let mut judging = FuturesUnordered::new();
    loop {
        let more = timeout(EVERY, leadership.context.comments_queued.notified());
        let free = at_once - judging.len();
        if free > 0 {
            let comments = leadership.db().lease_queued_comments(free as i64, lease).await?;
            judging.extend(comments.into_iter().map(|comment| judge(leadership, comment)));
        }
        if judging.is_empty() {
            let _ = more.await;
            return Ok(());
        }
        let mut results = (&mut judging).ready_chunks(MAX_COMMENTS);
        tokio::select! {
            Some(results) = results.next() => write_results(leadership, results).await?,
            _ = more, if free > 0 => {}
        }
    }
}

async fn judge(leadership: &Leadership, comment: QueuedComment) -> JudgingResult {
    let QueuedComment { id: comment, submission, body, images, tries } = comment;
    let moderator = &leadership.context.moderator;
    let outcome = match moderator.judge(&Submission { text: body, images }).await {
        Ok(Judgement::Approved) => JudgingOutcome::Decided(Verdict::Approved, String::new()),
        Ok(Judgement::Rejected { reason }) => JudgingOutcome::Decided(Verdict::Rejected, reason),
        Ok(Judgement::Undecided { reason }) => JudgingOutcome::Decided(Verdict::Undecided, reason),
        Err(failure) if failure.is_transient() && tries < JUDGE_ATTEMPTS => {
            tracing::debug!(%comment, %failure, "cannot judge a comment now; retrying later");
            JudgingOutcome::Retry(pause(leadership, tries, &failure))
        }
        Err(failure) => JudgingOutcome::Decided(Verdict::Undecided, failure.to_string()),
    };
    JudgingResult { comment, submission, outcome }
}

/// Pause before the next attempt: four times as long each time, with jitter, and at least what the moderator asks
/// for.
fn pause(leadership: &Leadership, tries: i32, failure: &Failure) -> Duration {
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(leadership.context.moderation.moderator_retry)
        .with_factor(4.0)
        .without_max_delay()
        .with_jitter()
        .with_max_times(JUDGE_ATTEMPTS as usize)
        .build();
    let pause = pauses.nth(tries.max(1) as usize - 1).unwrap_or(EVERY);
    pause.max(failure.retry_after().unwrap_or_default())
}

async fn write_results(leadership: &Leadership, results: Vec<JudgingResult>) -> StoreResult<()> {
    let by = leadership.context.moderator.name();
    let mut decisions = Vec::with_capacity(results.len());
    for JudgingResult { comment, submission, outcome } in &results {
        match outcome {
            JudgingOutcome::Decided(verdict, reason) => {
                let (comment, submission, verdict) = (*comment, *submission, *verdict);
                decisions.push(Decision { comment, submission, verdict, reason, by });
            }
            JudgingOutcome::Retry(pause) => {
                leadership.db().requeue_comment(*comment, *submission, *pause).await?;
            }
        }
    }
    match decide(leadership, &decisions).await {
        Err(error) if !error.is_transient() => decide_one_by_one(leadership, &decisions).await,
        outcome => outcome,
    }
}

/// Decides each comment in a transaction of its own, so that one bad comment does not block the others.
async fn decide_one_by_one(leadership: &Leadership, decisions: &[Decision<'_>]) -> StoreResult<()> {
    for decision in decisions {
        match decide(leadership, slice::from_ref(decision)).await {
            Err(error) if !error.is_transient() => {
                let comment = decision.comment;
                tracing::error!(%comment, %error, "cannot decide a comment; retrying");
            }
            outcome => outcome?,
        }
    }
    Ok(())
}

/// Writes the decisions. Retries for a while, because judging again costs more.
async fn decide(leadership: &Leadership, decisions: &[Decision<'_>]) -> StoreResult<()> {
    if decisions.is_empty() {
        return Ok(());
    }
    let pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(10))
        .with_jitter()
        .with_max_times(WRITE_ATTEMPTS);
    (|| write(leadership, decisions)).retry(pauses).when(StoreError::is_transient).await
}

/// Writes the decisions, the totals that they move, and invalidations, in one transaction.
async fn write(leadership: &Leadership, decisions: &[Decision<'_>]) -> StoreResult<()> {
    let db = leadership.db();
    let mut tx = db.begin().await?;
    tx.lock_removals_shared().await?;
    let decided = tx.decide(decisions).await?;
    tx.move_totals(&decided.moved).await?;
    let invalid: BTreeSet<Entity> = decided.moved.keys().copied().chain(decided.touched).collect();
    let invalid: Vec<Entity> = invalid.into_iter().collect();
    tx.add_invalidations(leadership.redis().shards(), &invalid, "a comment was decided").await?;
    tx.commit().await
}
