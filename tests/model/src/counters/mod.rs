//! Model of the counters: log, fold, persister, load, invalidation, recovery, ownership, hub.
//!
//! Two logs move one counter on one target shard. Log 0 may lose entries and its owner may be replaced; log 1
//! and its owner never fail. The target has a third owner, so that no order of steps is excluded.
//! [`Fault::RedisFailover`], [`Fault::FormerReturns`], [`Fault::Failback`], planned failovers, moves of slots
//! and the changes of a replication id apply to an installation whose target and log 0 are in a single Redis.
//! The other faults treat target and log 0 as if they were in different processes.
//!
//! A step is one script, one transaction or one read. Reading and then writing takes two steps.

mod actions;
mod faults;
mod guards;
mod handover;
mod hub;
mod invalidation;
mod load;
mod log;
mod recovery;
mod reshard;
mod rest;
mod scope;
mod source;
mod state;
mod target;
mod totals;
mod world;

use stateright::{Model, Property};

pub use actions::{Action, Message, Who};
pub use faults::{Fault, Faults};
pub use guards::Guard;
pub use scope::Scope;
pub use state::State;

use log::Log;
use state::{Hub, Invalidation, Load, Owner, Redis, Reshard, Sql, Target};

const MOST_EPOCHS: u8 = 4;
const MOST_FENCES: u8 = 4;

/// The model in one scope.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    pub scope: Scope,
}

impl Counters {
    const fn has(&self, guard: Guard) -> bool {
        self.scope.has(guard)
    }
}

impl Model for Counters {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            target: Target { has_meta: true, ..Target::default() },
            redis: Redis { is_watched: true, ..Redis::default() },
            replica: None,
            former_redis: None,
            handover: None,
            moved_from: None,
            log: Log::new(self.scope.events[0]),
            sql: Sql::default(),
            standby: None,
            former: None,
            owner: Owner::default(),
            late_owner: Owner::default(),
            reset: None,
            late_reset: None,
            invalidation: Invalidation::Idle,
            load: Load::Idle,
            hub: Hub::default(),
            reshard: Reshard::NotBegun,
            reshard_fence: 0,
            happened: Faults::default(),
            direct_change_is_done: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.source_actions(state, actions);
        self.recovery_actions(state, actions);
        self.reshard_actions(state, actions);
        self.target_actions(state, actions);
        self.invalidation_actions(state, actions);
        self.load_actions(state, actions);
        self.hub_actions(state, actions);
        self.world_actions(state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        match action {
            Action::LikeAfterLoss => self.like_after_loss(state),
            Action::DirectChangeCommits => self.direct_change_commits(state),
            Action::ReplicaLagsFromHere => self.replica_lags(state),
            Action::StandbyLagsFromHere => self.standby_lags(state),

            Action::FoldReads { most } => self.fold_reads(state, most),
            Action::FoldIsSent(who, message) => self.fold_is_sent(state, who, message),
            Action::PersisterReads { most } => self.persister_reads(state, most),
            Action::PersisterCommits(who) => self.persister_commits(state, who),
            Action::LateOwnerEnds => self.late_owner_ends(state),

            Action::Folds { source, message } => self.folds(state, source.into(), message),
            Action::Persists { source } => self.persists(state, source.into()),

            Action::BeginsLeadership => self.begins_leadership(state, false),
            Action::ShowsFence => self.shows_fence(state),
            Action::ComparesLog => self.compares_log(state),
            Action::PersistsSurvivors => self.persists_survivors(state),
            Action::RaisesGeneration => self.raises_generation(state),
            Action::AppendsGenesis => self.appends_genesis(state),

            Action::ReshardTakes => self.reshard_takes(state),
            Action::ReshardCloses => self.reshard_closes(state),
            Action::ReshardPersists => self.reshard_persists(state),
            Action::ReshardReadsEnds => {
                Some(State { reshard: Reshard::Compares { end: state.log.end() }, ..*state })
            }
            Action::ReshardBegins => self.reshard_begins(state),

            Action::TakesWrites => self.takes_writes(state),
            Action::RaisesEpoch => self.raises_epoch(state),
            Action::ResetsTarget => self.resets_target(state, false),
            Action::LateResetArrives => self.resets_target(state, true),
            Action::LateResetIsLost => Some(State { late_reset: None, ..*state }),
            Action::ReadsInvalidations => self.reads_invalidations(state),
            Action::InvalidatesCounts(message) => self.invalidates_counts(state, message),
            Action::DeletesInvalidations => self.deletes_invalidations(state),

            Action::LoadBegins => self.load_begins(state),
            Action::LoadReadsTotals => self.load_reads_totals(state, &state.sql),
            Action::LoadReadsFormerPrimary => self.load_reads_totals(state, state.former.as_ref()?),
            Action::LoadReadsLogs => self.load_reads_logs(state),
            Action::LoadInstalls(message) => self.load_installs(state, message),

            Action::HubSeesGap => self.hub_sees_gap(state),
            Action::HubReads => self.hub_reads(state),
            Action::HubGetsReply => self.hub_gets_reply(state),

            Action::CounterExpires => self.counter_expires(state),
            Action::CallsAreDelayed => self.calls_are_delayed(state),
            Action::OwnerIsReplaced => self.owner_is_replaced(state),
            Action::TargetOwnerIsReplaced => self.target_owner_is_replaced(state),
            Action::TargetFailsOver => self.target_fails_over(state),
            Action::ReplicaTakesOver => self.replica_takes_over(state),
            Action::SlotMoves => self.slot_moves(state),
            Action::SlotMovesPartly { log_left, is_given } => {
                self.slot_moves_partly(state, log_left, is_given)
            }
            Action::SlotReturns => self.slot_returns(state),
            Action::SlotIsAssigned { log_left } => self.slot_is_assigned(state, log_left),
            Action::FormerRedisReturns => self.former_redis_returns(state),
            Action::ReplicaIsAttached => self.replica_is_attached(state),
            Action::BacklogIsFreed => self.backlog_is_freed(state),
            Action::EverythingIsFlushed => self.everything_is_flushed(state),
            Action::LogIsLostAfter { left } => self.log_is_lost_after(state, left),
            Action::RedisFailsOver { log_left } => self.redis_fails_over(state, log_left),
            Action::PostgresFailsOver => self.postgres_fails_over(state),
            Action::PostgresIsRestored => self.postgres_is_restored(state),
        }
    }

    /// A target may be reset repeatedly until another owner detects it. Further resets cause no new behaviour, so their
    /// number is limited.
    fn within_boundary(&self, state: &State) -> bool {
        state.sql.epoch <= MOST_EPOCHS && state.sql.fence <= MOST_FENCES
    }

    fn properties(&self) -> Vec<Property<Self>> {
        Self::all_properties()
    }
}
