//! The target shard: when its scripts run, and how its counters begin anew (`restart_counters` in
//! `pipeline/ownership/recovery.rs`, `raise_epoch`, `lua/reset_target.lua`).

use super::{
    Action, Counters, Fault, Guard,
    state::{Counter, Restart, State, Target},
};

impl Counters {
    pub(super) fn target_actions(&self, state: &State, actions: &mut Vec<Action>) {
        match state.restart {
            None => actions.push(Action::RaisesEpoch),
            Some(_) => actions.push(Action::RestartsTarget),
        }
        if state.late_restart.is_some() {
            actions.extend([Action::LateRestartArrives, Action::LateRestartIsLost]);
        }
    }

    /// Whether the target's scripts run: it was verified on its Redis process, and so was everything else
    /// there.
    pub(super) fn is_ready(&self, state: &State) -> bool {
        let shares_redis = self.scope.faults.has(Fault::RedisFailover);
        state.target.has_meta
            && (state.target.verified_on == state.process || !self.has(Guard::VerifiedTarget))
            && (!shares_redis || state.log.is_verified() || !self.has(Guard::VerifiedLog))
    }

    /// The counter, if its hash counts.
    pub(super) fn live(&self, target: &Target) -> Option<Counter> {
        target.counter.filter(|counter| counter.epoch == target.epoch || !self.has(Guard::HashOfEpoch))
    }

    /// The total that a reader gets.
    pub(super) fn readable_total(&self, state: &State) -> Option<i16> {
        if self.is_ready(state) { self.live(&state.target)?.total } else { None }
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

    /// `restart_reason`
    pub(super) fn must_restart(&self, state: &State) -> bool {
        let (target, sql) = (&state.target, &state.sql);
        let is_behind = || (0..2).any(|source| sql.persisted[source] < target.cleaned[source]);
        !target.has_meta
            || self.has(Guard::VerifiedTarget) && target.verified_on != state.process
            || self.has(Guard::EpochAfterTimeline) && target.timeline != sql.timeline
            || self.has(Guard::EpochAfterLogLoss) && target.epoch != sql.epoch
            || self.has(Guard::EpochAfterSqlLoss) && is_behind()
    }

    /// `raise_epoch`, and in the same transaction how far all logs are persisted.
    pub(super) fn raises_epoch(&self, state: &State) -> Option<State> {
        if !self.must_restart(state) {
            return None;
        }
        let mut next = *state;
        let (target, sql) = (&state.target, &mut next.sql);
        if target.has_meta || self.has(Guard::EpochAfterMissingMeta) {
            let seen = if target.has_meta && self.has(Guard::EpochAboveBoth) { target.epoch } else { 0 };
            sql.epoch = sql.epoch.max(seen) + 1;
        }
        next.restart = Some(Restart {
            epoch: sql.epoch,
            timeline: sql.timeline,
            persisted: sql.persisted,
            fence: sql.fence,
            run: state.process,
        });
        Some(next)
    }

    /// `lua/reset_target.lua`, then `lua/finish_recovery.lua`, which writes `run` in any case.
    pub(super) fn restarts_target(&self, state: &State, is_late: bool) -> Option<State> {
        let mut next = *state;
        let slot = if is_late { &mut next.late_restart } else { &mut next.restart };
        let restart = slot.take()?;
        let before = state.target;
        let is_newer = before.has_meta && before.epoch >= restart.epoch;
        if is_newer && self.has(Guard::RestartOnlyUpwards) {
            if !is_late {
                next.target.verified_on = restart.run;
            }
            return Some(next);
        }
        let mut shown = restart.persisted;
        if before.has_meta {
            for (source, shown) in shown.iter_mut().enumerate() {
                *shown = (*shown).max(before.folded[source]).max(before.shown[source]);
            }
        }
        next.target = Target {
            has_meta: true,
            epoch: restart.epoch,
            change: 0,
            verified_on: restart.run,
            timeline: restart.timeline,
            folded: restart.persisted,
            cleaned: restart.persisted,
            shown,
            fence: restart.fence,
            has_token: before.has_token,
            counter: before.counter,
        };
        if self.has(Guard::EpochIsGap) {
            self.hub_has_gap(&mut next);
        }
        Some(next)
    }
}
