//! Direct changes and their invalidations (`src/counting/jobs/invalidations.rs`, `lua/invalidate_counts.lua`).
//! A request that invalidates the counts itself takes the same steps.

use super::{
    Action, Counters, Guard, Message,
    state::{Content, Invalidation, State},
};

const ID_OF_DIRECT_CHANGE: u8 = 0b1;

impl Counters {
    pub(super) fn invalidation_actions(&self, state: &State, actions: &mut Vec<Action>) {
        if self.scope.with_direct_change && !state.direct_change_is_done {
            actions.push(Action::DirectChangeCommits);
        }
        let invalidates_first = self.has(Guard::InvalidateBeforeDelete);
        let invalidate = self.messages().iter().map(|message| Action::InvalidatesCounts(*message));
        match state.invalidation {
            Invalidation::Idle => actions.push(Action::ReadsInvalidations),
            Invalidation::Read { .. } if invalidates_first => actions.extend(invalidate),
            Invalidation::Read { .. } | Invalidation::Invalidated { .. } => {
                actions.push(Action::DeletesInvalidations)
            }
            Invalidation::Deleted => actions.extend(invalidate),
        }
    }

    /// Rows, totals and the invalidation are one transaction.
    pub(super) fn direct_change_commits(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.direct_change_is_done = true;
        next.sql.has_direct_change = true;
        self.write_invalidation(&mut next.sql, ID_OF_DIRECT_CHANGE);
        Some(next)
    }

    pub(super) fn reads_invalidations(&self, state: &State) -> Option<State> {
        if state.sql.invalidations == 0 {
            return None;
        }
        Some(State { invalidation: Invalidation::Read { ids: state.sql.invalidations }, ..*state })
    }

    /// `lua/invalidate_counts.lua`
    pub(super) fn invalidates_counts(&self, state: &State, message: Message) -> Option<State> {
        if !self.is_ready(state) {
            return None;
        }
        let mut next = *state;
        next.invalidation = match state.invalidation {
            Invalidation::Read { ids } => Invalidation::Invalidated { ids },
            _ => Invalidation::Idle,
        };
        let target = &mut next.target;
        let live = self.live(target);
        target.counter = live.filter(|counter| counter.is_loading && !self.has(Guard::InvalidationEndsLoad));
        if self.has(Guard::InvalidationIsSent) {
            let change = self.next_change(target, live.map_or(0, |counter| counter.change));
            self.publish(&mut next, change, Content::Invalidated, message);
        } else if message == Message::Missed {
            return None;
        }
        Some(next)
    }

    pub(super) fn deletes_invalidations(&self, state: &State) -> Option<State> {
        let (ids, next_step) = match state.invalidation {
            Invalidation::Invalidated { ids } => (ids, Invalidation::Idle),
            Invalidation::Read { ids } => (ids, Invalidation::Deleted),
            Invalidation::Idle | Invalidation::Deleted => return None,
        };
        let mut next = *state;
        next.sql.invalidations &= if self.has(Guard::DeleteOwnInvalidations) { !ids } else { 0 };
        next.invalidation = next_step;
        Some(next)
    }
}
