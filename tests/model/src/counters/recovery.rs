//! Recovery: the leadership of log 0's owner until its tasks run: lease, fence, comparison, next generation
//! (`src/counting/ownership/{owner,recovery}.rs`, `lua/take_over.lua`, `lua/finish_recovery.lua`).

use super::{
    Action, Counters, Guard,
    log::GENESIS,
    state::{Owner, Phase, Sql, State},
};

impl Counters {
    pub(super) fn recovery_actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.push(Action::BeginsLeadership);
        actions.extend(match state.owner.phase {
            Phase::Works => None,
            Phase::Leased => Some(Action::ShowsFence),
            Phase::Compares { .. } => Some(Action::ComparesLog),
            Phase::Rescues => Some(Action::PersistsSurvivors),
            Phase::Raises => Some(Action::RaisesGeneration),
            Phase::Begins => Some(Action::AppendsGenesis),
        });
    }

    /// A leadership ended because of `src/counting/ownership/watch.rs` or a refusal. The next one takes a higher fence
    /// (`acquire_lease`).
    pub(super) fn begins_leadership(&self, state: &State, was_refused: bool) -> Option<State> {
        let is_in_other_sequence = state.owner.sequence != state.log.sequence;
        let is_due = was_refused || is_in_other_sequence || self.leadership_must_end(state);
        if !is_due || state.sql.is_resharding {
            return None;
        }
        let mut next = *state;
        if self.has(Guard::LeadershipForgets) {
            next.owner.drop_batches();
        }
        if self.has(Guard::FenceOfNewProcess) || !is_in_other_sequence {
            next.sql.fence = next.sql.fence.checked_add(1)?; // a walk that never rests
        }
        next.owner.fence = next.sql.fence;
        next.owner.sequence = state.log.sequence;
        next.owner.phase = Phase::Leased;
        Some(next)
    }

    pub(super) fn leadership_must_end(&self, state: &State) -> bool {
        let (owner, sql) = (&state.owner, &state.sql);
        let is_fenced =
            owner.fence != sql.fence || (state.target.has_meta && owner.fence < state.target.fence);
        let is_ahead = owner.persisted > sql.persisted[0] && self.has(Guard::PersisterNotAhead);
        let works_on_lost_state =
            owner.timeline != sql.timeline || state.log.end() < sql.persisted[0] || is_ahead;
        is_fenced || (owner.phase == Phase::Works && works_on_lost_state)
    }

    /// `lua/take_over.lua`: writes the fence and reads the position in one step.
    pub(super) fn shows_fence(&self, state: &State) -> Option<State> {
        let mut next = *state;
        let target = &mut next.target;
        let mut folded = 0;
        if target.has_meta {
            if target.fence > state.owner.fence {
                return None; // refused: the leadership ends
            }
            folded = target.folded[0];
            if self.has(Guard::FenceBeforePosition) {
                target.fence = state.owner.fence;
            }
        }
        next.owner.phase = Phase::Compares { folded };
        Some(next)
    }

    /// `recover_log`: compares the log's end with the persisted and the folded offset.
    pub(super) fn compares_log(&self, state: &State) -> Option<State> {
        let Phase::Compares { folded } = state.owner.phase else { return None };
        if state.owner.fence < state.log.fence {
            return None; // `finish_recovery` is refused: the leadership ends
        }
        let (persisted, end) = (state.sql.persisted[0], state.log.end());
        let reached = if self.has(Guard::LogComparedWithFold) { persisted.max(folded) } else { persisted };
        let is_overwritten =
            self.has(Guard::PersistedEntryIsCompared) && self.has_other_end(state, persisted, state.sql.last);
        let mut next = *state;
        if end > 0 && end >= reached && !is_overwritten {
            self.begins_work(&mut next);
        } else if persisted == GENESIS && folded <= persisted {
            next.owner.phase = Phase::Begins;
        } else {
            next.log.is_closed = self.has(Guard::LogIsClosed);
            next.owner.phase = Phase::Rescues;
        }
        Some(next)
    }

    /// `persist_survivors`
    pub(super) fn persists_survivors(&self, state: &State) -> Option<State> {
        if state.owner.fence != state.sql.fence {
            return None; // refused: the leadership ends
        }
        let mut next = *state;
        if self.has(Guard::SurvivorsPersisted) {
            let (to, events) = state.log.read(state.sql.persisted[0], u8::MAX, u8::MAX);
            if events != 0 {
                self.persist(&mut next.sql, 0, to, events, self.last(state, to));
            }
        }
        next.owner.phase = Phase::Raises;
        Some(next)
    }

    /// `raise_generation`: all targets are reset, unless the log was never used.
    pub(super) fn raises_generation(&self, state: &State) -> Option<State> {
        if state.owner.fence != state.sql.fence {
            return None; // refused: the leadership ends
        }
        let mut next = *state;
        let is_new = state.sql.persisted[0] == 0 && (!state.target.has_meta || state.target.folded[0] == 0);
        if !is_new {
            next.sql.epoch += 1;
        }
        if self.compares_entries() {
            // What others have overwritten is neither persisted nor in the next generation.
            next.log.lost |= state.log.events_up_to(state.sql.persisted[0]) & !state.sql.rows[0];
        }
        (next.sql.persisted[0], next.sql.last) = (GENESIS, 0);
        next.owner.phase = Phase::Begins;
        Some(next)
    }

    pub(super) fn appends_genesis(&self, state: &State) -> Option<State> {
        if state.owner.fence < state.log.fence {
            return None; // refused: the leadership ends
        }
        let mut next = *state;
        next.log.has_genesis = true;
        self.begins_work(&mut next);
        Some(next)
    }

    /// `lua/finish_recovery.lua`; then the tasks of the pipeline read their positions.
    fn begins_work(&self, state: &mut State) {
        (state.log.recovered_on, state.log.is_closed) = (state.owner.sequence, false);
        let Sql { timeline, epoch, .. } = state.sql;
        state.owner = Owner { phase: Phase::Works, timeline, epoch, ..state.owner };
        if self.scope.in_small_steps {
            (state.owner.persisted, state.owner.last) = (state.sql.persisted[0], state.sql.last);
        }
    }
}
