//! Targets that were left out, because they did not answer or were not recovered: they are looked for beside
//! the fold of the others, get what they have missed, and are then folded with the others again.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::{sync::watch, task::JoinSet, time::Instant};

use super::{FOLLOW, fold_entries, targets::TargetShards};
use crate::leadership::{Leadership, ticks};
use plaudit_catalogue::primitives::{Offset, ShardId};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{TargetPosition, log::reading},
};

/// How long a search waits for a node, which has none but its own limits to keep.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// One search for the targets of each node.
pub struct Returning {
    leadership: Arc<Leadership>,
    searches: JoinSet<FoundTargets>,
    searched: BTreeSet<ShardId>,
    /// How far the others are.
    goal: watch::Sender<Offset>,
}

/// What a search for some targets has found: one at least.
struct FoundTargets {
    searched: Vec<ShardId>,
    positions: Vec<TargetPosition>,
}

impl Returning {
    pub fn new(leadership: &Arc<Leadership>) -> Self {
        Self {
            leadership: Arc::clone(leadership),
            searches: JoinSet::new(),
            searched: BTreeSet::new(),
            goal: watch::Sender::new(Offset::default()),
        }
    }

    /// Looks for the targets that are missing, if nobody does yet.
    pub fn look_for_missing(&mut self, targets: &mut TargetShards) {
        self.goal.send_replace(targets.done());
        let mut missing = targets.missing();
        missing.retain(|one| !self.searched.contains(&one.target));
        // Those that are looked for at the same time went missing together.
        for together in
            missing.chunk_by(|one, other| (one.place, one.look_at) == (other.place, other.look_at))
        {
            let searched: Vec<ShardId> = together.iter().map(|one| one.target).collect();
            self.searched.extend(&searched);
            let (leadership, goal) = (Arc::clone(&self.leadership), self.goal.subscribe());
            self.searches.spawn(search(leadership, searched, together[0].look_at, goal));
        }
    }

    /// Waits for targets that are as far as the others, for ever if none is looked for.
    ///
    /// # Errors
    /// If a search has ended by a bug.
    pub async fn next(&mut self) -> StoreResult<Vec<TargetPosition>> {
        let Some(found) = self.searches.join_next().await else { return std::future::pending().await };
        let FoundTargets { searched, positions } =
            found.map_err(|panic| StoreError::Unexpected(panic.to_string()))?;
        self.searched.retain(|target| !searched.contains(target));
        Ok(positions)
    }
}

/// Looks again and again, from a moment on, until some of the targets are found.
async fn search(
    leadership: Arc<Leadership>,
    searched: Vec<ShardId>,
    mut at: Instant,
    goal: watch::Receiver<Offset>,
) -> FoundTargets {
    loop {
        tokio::time::sleep_until(at).await;
        match catch_up(&leadership, &searched, &goal).await {
            Ok(targets) if !targets.is_empty() => {
                return FoundTargets { searched, positions: targets.positions() };
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(?searched, %error, "targets are still left out"),
        }
        at = ticks::next(FOLLOW);
    }
}

/// Reads the positions of targets and folds what they have missed.
async fn catch_up(
    leadership: &Leadership,
    searched: &[ShardId],
    goal: &watch::Receiver<Offset>,
) -> StoreResult<TargetShards> {
    let mut targets = TargetShards::read(leadership, searched, ANSWERS_WITHIN).await?;
    let reader = reading::log_reader(leadership.redis(), leadership.lease.shard, 0);
    while !targets.is_empty() {
        let to = *goal.borrow();
        if targets.done() >= to {
            break;
        }
        // Replicas have them: the others have folded them.
        let entries = reader.range(targets.done(), to, leadership.context.settings.batch_events).await?;
        fold_entries(leadership, &mut targets, &entries, true).await?;
    }
    Ok(targets)
}
