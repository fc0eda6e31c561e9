//! Moderation: a singleton job that has waiting texts of comments and notes judged, and writes the decisions.
//!
//! A text is leased while it is judged. After a kill it is judged again when the lease has expired. A text that is
//! judged twice is decided once: a decision has no effect unless that very text waits for it, so one that its author
//! has replaced meanwhile is not shown.

use std::{collections::BTreeSet, slice, sync::Arc, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder, Retryable};
use futures_util::{StreamExt, stream::FuturesUnordered};
use plaudit_moderation::{Failure, Judgement, Submission};
use tokio::time::timeout;

use crate::leadership::{Leadership, retry::repeat};
use plaudit_catalogue::{
    Entity,
    primitives::{Id, fault},
};
use plaudit_store::{
    StoreError, StoreResult,
    sql::{
        content::submissions::{self, Judged, QueuedText, SubmissionNumber},
        counting::{counts, invalidations},
        moderation::decisions::{self, Decision, Verdict},
        ownership::shards,
    },
};

/// Maximum texts that are leased at a time, held in memory, and decided in one transaction.
const MAX_TEXTS: usize = 64;
/// By how much a lease outlasts the longest judgement.
const LEASE_MARGIN: Duration = Duration::from_secs(5);
/// Pause before the second attempt.
const RETRY: Duration = Duration::from_secs(2);
/// Attempts to have a text judged before it waits for a person.
const JUDGE_ATTEMPTS: i32 = 5;
/// Attempts to write decisions. After the last they are dropped, and the texts are judged again when their leases have
/// expired.
const WRITE_ATTEMPTS: usize = 5;
/// Looks for texts this often without an announcement: one may be missed, and pauses of texts end.
const EVERY: Duration = Duration::from_millis(500);

/// Result of judging one text.
struct JudgingResult {
    kind: Judged,
    id: Id,
    submission: SubmissionNumber,
    outcome: JudgingOutcome,
}

enum JudgingOutcome {
    Decided(Verdict, String),
    /// The text is judged again after this pause.
    Retry(Duration),
}

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    repeat(&leadership, "moderate", || async {
        match moderate(&leadership).await {
            // A text that cannot be decided must not end the leadership.
            Err(error) if !error.is_transient() => {
                tracing::error!(%error, "cannot decide a text; retrying");
                tokio::time::sleep(EVERY).await;
                Ok(())
            }
            result => result,
        }
    })
    .await
}

/// Calls the moderator for texts until none is left, then waits for more. No text waits for a slower one: it
/// leases only as many as the moderator checks at the same time.
async fn moderate(leadership: &Leadership) -> StoreResult<()> {
    let at_once = leadership.context.moderator.at_once().min(MAX_TEXTS);
    let lease = leadership.context.moderation.moderator_timeout * 2 + LEASE_MARGIN;
    let mut judging = FuturesUnordered::new();
    loop {
        let more = timeout(EVERY, leadership.context.texts_queued.notified());
        let free = at_once - judging.len();
        if free > 0 {
            let texts = submissions::lease_queued(leadership.db(), free as i64, lease).await?;
            judging.extend(texts.into_iter().map(|text| judge(leadership, text)));
        }
        if judging.is_empty() {
            let _ = more.await;
            return Ok(());
        }
        let has_room = judging.len() < at_once;
        let mut results = (&mut judging).ready_chunks(MAX_TEXTS);
        tokio::select! {
            Some(results) = results.next() => write_results(leadership, results).await?,
            _ = more, if has_room => {}
        }
    }
}

async fn judge(leadership: &Leadership, text: QueuedText) -> JudgingResult {
    let QueuedText { kind, id, submission, text, images, tries } = text;
    let moderator = &leadership.context.moderator;
    let outcome = match moderator.judge(&Submission { text, images }).await {
        Ok(Judgement::Approved) => JudgingOutcome::Decided(Verdict::Approved, String::new()),
        Ok(Judgement::Rejected { reason }) => JudgingOutcome::Decided(Verdict::Rejected, reason),
        Ok(Judgement::Undecided { reason }) => JudgingOutcome::Decided(Verdict::Undecided, reason),
        Err(failure) if failure.is_transient() && tries < JUDGE_ATTEMPTS => {
            tracing::debug!(kind = kind.name(), %id, %failure, "cannot judge a text now; retrying later");
            JudgingOutcome::Retry(pause(tries, &failure))
        }
        Err(failure) => JudgingOutcome::Decided(Verdict::Undecided, failure.to_string()),
    };
    JudgingResult { kind, id, submission, outcome }
}

/// Pause before the next attempt: four times as long each time, with jitter, and at least what the moderator asks
/// for.
fn pause(tries: i32, failure: &Failure) -> Duration {
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(fault::period("moderator.retry", RETRY))
        .with_factor(4.0)
        .without_max_delay()
        .with_jitter()
        .with_max_times(JUDGE_ATTEMPTS as usize)
        .build();
    let pause = pauses.nth(tries.max(1) as usize - 1).unwrap_or(EVERY);
    pause.max(failure.retry_after().unwrap_or_default())
}

async fn write_results(leadership: &Leadership, results: Vec<JudgingResult>) -> StoreResult<()> {
    for kind in Judged::ALL {
        let of_kind: Vec<&JudgingResult> = results.iter().filter(|result| result.kind == kind).collect();
        write_results_of(leadership, kind, &of_kind).await?;
    }
    Ok(())
}

async fn write_results_of(
    leadership: &Leadership,
    kind: Judged,
    results: &[&JudgingResult],
) -> StoreResult<()> {
    let by = leadership.context.moderator.name();
    let mut decisions = Vec::with_capacity(results.len());
    for JudgingResult { id, submission, outcome, .. } in results {
        match outcome {
            JudgingOutcome::Decided(verdict, reason) => {
                let (id, submission, verdict) = (*id, *submission, *verdict);
                decisions.push(Decision { id, submission, verdict, reason, by });
            }
            JudgingOutcome::Retry(pause) => {
                submissions::requeue(leadership.db(), *submission, *pause).await?;
            }
        }
    }
    match decide(leadership, kind, &decisions).await {
        Err(error) if !error.is_transient() => decide_one_by_one(leadership, kind, &decisions).await,
        outcome => outcome,
    }
}

/// Decides each text in a transaction of its own, so that one bad text does not block the others.
async fn decide_one_by_one(
    leadership: &Leadership,
    kind: Judged,
    decisions: &[Decision<'_>],
) -> StoreResult<()> {
    for decision in decisions {
        match decide(leadership, kind, slice::from_ref(decision)).await {
            Err(error) if !error.is_transient() => {
                let id = decision.id;
                tracing::error!(kind = kind.name(), %id, %error, "cannot decide a text; retrying");
            }
            outcome => outcome?,
        }
    }
    Ok(())
}

/// Writes the decisions. Retries for a while, because judging again costs more.
async fn decide(leadership: &Leadership, kind: Judged, decisions: &[Decision<'_>]) -> StoreResult<()> {
    if decisions.is_empty() {
        return Ok(());
    }
    let pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(10))
        .with_jitter()
        .with_max_times(WRITE_ATTEMPTS);
    (|| write(leadership, kind, decisions)).retry(pauses).when(StoreError::is_transient).await
}

/// Writes the decisions, the totals that they move, and invalidations, in one transaction.
async fn write(leadership: &Leadership, kind: Judged, decisions: &[Decision<'_>]) -> StoreResult<()> {
    let db = leadership.db();
    let mut tx = db.begin().await?;
    shards::lock_removals_shared(&mut tx).await?;
    let decided = decisions::decide(&mut tx, kind, decisions).await?;
    counts::move_totals(&mut tx, &decided.moved).await?;
    let invalid: BTreeSet<Entity> = decided.moved.keys().copied().chain(decided.touched).collect();
    let invalid: Vec<Entity> = invalid.into_iter().collect();
    let why = match kind {
        Judged::Note => "a note was decided",
        Judged::Comment => "a comment was decided",
    };
    invalidations::add_invalidations(&mut tx, leadership.redis().shards(), &invalid, why).await?;
    tx.commit().await
}
