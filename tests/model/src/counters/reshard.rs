//! A reshard (`src/counting/reshard.rs`), as log 0 and the target see it: all is closed, the log is persisted
//! to its end, and the next layout begins with an empty log and a target without state.
//!
//! In Plaudit the keys of the next layout have other names, so nothing that was meant for the former layout
//! reaches it. In the model they have the same names: batches, resets and loads of before do reach it, and the
//! other guards must refuse them.

use super::{
    Action, Counters, Guard,
    log::{GENESIS, LATER, Log},
    state::{Reshard, State, Target},
};
use crate::counters::Fault;

/// No replication id: what was verified in it counts as not verified.
const NONE: u8 = u8::MAX;

impl Counters {
    pub(super) fn reshard_actions(&self, state: &State, actions: &mut Vec<Action>) {
        if !self.scope.faults.has(Fault::Reshard) {
            return;
        }
        actions.extend(match state.reshard {
            Reshard::NotBegun => Some(Action::ReshardTakes),
            Reshard::Taken => Some(Action::ReshardCloses),
            Reshard::Closed => Some(Action::ReshardPersists),
            Reshard::Persisted => Some(Action::ReshardReadsEnds),
            Reshard::Compares { .. } => Some(Action::ReshardBegins),
            Reshard::Done => None,
        });
    }

    /// `begin_reshard`: until the end no process gets a lease.
    pub(super) fn reshard_takes(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.happened.add(Fault::Reshard);
        next.reshard = Reshard::Taken;
        next.sql.is_resharding = true;
        next.sql.fence = next.sql.fence.checked_add(1)?; // a walk that never rests
        next.reshard_fence = next.sql.fence;
        Some(next)
    }

    /// `lua/seal_shard.lua`
    pub(super) fn reshard_closes(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.reshard = Reshard::Closed;
        if self.has(Guard::ReshardCloses) {
            next.log.recovered_on = NONE;
            next.target.recovered_on = NONE;
        }
        if self.has(Guard::ReshardFences) {
            next.log.fence = state.reshard_fence;
            next.target.fence = state.reshard_fence;
        }
        Some(next)
    }

    pub(super) fn reshard_persists(&self, state: &State) -> Option<State> {
        if state.sql.fence != state.reshard_fence {
            return Some(run_again(state));
        }
        let mut next = *state;
        next.reshard = Reshard::Persisted;
        if self.has(Guard::ReshardPersists) {
            let from = state.sql.persisted[0];
            let (to, events) = state.log.read(from, u8::MAX, u8::MAX);
            self.persist(&mut next.sql, 0, to, events, self.last(state, to));
        }
        Some(next)
    }

    /// `finish_reshard`. A standby that lacks it may not take over: docs/internals/resharding.md.
    pub(super) fn reshard_begins(&self, state: &State) -> Option<State> {
        let Reshard::Compares { end } = state.reshard else { return None };
        let is_persisted = end <= state.sql.persisted[0] || !self.has(Guard::ReshardComparesEnds);
        if !state.sql.is_resharding || state.sql.fence != state.reshard_fence || !is_persisted {
            return Some(run_again(state));
        }
        let mut next = *state;
        next.reshard = Reshard::Done;
        next.standby = None;
        next.sql.is_resharding = false;
        (next.sql.persisted[0], next.sql.last) = (GENESIS, 0);
        next.sql.fence += 1;
        next.sql.epoch = state.sql.epoch.max(state.target.epoch) + 1;
        next.target = Target { counter: state.target.counter, ..Target::default() };
        next.reset = None;
        let Log { appended, lost, sequence, .. } = state.log;
        let extra = if appended == 0 { state.log.extra } else { LATER };
        next.log = Log { extra, appended, lost, sequence, recovered_on: NONE, ..Log::new(0) };
        Some(next)
    }
}

/// The command was refused, and is run again.
const fn run_again(state: &State) -> State {
    State { reshard: Reshard::NotBegun, ..*state }
}
