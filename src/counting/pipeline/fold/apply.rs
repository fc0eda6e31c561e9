//! Folding of batches. The batches of each node are folded by themselves, so that a node that does not answer holds
//! up no other, and together with the batches of the process's other shards.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout};

use super::{FOLLOW, targets::TargetShards};
use crate::leadership::{Context, Leadership, ticks};
use plaudit_catalogue::primitives::{
    Offset, ShardId,
    fault::{self, Point},
};
use plaudit_store::{
    StoreResult,
    redis::{Batch, log::batches, node_name, nodes::shards_of_nodes},
};

/// Batches whose targets are on one node.
struct OfNode {
    /// Its first shard.
    place: ShardId,
    batches: Arc<[Batch]>,
    /// It has the source, too: without it there is nothing to fold.
    has_source: bool,
}

/// Folds batches up to `to`, together with batches of other shards unless `alone`. Targets that do not answer, or not
/// before the others' patience ends, are left out. If a target refuses its batch, reads the positions of all again
/// and returns false.
///
/// # Errors If the source's own shard does not answer, and of calls that need not be repeated.
pub async fn apply(
    leadership: &Leadership,
    targets: &mut TargetShards,
    batches: Vec<Batch>,
    to: Offset,
    alone: bool,
) -> StoreResult<bool> {
    if batches.is_empty() {
        return Ok(true);
    }
    let (context, source) = (&leadership.context, leadership.lease.shard);
    let nodes = shards_of_nodes::shards_by_node(&context.redis).await?;
    fault::reached(Point::BeforeFold)?;
    let parts = divide(batches, &nodes, source);
    let patience = targets.patience();
    let folds = parts.iter().map(|part| async move {
        let folding = fold_on_node(context, part, alone);
        if part.has_source { Some(folding.await) } else { timeout(patience, folding).await.ok() }
    });
    let outcomes = join_all(folds).await;
    fault::reached(Point::AfterFold)?;
    let (now, mut is_done) = (Instant::now(), true);
    for (part, outcomes) in parts.iter().zip(outcomes) {
        let Some(outcomes) = outcomes else {
            part.batches.iter().for_each(|batch| targets.leave_out(batch.target, part.place, now));
            continue;
        };
        for (batch, outcome) in part.batches.iter().zip(outcomes) {
            match outcome {
                Ok(true) => targets.advance(batch, to),
                Ok(false) => is_done = false,
                Err(error) if batch.target == source || !error.is_transient() => return Err(error),
                Err(_) => targets.leave_out(batch.target, part.place, ticks::next(FOLLOW)),
            }
        }
    }
    if !is_done {
        targets.read_again(leadership).await?;
    }
    Ok(is_done)
}

/// A shard that no node has is a node by itself: the call says why.
fn divide(batches: Vec<Batch>, nodes: &[Arc<[ShardId]>], source: ShardId) -> Vec<OfNode> {
    let mut parts: Vec<(ShardId, Vec<Batch>)> = Vec::new();
    for batch in batches {
        let place = node_name(batch.target, nodes);
        match parts.iter_mut().find(|(known, _)| *known == place) {
            Some((_, part)) => part.push(batch),
            None => parts.push((place, vec![batch])),
        }
    }
    let of_source = node_name(source, nodes);
    let part = |(place, batches): (ShardId, Vec<Batch>)| OfNode {
        place,
        batches: batches.into(),
        has_source: place == of_source,
    };
    parts.into_iter().map(part).collect()
}

/// For each batch whether it was accepted.
async fn fold_on_node(context: &Context, part: &OfNode, alone: bool) -> Vec<StoreResult<bool>> {
    let batches = &part.batches;
    if !alone && fold_together(context, part.place, Arc::clone(batches)).await {
        return batches.iter().map(|_| Ok(true)).collect();
    }
    let folded = batches::fold(&context.redis, batches).await;
    folded.unwrap_or_else(|error| batches.iter().map(|_| Err(error.clone())).collect())
}

/// Folds batches together with batches of other shards for the same node. Returns whether all are folded; each is
/// otherwise folded or not, which the target's positions show.
async fn fold_together(context: &Context, place: ShardId, batches: Arc<[Batch]>) -> bool {
    let of_group = context.clone();
    let work = |group| async move { fold_group(&of_group, group).await };
    context.folds.together(&context.background, place, batches, work).await.is_some()
}

/// An answer for each if all are folded.
async fn fold_group(context: &Context, group: Vec<Arc<[Batch]>>) -> Vec<()> {
    let batches = joined(group.iter().flat_map(|batches| &**batches), context.settings.batch_events);
    match batches::fold(&context.redis, &batches).await {
        Ok(applied) if applied.iter().all(|is_applied| matches!(is_applied, Ok(true))) => {
            vec![(); group.len()]
        }
        Ok(_) => Vec::new(),
        Err(error) => {
            tracing::debug!(shards = group.len(), %error, "a group failed; its shards fold alone");
            Vec::new()
        }
    }
}

/// Joins batches for the same target, while they have at most `most` entities together. Two of one source stay
/// apart: the script compares every range with the positions before the call, and would count twice what both
/// have.
fn joined<'a>(batches: impl IntoIterator<Item = &'a Batch>, most: usize) -> Vec<Batch> {
    let mut batches: Vec<&Batch> = batches.into_iter().collect();
    batches.sort_by_key(|batch| (batch.target, batch.epoch));
    let mut joined: Vec<Batch> = Vec::new();
    for batch in batches {
        let fits = |last: &&mut Batch| {
            (last.target, last.epoch) == (batch.target, batch.epoch)
                && last.moves.len() + batch.moves.len() <= most
                && batch.ranges.iter().all(|range| last.ranges.iter().all(|had| had.source != range.source))
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
    use plaudit_catalogue::{Counter, Counts, Deltas, Entity, primitives::ShardId};
    use plaudit_store::redis::LogRange;

    /// A like of one note, from a source.
    fn like(source: u16, target: u16, epoch: u64, note: &str) -> Batch {
        let mut counts = Counts::default();
        counts.add(Counter::NoteLikes, 1);
        let moves: Deltas = [(note.parse::<Entity>().unwrap(), counts)].into();
        let (from, to) = (Offset::new(1, 3), Offset::new(1, 4));
        let range = LogRange { source: ShardId::first(source), fence: 1, from, to, confirmed_in: None };
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
    fn the_same_batch_twice_is_not_joined_so_that_the_second_is_refused() {
        let batches = [like(0, 0, 1, "note_4"), like(1, 0, 1, "note_4"), like(0, 0, 1, "note_4")];
        let expected = [(0, vec![0, 1], vec![note(4, 2)]), (0, vec![0], vec![note(4, 1)])];
        assert_eq!(described(&joined(&batches, 10)), expected);
    }

    #[test]
    fn batches_for_different_nodes_are_folded_apart() {
        let nodes: [Arc<[ShardId]>; 2] = [[0, 2].map(ShardId::first).into(), [1].map(ShardId::first).into()];
        let batches = [0, 1, 2, 3].map(|target| like(2, target, 1, "note_4"));
        let parts = divide(batches.into(), &nodes, ShardId::first(2));
        let described = parts.iter().map(|part| {
            let targets: Vec<u16> = part.batches.iter().map(|batch| batch.target.0).collect();
            (part.place.0, targets, part.has_source)
        });
        let expected = [(0, vec![0, 2], true), (1, vec![1], false), (3, vec![3], false)];
        assert_eq!(described.collect::<Vec<_>>(), expected, "no node has shard 3");
    }

    #[test]
    fn a_joined_batch_has_a_bound() {
        let batches = [like(0, 0, 1, "note_4"), like(1, 0, 1, "note_6"), like(2, 0, 1, "note_8")];
        let expected = [(0, vec![0, 1], vec![note(4, 1), note(6, 1)]), (0, vec![2], vec![note(8, 1)])];
        assert_eq!(described(&joined(&batches, 2)), expected);
    }
}
