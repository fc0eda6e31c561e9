//! Another Redis takes the place of the one that has target and log 0, and both say something about it
//! (`src/store/redis/nodes/handover.rs`): planned failovers, and moves of the slot.

use super::{
    Action, Counters, Fault, Guard,
    state::{Handover, Redis, State},
};

impl Counters {
    pub(super) fn handover_actions(&self, state: &State, actions: &mut Vec<Action>) {
        let may = |fault| self.scope.faults.has(fault) && !state.happened.has(fault);
        if may(Fault::PlannedFailover) {
            actions.push(Action::ReplicaTakesOver);
        }
        if may(Fault::SlotMoved) {
            actions.push(Action::SlotMoves);
        }
        if may(Fault::SlotMovedPartly) {
            match state.replica {
                None => actions.push(Action::ReplicaLagsFromHere),
                Some(copy) => {
                    let left = self.may_be_left(state, &copy);
                    let partly = |log_left| {
                        [true, false].map(|is_given| Action::SlotMovesPartly { log_left, is_given })
                    };
                    actions.extend(left.flat_map(partly));
                }
            }
        }
        let Some(first) = state.moved_from else { return };
        // What moves on before anybody has verified it is not modelled.
        if state.target.recovered_on != state.redis.sequence {
            return;
        }
        match state.replica {
            _ if state.redis.sequence != first.sequence => actions.push(Action::SlotReturns),
            None => actions.push(Action::ReplicaLagsFromHere),
            Some(copy) => {
                let left = self.may_be_left(state, &copy);
                actions.extend(left.map(|log_left| Action::SlotIsAssigned { log_left }));
            }
        }
    }

    /// `Redis::has_all_of`
    pub(super) fn is_handed_over(&self, state: &State) -> bool {
        state.handover.is_some_and(|handover| {
            (handover.of == state.target.recovered_on || !self.has(Guard::HandoverOfVerified))
                && (handover.is_given || !self.has(Guard::HandoverIsGiven))
                && (handover.is_taken || !self.has(Guard::HandoverIsTaken))
                && (handover.is_new || !self.has(Guard::HandoverIsNew))
        })
    }

    pub(super) fn replica_takes_over(&self, state: &State) -> Option<State> {
        let mut next = self.elsewhere(state, Handover::of(&state.redis));
        next.redis.is_promoted = true;
        next.happened.add(Fault::PlannedFailover);
        Some(next)
    }

    pub(super) fn slot_moves(&self, state: &State) -> Option<State> {
        let mut next = self.elsewhere(state, Handover::of(&state.redis));
        next.moved_from = self.scope.faults.has(Fault::SlotAssigned).then_some(state.redis);
        next.happened.add(Fault::SlotMoved);
        Some(next)
    }

    pub(super) fn slot_moves_partly(&self, state: &State, log_left: u8, is_given: bool) -> Option<State> {
        let words = Handover { is_given, is_taken: !is_given, ..Handover::of(&state.redis) };
        let mut next = self.elsewhere(state, words);
        next.target = next.replica.take()?;
        next.log.lose_after(log_left);
        next.happened.add(Fault::SlotMovedPartly);
        Some(next)
    }

    /// By key, so neither server says anything new.
    pub(super) fn slot_returns(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.redis = Redis { is_watched: state.redis.is_watched, ..state.moved_from? };
        next.log.sequence = next.redis.sequence;
        next.replica = None;
        next.happened.add(Fault::SlotAssigned);
        self.hub_has_gap(&mut next);
        Some(next)
    }

    pub(super) fn slot_is_assigned(&self, state: &State, log_left: u8) -> Option<State> {
        let mut next = self.elsewhere(state, state.handover?);
        next.target = next.replica.take()?;
        next.log.lose_after(log_left);
        next.moved_from = None;
        Some(next)
    }

    /// All of it, in another process with another replication id.
    fn elsewhere(&self, state: &State, words: Handover) -> State {
        let mut next = *state;
        next.redis = Redis {
            run: state.redis.run + 1,
            sequence: state.redis.sequence + 1,
            is_promoted: false,
            is_watched: state.redis.is_watched,
        };
        next.log.sequence += 1;
        next.handover = Some(words);
        self.hub_has_gap(&mut next);
        next
    }
}
