//! Fold, the projector to Redis: log → one difference per entity → counters in Redis → hubs. Each event is
//! applied to each target exactly once.
//!
//! When idle, an event is folded at once. Under load events gather, and the batches of all shards of the process are
//! folded together: one script call per target.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::targets::TargetShards;
use crate::{
    event_log::Entry,
    pipeline::leadership::{
        Context, Leadership,
        retry::{FailureStreak, repeat_with},
    },
    primitives::{
        Offset,
        fault::{self, Point},
    },
    store::{StoreError, StoreResult, redis::Batch},
};

/// How long one wait for new events lasts. Then the targets are read again: a target that was reset to an
/// earlier offset must not wait for the next event.
const WAIT: Duration = Duration::from_secs(1);
/// How long after a batch the targets that it does not touch follow, all batches of that time at once, and how often
/// targets that are not recovered are looked for. Events are retired only when all targets have followed.
const FOLLOW: Duration = Duration::from_millis(500);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let streak = FailureStreak::new(leadership.lease.shard, "fold");
    repeat_with(&leadership, &streak, || fold(&leadership, &streak)).await
}

/// Reads the position of each target and folds until an error.
async fn fold(leadership: &Leadership, streak: &FailureStreak) -> StoreResult<()> {
    let (redis, lease, context) = (leadership.redis(), leadership.lease, &leadership.context);
    let mut reader = redis.log_reader(lease.shard, context.settings.redis_replicas);
    let mut targets = TargetShards::read(redis, lease, &leadership.recovered).await?;
    let (most, mut turn, mut follow_at) = (context.settings.batch_events, Instant::now(), None);
    loop {
        if let Some(folded) = targets.lowest() {
            leadership.progress.folded.send_replace(folded);
        }
        tokio::time::sleep_until(turn).await;
        let wait = follow_at.map_or(WAIT, |at: Instant| at.saturating_duration_since(Instant::now()));
        let entries = reader.read(targets.done(), most, wait).await?;
        let (began, is_full) = (Instant::now(), entries.len() == most);
        turn = if is_full { began } else { context.folds.next_turn(began) };
        if !entries.is_empty() {
            fold_entries(leadership, &mut targets, &entries, is_full).await?;
        } else if !targets.is_any_behind() {
            targets = TargetShards::read(redis, lease, &leadership.recovered).await?;
        }
        if follow_at.is_some_and(|at| at <= Instant::now()) {
            follow(leadership, &mut targets).await?;
            follow_at = None;
        }
        follow_at = targets.is_any_behind().then(|| follow_at.unwrap_or_else(|| Instant::now() + FOLLOW));
        streak.succeeded();
    }
}

/// Folds entries into the targets that they touch. A full batch is folded alone: a script must not run for long.
async fn fold_entries(
    leadership: &Leadership,
    targets: &mut TargetShards,
    entries: &[Entry],
    is_full: bool,
) -> StoreResult<()> {
    let Some(last) = entries.last() else { return Ok(()) };
    // The reader has waited for them.
    if leadership.context.settings.redis_replicas > 0 {
        targets.replicas_are_at(last.offset);
    }
    leadership.context.status.record_log_end(leadership.lease.shard, last.offset);
    let batches = targets.touched(entries).into();
    if apply(leadership, targets, batches, last.offset, is_full).await? {
        targets.touched_targets_are_at(last.offset);
    }
    Ok(())
}

/// Moves the targets that no batch touched, and looks for those that were not recovered.
async fn follow(leadership: &Leadership, targets: &mut TargetShards) -> StoreResult<()> {
    let (batches, to) = (targets.following().into(), targets.done());
    apply(leadership, targets, batches, to, false).await?;
    if targets.lowest().is_none() {
        *targets = TargetShards::read(leadership.redis(), leadership.lease, &leadership.recovered).await?;
    }
    Ok(())
}

/// Folds batches up to `to`, together with those of other shards unless `alone`. If one is refused, reads the positions
/// of all targets and returns false.
async fn apply(
    leadership: &Leadership,
    targets: &mut TargetShards,
    batches: Arc<[Batch]>,
    to: Offset,
    alone: bool,
) -> StoreResult<bool> {
    if batches.is_empty() {
        return Ok(true);
    }
    let context = &leadership.context;
    fault::reached(Point::BeforeFold)?;
    let is_done = !alone && fold_together(context, Arc::clone(&batches)).await
        || context.redis.fold(&batches).await?.into_iter().all(|is_applied| is_applied);
    fault::reached(Point::AfterFold)?;
    if is_done {
        batches.iter().for_each(|batch| targets.advance(batch, to));
    } else {
        *targets = TargetShards::read(&context.redis, leadership.lease, &leadership.recovered).await?;
    }
    Ok(is_done)
}

/// Folds batches together with those of other shards. Returns whether all are folded; each is otherwise folded or not,
/// which the target's positions tell.
async fn fold_together(context: &Context, batches: Arc<[Batch]>) -> bool {
    let of_group = context.clone();
    let work = |group| async move { fold_group(&of_group, group).await };
    context.folds.together(&context.background, batches, work).await
}

async fn fold_group(context: &Context, group: Vec<Arc<[Batch]>>) -> bool {
    let batches = joined(group.iter().flat_map(|batches| &**batches), context.settings.batch_events);
    match context.redis.fold(&batches).await {
        Ok(applied) => applied.into_iter().all(|is_applied| is_applied),
        Err(error) => {
            tracing::debug!(shards = group.len(), %error, "a group failed; its shards fold alone");
            false
        }
    }
}

/// Joins batches for the same target, while they have at most `most` entities together.
fn joined<'a>(batches: impl IntoIterator<Item = &'a Batch>, most: usize) -> Vec<Batch> {
    let mut batches: Vec<&Batch> = batches.into_iter().collect();
    batches.sort_by_key(|batch| (batch.target, batch.epoch));
    let mut joined: Vec<Batch> = Vec::new();
    for batch in batches {
        let fits = |last: &&mut Batch| {
            (last.target, last.epoch) == (batch.target, batch.epoch)
                && last.moves.len() + batch.moves.len() <= most
        };
        match joined.last_mut().filter(fits) {
            Some(last) => last.add(batch),
            None => joined.push(batch.clone()),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalogue::{Counter, Counts, Deltas, Entity},
        primitives::ShardId,
        store::redis::LogRange,
    };

    /// A like of one note, from a source.
    fn like(source: u16, target: u16, epoch: u64, note: &str) -> Batch {
        let mut counts = Counts::default();
        counts.add(Counter::NoteLikes, 1);
        let moves: Deltas = [(note.parse::<Entity>().unwrap(), counts)].into();
        let (from, to) = (Offset::new(1, 3), Offset::new(1, 4));
        let range = LogRange { source: ShardId::first(source), fence: 1, from, to, is_replicated: false };
        Batch { target: ShardId::first(target), epoch, ranges: vec![range], moves }
    }

    /// Target, sources, and likes of each note.
    type Described = (u16, Vec<u16>, Vec<(String, i64)>);

    fn described(batches: &[Batch]) -> Vec<Described> {
        let likes = |batch: &Batch| {
            let of_note = |(note, by): (&Entity, &Counts)| (note.to_string(), by.get(Counter::NoteLikes));
            batch.moves.iter().map(of_note).collect()
        };
        let sources = |batch: &Batch| batch.ranges.iter().map(|range| range.source.0).collect();
        batches.iter().map(|batch| (batch.target.0, sources(batch), likes(batch))).collect()
    }

    fn note(id: u16, likes: i64) -> (String, i64) {
        (format!("note_{id}"), likes)
    }

    #[test]
    fn batches_of_several_sources_for_one_target_are_one_and_their_sums_add_up() {
        let batches = [like(0, 0, 1, "note_4"), like(1, 1, 1, "note_5"), like(1, 0, 1, "note_4")];
        let expected = [(0, vec![0, 1], vec![note(4, 2)]), (1, vec![1], vec![note(5, 1)])];
        assert_eq!(described(&joined(&batches, 10)), expected);
    }

    #[test]
    fn batches_of_different_epochs_are_not_joined() {
        let batches = [like(0, 0, 1, "note_4"), like(1, 0, 2, "note_4")];
        assert_eq!(joined(&batches, 10).len(), 2);
    }

    #[test]
    fn a_joined_batch_has_a_bound() {
        let batches = [like(0, 0, 1, "note_4"), like(1, 0, 1, "note_6"), like(2, 0, 1, "note_8")];
        let expected = [(0, vec![0, 1], vec![note(4, 1), note(6, 1)]), (0, vec![2], vec![note(8, 1)])];
        assert_eq!(described(&joined(&batches, 2)), expected);
    }
}
