//! Has comments judged that wait, and carries out what is decided. The owner of shard 0 does it.
//!
//! A comment is leased while it is being judged. A kill leaves it leased: it is judged again when the lease
//! has ended. Whatever is decided twice, the first one counts: a decision finds the comment pending or does
//! nothing.

use std::{collections::BTreeSet, slice, sync::Arc, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder, Retryable};
use futures_util::{StreamExt, stream::FuturesUnordered};
use plaudit_moderation::{Failure, Judgement, Submission};
use tokio::time::timeout;

use crate::{
    catalogue::Entity,
    pipeline::leadership::{Leadership, retry::keep_on},
    primitives::{CommentId, ShardId},
    store::{
        StoreError, StoreResult,
        sql::{self, Decision, QueuedComment, Verdict},
    },
};

/// The shard whose owner does it.
const KEEPER: ShardId = ShardId(0);
/// Comments that are leased and not decided: what is held in memory, and what a transaction decides.
const MOST: usize = 64;
/// A lease is longer than a judgement takes by this much.
const SPARE: Duration = Duration::from_secs(5);
/// Tries before a comment waits for a person.
const TRIES: i32 = 5;
/// Tries to keep decisions before they are given up, and made again when the leases have ended.
const TRIES_TO_KEEP: usize = 5;
/// Looks by itself this often: an announcement may be missed, and a pause ends.
const EVERY: Duration = Duration::from_millis(500);

/// What came of judging a comment.
struct Judged {
    comment: CommentId,
    outcome: Outcome,
}

enum Outcome {
    Decided(Verdict, String),
    /// It is judged again after this.
    Failed(Duration),
}

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    if leadership.lease.shard != KEEPER {
        return std::future::pending().await;
    }
    keep_on(&leadership, "moderate", || async {
        match moderate(&leadership).await {
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

/// Judges comments until none is left; waits for more then. None waits for one that is slower to judge: no
/// more are leased than are judged at the same time.
async fn moderate(leadership: &Leadership) -> StoreResult<()> {
    let at_once = leadership.context.moderator.at_once().min(MOST);
    let lease = leadership.context.moderation.moderator_timeout * 2 + SPARE;
    let mut judging = FuturesUnordered::new();
    loop {
        let more = timeout(EVERY, leadership.context.queued.notified());
        let free = at_once - judging.len();
        if free > 0 {
            let comments = leadership.db().lease_queued_comments(free as i64, lease).await?;
            judging.extend(comments.into_iter().map(|comment| judge(leadership, comment)));
        }
        if judging.is_empty() {
            let _ = more.await;
            return Ok(());
        }
        let mut judged = (&mut judging).ready_chunks(MOST);
        tokio::select! {
            Some(judged) = judged.next() => carry_out(leadership, judged).await?,
            _ = more, if free > 0 => {}
        }
    }
}

async fn judge(leadership: &Leadership, comment: QueuedComment) -> Judged {
    let QueuedComment { id: comment, body, images, tries } = comment;
    let moderator = &leadership.context.moderator;
    let outcome = match moderator.judge(&Submission { text: body, images }).await {
        Ok(Judgement::Approved) => Outcome::Decided(Verdict::Approved, String::new()),
        Ok(Judgement::Rejected { reason }) => Outcome::Decided(Verdict::Rejected, reason),
        Ok(Judgement::Undecided { reason }) => Outcome::Decided(Verdict::Undecided, reason),
        Err(failure) if failure.is_transient() && tries < TRIES => {
            tracing::debug!(%comment, %failure, "cannot judge a comment now");
            Outcome::Failed(pause(leadership, tries, &failure))
        }
        Err(failure) => Outcome::Decided(Verdict::Undecided, failure.to_string()),
    };
    Judged { comment, outcome }
}

/// Until the next try: four times as long each time, with jitter, and not before the moderator wants it.
fn pause(leadership: &Leadership, tries: i32, failure: &Failure) -> Duration {
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(leadership.context.moderation.moderator_retry)
        .with_factor(4.0)
        .without_max_delay()
        .with_jitter()
        .with_max_times(TRIES as usize)
        .build();
    let pause = pauses.nth(tries.max(1) as usize - 1).unwrap_or(EVERY);
    pause.max(failure.retry_after().unwrap_or_default())
}

async fn carry_out(leadership: &Leadership, judged: Vec<Judged>) -> StoreResult<()> {
    let by = leadership.context.moderator.name();
    let mut decisions = Vec::with_capacity(judged.len());
    for Judged { comment, outcome } in &judged {
        match outcome {
            Outcome::Decided(verdict, reason) => {
                decisions.push(Decision { comment: *comment, verdict: *verdict, reason, by });
            }
            Outcome::Failed(pause) => leadership.db().requeue_comment(*comment, *pause).await?,
        }
    }
    match decide(leadership, &decisions).await {
        Err(error) if !error.is_transient() => decide_one_by_one(leadership, &decisions).await,
        outcome => outcome,
    }
}

/// One bad comment must not stop the others.
async fn decide_one_by_one(leadership: &Leadership, decisions: &[Decision<'_>]) -> StoreResult<()> {
    for decision in decisions {
        match decide(leadership, slice::from_ref(decision)).await {
            Err(error) if !error.is_transient() => {
                let comment = decision.comment;
                tracing::error!(%comment, %error, "cannot decide a comment; trying again");
            }
            outcome => outcome?,
        }
    }
    Ok(())
}

/// Tries for a while to keep the decisions: to judge again costs more.
async fn decide(leadership: &Leadership, decisions: &[Decision<'_>]) -> StoreResult<()> {
    if decisions.is_empty() {
        return Ok(());
    }
    let pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(10))
        .with_jitter()
        .with_max_times(TRIES_TO_KEEP);
    (|| keep(leadership, decisions)).retry(pauses).when(StoreError::is_transient).await
}

/// One transaction: the decisions, what they count, and corrections.
async fn keep(leadership: &Leadership, decisions: &[Decision<'_>]) -> StoreResult<()> {
    let db = leadership.db();
    let mut tx = db.begin().await?;
    sql::lock_removals_shared(db, &mut tx).await?;
    let decided = sql::decide(db, &mut tx, decisions).await?;
    sql::move_totals(db, &mut tx, &decided.moved).await?;
    let stale: BTreeSet<Entity> = decided.moved.keys().copied().chain(decided.touched).collect();
    let stale: Vec<Entity> = stale.into_iter().collect();
    sql::add_invalidations(db, &mut tx, leadership.redis().shards(), &stale, "a comment was decided").await?;
    sql::commit(db, tx).await
}
