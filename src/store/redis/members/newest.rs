//! An actor's newest edges of one kind, from which lists are read without PostgreSQL. Flips do not write them: a reader
//! applies the pending ones, and retirement writes those that it takes out of the pending overlay.

use std::time::Duration;

use crate::{
    StoreResult,
    redis::{
        Redis, counts::counters::life_with_jitter, keys, log::state::LogState, reply::Reply,
        results::InstallNewestResult, scripts,
    },
};
use plaudit_catalogue::{
    EdgeKind, EntityKind,
    primitives::{Id, Moment, Offset, PageRequest, UserId},
};

/// Edges that are kept: the longest page of a list, whether there is a next one, and some that may be switched off.
pub const NEWEST: usize = 112;
/// With more edges they are cut to [`NEWEST`]. With the marker they stay below `zset-max-listpack-entries 128`:
/// then 126 edges take some 2 kB.
pub(crate) const NEWEST_LIMIT: usize = 126;
/// How long they are kept since they were read from PostgreSQL: a day since then, as counters.
const LIFE: Duration = Duration::from_hours(26);

/// The newest edges that are on, newest first, without what pending flips change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewestEdges {
    pub edges: Vec<Moment>,
    /// The actor may have older ones.
    pub truncated: bool,
}

impl NewestEdges {
    /// Whether the newest edges of this kind are kept: lists of notes are the ones that people ask for most,
    /// and what was removed since then is found out when the notes are read.
    pub fn are_kept(kind: EdgeKind) -> bool {
        kind.target() == EntityKind::Note
    }

    /// The rows of a page without these targets, as PostgreSQL would return them; `None` if older edges are needed.
    pub fn rows(&self, except: &[Id], page: &PageRequest<Moment>) -> Option<Vec<Moment>> {
        let (before, most) = (page.before(), page.rows() as usize);
        let of_page = self.edges.iter().filter(|edge| **edge < before && !except.contains(&edge.id));
        let rows: Vec<Moment> = of_page.copied().take(most).collect();
        (rows.len() == most || !self.truncated).then_some(rows)
    }
}

/// Keeps edges that were read from the primary PostgreSQL; `before` is the state before that read. Keeps
/// nothing if the state has changed.
pub async fn keep_newest(
    redis: &Redis,
    actor: UserId,
    kind: EdgeKind,
    before: LogState,
    persisted: Offset,
    newest: &NewestEdges,
) -> StoreResult<()> {
    let shard = redis.shard_of(actor.0);
    let touched = [keys::meta(shard), keys::newest(shard, kind, actor)];
    let mut cmd = scripts::INSTALL_NEWEST.call(&touched);
    cmd.arg(before.generation)
        .arg(persisted.to_string())
        .arg(life_with_jitter(LIFE))
        .arg(before.sets_invalidated)
        .arg(u8::from(newest.truncated));
    for edge in &newest.edges {
        cmd.arg(edge.micros).arg(edge.id.get());
    }
    match Reply::read(redis.command(&cmd).await?)?.result()? {
        InstallNewestResult::Done | InstallNewestResult::Refused => Ok(()),
    }
}

/// The newest edges, from the members of the sorted set with their scores, highest score first. `None` if they
/// are missing or of another generation of the log.
pub(crate) fn newest_edges(members: &[(i64, f64)], generation: u64) -> Option<NewestEdges> {
    let (marker, edges) = members.split_last()?;
    let complete = -2 * generation as i64;
    let truncated = marker.0 == complete - 1;
    let moment =
        |(id, micros): &(i64, f64)| Some(Moment { micros: *micros as i64, id: (*id).try_into().ok()? });
    let mut edges = edges.iter().map(moment).collect::<Option<Vec<Moment>>>()?;
    edges.sort_unstable_by(|one, other| other.cmp(one)); // equal times: by id, and not by its digits
    (marker.0 == complete || truncated && !edges.is_empty()).then_some(NewestEdges { edges, truncated })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64, id: i64) -> Moment {
        Moment { micros, id: id.try_into().unwrap() }
    }

    #[test]
    fn members_are_edges_and_a_marker_of_the_generation() {
        let members = [(9, 30.0), (10, 30.0), (5, 20.0), (-14, 0.0)];
        let whole = NewestEdges { edges: vec![at(30, 10), at(30, 9), at(20, 5)], truncated: false };
        assert_eq!(newest_edges(&members, 7), Some(whole));
        assert_eq!(newest_edges(&members, 8), None);
        assert_eq!(newest_edges(&[(-14, 0.0)], 7).map(|newest| newest.edges), Some(vec![]));
        assert!(newest_edges(&[(5, 20.0), (-15, 0.0)], 7).is_some_and(|newest| newest.truncated));
        // Without the oldest it is not known where the unknown ones begin.
        assert_eq!(newest_edges(&[(-15, 0.0)], 7), None);
        assert_eq!(newest_edges(&[], 7), None);
    }

    #[test]
    fn a_page_needs_older_edges_if_the_kept_ones_may_not_suffice() {
        let except = [3.try_into().unwrap()];
        let mut newest = NewestEdges { edges: vec![at(40, 4), at(30, 3), at(20, 2)], truncated: true };
        let page = |first, after| PageRequest { first, after };
        assert_eq!(newest.rows(&except, &page(1, None)), Some(vec![at(40, 4), at(20, 2)]));
        assert_eq!(newest.rows(&except, &page(2, None)), None);
        assert_eq!(newest.rows(&except, &page(1, Some(at(40, 4)))), None);
        newest.truncated = false;
        assert_eq!(newest.rows(&except, &page(2, None)), Some(vec![at(40, 4), at(20, 2)]));
        assert_eq!(newest.rows(&except, &page(1, Some(at(40, 4)))), Some(vec![at(20, 2)]));
    }
}
