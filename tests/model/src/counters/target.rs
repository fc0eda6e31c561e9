//! The target shard: when its scripts run, and how its counters are reset (`reset_counters` in
//! `pipeline/ownership/reset.rs`, `raise_epoch`, `lua/reset_target.lua`).

use super::{
    Action, Counters, Fault, Guard,
    log::GENESIS,
    state::{Counter, Reset, State, Target},
};

impl Counters {
    pub(super) fn target_actions(&self, state: &State, actions: &mut Vec<Action>) {
        match state.reset {
            None => actions.push(Action::RaisesEpoch),
            Some(_) => actions.push(Action::ResetsTarget),
        }
        if state.late_reset.is_some() {
            actions.extend([Action::LateResetArrives, Action::LateResetIsLost]);
        }
    }

    /// Whether the target's scripts run: the target and everything else in its Redis process are recovered.
    pub(super) fn is_ready(&self, state: &State) -> bool {
        let shares_redis = self.scope.faults.has(Fault::RedisFailover);
        state.target.has_meta
            && (state.target.recovered_on == state.process || !self.has(Guard::RecoveredTarget))
            && (!shares_redis || state.log.is_recovered() || !self.has(Guard::RecoveredLog))
    }

    /// The counter, if its hash is of this epoch.
    pub(super) fn live(&self, target: &Target) -> Option<Counter> {
        target.counter.filter(|counter| counter.epoch == target.epoch || !self.has(Guard::HashOfEpoch))
    }

    /// The total that a reader gets from Redis.
    pub(super) fn readable_total(&self, state: &State) -> Option<i16> {
        let counter = self.live(&state.target).filter(|counter| !counter.is_loading)?;
        self.is_ready(state).then_some(counter.total)
    }

    pub(super) fn next_change(&self, target: &mut Target, before: u8) -> u8 {
        if !self.scope.with_hub {
            0
        } else if self.has(Guard::VersionFromSequence) {
            target.change += 1;
            target.change
        } else {
            before + 1
        }
    }

    /// `reset_reason`
    pub(super) fn must_reset(&self, state: &State) -> bool {
        let (target, sql) = (&state.target, &state.sql);
        !target.has_meta
            || self.has(Guard::RecoveredTarget) && target.recovered_on != state.process
            || self.has(Guard::EpochAfterTimeline) && target.timeline != sql.timeline
            || self.has(Guard::EpochAfterLogLoss) && target.epoch != sql.epoch
    }

    /// `raise_epoch`, which also reads the persisted offsets of all logs.
    pub(super) fn raises_epoch(&self, state: &State) -> Option<State> {
        if !self.must_reset(state) {
            return None;
        }
        let mut next = *state;
        let (target, sql) = (&state.target, &mut next.sql);
        if target.has_meta || self.has(Guard::EpochAfterMissingMeta) {
            let target_epoch =
                if target.has_meta && self.has(Guard::EpochAboveBoth) { target.epoch } else { 0 };
            sql.epoch = sql.epoch.max(target_epoch) + 1;
        }
        next.reset = Some(Reset {
            epoch: sql.epoch,
            timeline: sql.timeline,
            persisted: sql.persisted,
            fence: sql.fence,
            run: state.process,
        });
        Some(next)
    }

    /// `lua/reset_target.lua`, then `lua/finish_recovery.lua`, which writes `redis_run_id` in any case.
    pub(super) fn resets_target(&self, state: &State, is_late: bool) -> Option<State> {
        let mut next = *state;
        let slot = if is_late { &mut next.late_reset } else { &mut next.reset };
        let reset = slot.take()?;
        let before = state.target;
        let is_newer = before.has_meta && before.epoch >= reset.epoch;
        if is_newer && self.has(Guard::ResetOnlyUpwards) {
            if !is_late {
                next.target.recovered_on = reset.run;
            }
            return Some(next);
        }
        let mut folded = reset.persisted;
        if before.has_meta && self.has(Guard::ResetKeepsFolded) {
            for (source, folded) in folded.iter_mut().enumerate() {
                if is_of_same_generation(before.folded[source], *folded) {
                    *folded = before.folded[source].max(*folded);
                }
            }
        }
        next.target = Target {
            has_meta: true,
            epoch: reset.epoch,
            change: 0,
            recovered_on: reset.run,
            timeline: reset.timeline,
            folded,
            fence: reset.fence,
            counter: before.counter,
        };
        if self.has(Guard::EpochIsGap) {
            self.hub_has_gap(&mut next);
        }
        Some(next)
    }
}

const fn is_of_same_generation(a: u8, b: u8) -> bool {
    (a < GENESIS) == (b < GENESIS)
}
