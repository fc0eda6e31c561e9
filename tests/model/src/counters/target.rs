//! The target shard: when its scripts run, and how its counters are reset (`reset_counters` in
//! `src/counting/ownership/reset.rs`, `raise_epoch`, `lua/reset_target.lua`).

use super::{
    Action, Counters, Guard,
    log::is_of_same_generation,
    state::{Counter, Reset, State, Target},
};

impl Counters {
    pub(super) fn target_actions(&self, state: &State, actions: &mut Vec<Action>) {
        match state.reset {
            None => actions.extend([Action::TakesWrites, Action::RaisesEpoch]),
            Some(_) => actions.push(Action::ResetsTarget),
        }
        if state.late_reset.is_some() {
            actions.extend([Action::LateResetArrives, Action::LateResetIsLost]);
        }
    }

    /// Whether the target's scripts run: the target and everything else in its Redis process are recovered.
    pub(super) fn is_ready(&self, state: &State) -> bool {
        state.target.has_meta
            && (state.target.recovered_on == state.redis.sequence || !self.has(Guard::RecoveredTarget))
            && (!self.scope.shares_redis() || state.log.is_recovered() || !self.has(Guard::RecoveredLog))
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
            || self.has(Guard::RecoveredTarget) && !self.is_continued(state)
            || self.has(Guard::EpochAfterTimeline) && target.timeline != sql.timeline
            || self.has(Guard::EpochAfterLogLoss) && target.epoch != sql.epoch
    }

    /// `RedisIdentity::continues`: the target was verified under this replication id, or only its id has changed
    /// since, or this Redis has all that the former one had.
    fn is_continued(&self, state: &State) -> bool {
        let State { target, redis, .. } = state;
        let was_watched = redis.is_watched || !self.has(Guard::SequenceSeenLately);
        let is_promoted = redis.is_promoted && self.has(Guard::EpochAfterPromotion);
        target.recovered_on == redis.sequence
            || (target.run == redis.run && self.has(Guard::SequenceIsCompared) && !is_promoted && was_watched)
            || self.is_handed_over(state)
    }

    /// `lua/finish_recovery.lua` without a reset.
    pub(super) fn takes_writes(&self, state: &State) -> Option<State> {
        if !self.has(Guard::RecoveredTarget) || self.must_reset(state) || state.reset.is_some() {
            return None;
        }
        let mut next = *state;
        next.target.run = state.redis.run;
        next.target.recovered_on = state.redis.sequence;
        is_verified(&mut next);
        (next != *state).then_some(next)
    }

    /// `raise_epoch`, which also reads the persisted offsets of all logs.
    pub(super) fn raises_epoch(&self, state: &State) -> Option<State> {
        self.must_reset(state).then(|| self.raise_epoch(*state))
    }

    fn raise_epoch(&self, state: State) -> State {
        let mut next = state;
        let (target, sql) = (&state.target, &mut next.sql);
        if target.has_meta || self.has(Guard::EpochAfterMissingMeta) {
            let target_epoch =
                if target.has_meta && self.has(Guard::EpochAboveBoth) { target.epoch } else { 0 };
            sql.epoch = sql.epoch.max(target_epoch) + 1;
        }
        next.reset = Some(Reset {
            epoch: sql.epoch,
            timeline: sql.timeline,
            is_applied: false,
            reached: self.reached(&state),
            fence: sql.fence,
            redis: state.redis,
        });
        next
    }

    /// Up to where a reset target counts each log: the log's end, unless it is behind the persisted offset because it
    /// lost entries or has not begun the generation that PostgreSQL has.
    fn reached(&self, state: &State) -> [u8; 2] {
        let persisted = state.sql.persisted;
        let ends = [state.log.end(), self.scope.events[1]];
        let later = |(persisted, end): (u8, u8)| {
            if is_of_same_generation(persisted, end) && self.has(Guard::ResetAtLogEnds) {
                persisted.max(end)
            } else {
                persisted
            }
        };
        [later((persisted[0], ends[0])), later((persisted[1], ends[1]))]
    }

    /// After the reset the ends of the logs are read again: a log that has lost entries meanwhile may end before the
    /// target's offset, and then the target is reset once more.
    fn compares_ends(&self, next: State, reset: &Reset) -> Option<State> {
        let is_behind = self.reached(&next)[0] < reset.reached[0];
        Some(if is_behind && self.has(Guard::ResetComparesEnds) { self.raise_epoch(next) } else { next })
    }

    /// `lua/reset_target.lua`, then `lua/finish_recovery.lua`, which writes `redis_run_id` in any case.
    pub(super) fn resets_target(&self, state: &State, is_late: bool) -> Option<State> {
        let mut next = *state;
        let slot = if is_late { &mut next.late_reset } else { &mut next.reset };
        let reset = slot.take()?;
        if reset.is_applied {
            return self.compares_ends(next, &reset);
        }
        if !is_late {
            *slot = Some(Reset { is_applied: true, ..reset });
        }
        let before = state.target;
        let is_newer = before.has_meta && before.epoch >= reset.epoch;
        if is_newer && self.has(Guard::ResetOnlyUpwards) {
            if !is_late {
                (next.target.run, next.target.recovered_on) = (reset.redis.run, reset.redis.sequence);
                is_verified(&mut next);
            }
            return Some(next);
        }
        next.target = Target {
            has_meta: true,
            epoch: reset.epoch,
            change: 0,
            run: reset.redis.run,
            recovered_on: reset.redis.sequence,
            timeline: reset.timeline,
            folded: reset.reached,
            fence: reset.fence,
            counter: before.counter,
        };
        is_verified(&mut next);
        if self.has(Guard::EpochIsGap) {
            self.hub_has_gap(&mut next);
        }
        Some(next)
    }
}

/// Plaudit's process has seen the target verified in the present Redis.
const fn is_verified(state: &mut State) {
    state.redis.is_watched = true;
    if let Some(handover) = &mut state.handover {
        handover.is_new = false;
    }
}
