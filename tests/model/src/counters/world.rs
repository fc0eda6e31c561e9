//! The environment: faults, each at most once, and likes after a loss.

use std::ops::RangeInclusive;

use super::{
    Action, Counters, Fault, Guard,
    log::{GENESIS, LATER, Log},
    state::{FormerRedis, Handover, Invalidation, Owner, Phase, State, Target},
};

impl Counters {
    pub(super) fn world_actions(&self, state: &State, actions: &mut Vec<Action>) {
        let may = |fault| self.scope.faults.has(fault) && !state.happened.has(fault);
        let harmless = [Fault::Reshard, Fault::PlannedFailover, Fault::SlotMoved];
        let may_like = state.log.lost != 0
            || state.log.extra == LATER
            || harmless.iter().any(|fault| self.scope.faults.has(*fault));
        if may_like && state.log.extra_at == 0 {
            actions.push(Action::LikeAfterLoss);
        }
        if may(Fault::Expiry) {
            actions.push(Action::CounterExpires);
        }
        if may(Fault::CallDelayed) {
            actions.push(Action::CallsAreDelayed);
        }
        if may(Fault::OwnerKilled) {
            actions.push(Action::OwnerIsReplaced);
        }
        if may(Fault::TargetOwnerKilled) {
            actions.push(Action::TargetOwnerIsReplaced);
        }
        if may(Fault::FlushAll) {
            actions.push(Action::EverythingIsFlushed);
        }
        let may_lose_log = !state.log.has_genesis && state.log.extra_at == 0;
        if may(Fault::ReplicaAttached) {
            actions.push(Action::ReplicaIsAttached);
        }
        if may(Fault::BacklogFreed) {
            actions.push(Action::BacklogIsFreed);
        }
        if may(Fault::TargetFailover) || may(Fault::RedisFailover) || may(Fault::Failback) {
            match state.replica {
                None => actions.push(Action::ReplicaLagsFromHere),
                Some(_) if may(Fault::TargetFailover) => actions.push(Action::TargetFailsOver),
                Some(replica) => {
                    let left = self.may_be_left(state, &replica);
                    actions.extend(left.map(|log_left| Action::RedisFailsOver { log_left }));
                }
            }
        }
        self.handover_actions(state, actions);
        // When the log's next generation has begun, or begins, the end of the former Redis' log tells. What
        // that Redis takes until then is lost, which is not modelled.
        let is_next_generation = state.sql.persisted[0] == GENESIS
            || matches!(state.owner.phase, Phase::Rescues | Phase::Raises | Phase::Begins);
        if state.former_redis.is_some() && !is_next_generation {
            actions.push(Action::FormerRedisReturns);
        }
        if may(Fault::SourceFailover) && may_lose_log {
            actions.extend((0..state.log.first).map(|left| Action::LogIsLostAfter { left }));
        } else if may(Fault::LogLost) && may_lose_log {
            actions.push(Action::LogIsLostAfter { left: 0 });
        }
        if may(Fault::PostgresFailover) || may(Fault::PostgresRestored) {
            actions.push(match state.standby {
                None => Action::StandbyLagsFromHere,
                Some(_) if may(Fault::PostgresFailover) => Action::PostgresFailsOver,
                Some(_) => Action::PostgresIsRestored,
            });
        }
    }

    /// How many entries a log may have on a copy of a single Redis, which lags as a whole: it has each event before its
    /// fold. A log without entries is one that never began, which no former Redis has.
    pub(super) fn may_be_left(&self, state: &State, copy: &Target) -> RangeInclusive<u8> {
        let may_lose_log = !state.log.has_genesis && state.log.extra_at == 0;
        let least = copy.folded[0].max(u8::from(self.compares_entries()));
        if may_lose_log { least..=state.log.first } else { RangeInclusive::new(1, 0) }
    }

    /// `lua/flip_edge.lua` appends only where the log is recovered. In another process scripts are loaded when
    /// all shards of the Redis are.
    pub(super) fn like_after_loss(&self, state: &State) -> Option<State> {
        let needs_scripts = self.scope.faults.has(Fault::RedisFailover);
        let is_closed = !state.log.is_open() || needs_scripts && !self.is_ready(state);
        if is_closed && self.has(Guard::RecoveredLog) {
            return None;
        }
        let mut next = *state;
        next.log.append_extra();
        Some(next)
    }

    pub(super) fn counter_expires(&self, state: &State) -> Option<State> {
        self.live(&state.target)?;
        let mut next = *state;
        next.target.counter = None;
        next.happened.add(Fault::Expiry);
        Some(next)
    }

    /// Another process takes the lease. The fence refuses further recovery steps of the old owner; its batches may
    /// still arrive.
    pub(super) fn owner_is_replaced(&self, state: &State) -> Option<State> {
        if state.sql.is_resharding {
            return None;
        }
        let mut next = *state;
        next.happened.add(Fault::OwnerKilled);
        next.sql.fence += 1;
        if state.owner.has_unsent_batch() {
            next.late_owner = only_unsent_batches(&state.owner);
        }
        next.owner = Owner {
            fence: next.sql.fence,
            sequence: state.log.sequence,
            phase: Phase::Leased,
            ..Owner::default()
        };
        Some(next)
    }

    /// `src/counting/leadership/retry.rs repeat`: after a timeout each task starts again by reading its position.
    pub(super) fn calls_are_delayed(&self, state: &State) -> Option<State> {
        if !state.owner.has_unsent_batch() || state.late_owner.has_unsent_batch() {
            return None;
        }
        let mut next = *state;
        next.happened.add(Fault::CallDelayed);
        next.late_owner = only_unsent_batches(&state.owner);
        next.owner.drop_batches();
        (next.owner.persisted, next.owner.last) = (state.sql.persisted[0], state.sql.last);
        Some(next)
    }

    pub(super) fn late_owner_ends(&self, state: &State) -> Option<State> {
        Some(State { late_owner: Owner::default(), ..*state })
    }

    pub(super) fn target_owner_is_replaced(&self, state: &State) -> Option<State> {
        if state.reset.is_none() && state.invalidation == Invalidation::Idle {
            return None;
        }
        let mut next = *state;
        next.happened.add(Fault::TargetOwnerKilled);
        next.late_reset = next.reset.take();
        next.redis.is_watched = false;
        next.invalidation = Invalidation::Idle;
        Some(next)
    }

    pub(super) fn target_fails_over(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.target = next.replica.take()?;
        other_process(&mut next);
        next.happened.add(Fault::TargetFailover);
        self.hub_has_gap(&mut next);
        Some(next)
    }

    pub(super) fn redis_fails_over(&self, state: &State, log_left: u8) -> Option<State> {
        let mut next = *state;
        next.target = next.replica.take()?;
        if self.scope.faults.has(Fault::FormerReturns) {
            let State { target, redis, log, .. } = *state;
            next.former_redis = Some(FormerRedis { target, redis, log });
        }
        next.log.lose_after(log_left);
        if self.scope.faults.has(Fault::RedisFailover) {
            next.happened.add(Fault::RedisFailover);
            // The former master follows, if it has more; a master that has died says nothing.
            let has_more = next.log.first < state.log.first || next.target != state.target;
            next.handover = has_more.then_some(Handover { is_taken: false, ..Handover::of(&state.redis) });
            other_process(&mut next);
            next.log.sequence += 1;
        } else {
            next.happened.add(Fault::Failback);
            next.redis.is_promoted = true;
            // It has copied the other one's data, and forgotten what it had taken before.
            next.handover = None;
            self.other_sequence(&mut next);
        }
        self.hub_has_gap(&mut next);
        Some(next)
    }

    /// Its scripts are loaded and its replication id is that under which it was verified, so it takes actions.
    pub(super) fn former_redis_returns(&self, state: &State) -> Option<State> {
        let mut next = *state;
        let FormerRedis { target, redis, log } = next.former_redis.take()?;
        next.happened.add(Fault::FormerReturns);
        next.target = target;
        next.redis = redis;
        next.log.returns(log);
        Some(next)
    }

    /// Without the guard, nothing distinguishes the new sequence of writes from the one before.
    fn other_sequence(&self, state: &mut State) {
        if self.has(Guard::SequenceIsCompared) {
            state.redis.sequence += 1;
            state.log.sequence += 1;
        }
    }

    pub(super) fn replica_is_attached(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.happened.add(Fault::ReplicaAttached);
        self.other_sequence(&mut next);
        Some(next)
    }

    pub(super) fn backlog_is_freed(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.happened.add(Fault::BacklogFreed);
        next.redis.is_promoted = false;
        next.redis.is_watched = false;
        self.other_sequence(&mut next);
        Some(next)
    }

    /// The state of log 0's shard is deleted as well, so the log must be recovered as on another process.
    pub(super) fn everything_is_flushed(&self, state: &State) -> Option<State> {
        if state.log.has_genesis || state.log.extra_at != 0 {
            return None;
        }
        let mut next = *state;
        next.target = Target::default();
        next.happened.add(Fault::FlushAll);
        lose_log(&mut next.log, 0);
        Some(next)
    }

    pub(super) fn log_is_lost_after(&self, state: &State, left: u8) -> Option<State> {
        let mut next = *state;
        let is_failover = self.scope.faults.has(Fault::SourceFailover);
        next.happened.add(if is_failover { Fault::SourceFailover } else { Fault::LogLost });
        lose_log(&mut next.log, left);
        Some(next)
    }

    pub(super) fn replica_lags(&self, state: &State) -> Option<State> {
        Some(State { replica: Some(state.target), ..*state })
    }

    pub(super) fn standby_lags(&self, state: &State) -> Option<State> {
        Some(State { standby: Some(state.sql), ..*state })
    }

    /// The former primary may still answer reads. Its totals differ from those that the log restores only by direct
    /// changes, so without them it is omitted.
    pub(super) fn postgres_fails_over(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.sql = next.standby.take()?;
        next.sql.timeline = state.sql.timeline + 1;
        next.former = self.scope.with_direct_change.then_some(state.sql);
        next.happened.add(Fault::PostgresFailover);
        Some(next)
    }

    pub(super) fn postgres_is_restored(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.sql = next.standby.take()?;
        next.happened.add(Fault::PostgresRestored);
        Some(next)
    }
}

fn only_unsent_batches(owner: &Owner) -> Owner {
    let Owner { fence, timeline, epoch, fold, persist, .. } = *owner;
    Owner { fence, timeline, epoch, fold, persist, ..Owner::default() }
}

/// A replica was promoted.
const fn other_process(state: &mut State) {
    state.redis.run += 1;
    state.redis.sequence += 1;
    state.redis.is_promoted = true;
}

fn lose_log(log: &mut Log, left: u8) {
    log.lose_after(left);
    log.sequence += 1;
}
