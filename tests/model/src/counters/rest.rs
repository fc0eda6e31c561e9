//! Properties: what must hold in every state, and at rest.

use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::{Model, Property};

use super::{
    Counters,
    state::{Held, Invalidation, Phase, Reshard, State},
    totals::has_no_event_twice,
};

/// One in this many states is tested for reaching rest.
const TESTED_ONE_IN: u64 = 128;
const TRIES: u32 = 4;
const MOST_STEPS: u32 = 2_000;

impl Counters {
    pub(super) fn all_properties() -> Vec<Property<Self>> {
        vec![
            Property::always("a total includes each event at most once", |model: &Self, state: &State| {
                model.readable_total(state).is_none_or(has_no_event_twice)
            }),
            // Who liked before the loss likes again after it. Totals of before a failover of PostgreSQL may have rows
            // that it lost.
            Property::always(
                "a total has no lost event beside one that was appended after the loss",
                |model: &Self, state: &State| {
                    let is_right = |total| !model.has_lost_and_extra(state, total);
                    state.target.timeline != state.sql.timeline
                        || model.readable_total(state).is_none_or(is_right)
                },
            ),
            Property::always("versions only rise", |_, state: &State| !state.hub.wrong.version_fell),
            Property::always("a version has one value", |model: &Self, state: &State| {
                let differs = |total| total != state.hub.sent_total;
                let same_version = model.scope.with_hub && model.version(state) == Some(state.hub.sent);
                let has_other_value = same_version && model.readable_total(state).is_some_and(differs);
                !state.hub.wrong.two_values && !has_other_value
            }),
            Property::always("events that were sent stay included", |_, state: &State| {
                !state.hub.wrong.taken_back
            }),
            Property::always(
                "at rest each event that was not lost has a row",
                |model: &Self, state: &State| !model.is_at_rest(state) || model.has_all_rows(state),
            ),
            Property::always("at rest Redis has the total of the rows", |model: &Self, state: &State| {
                let is_right = |total| total == model.total(&state.sql);
                !model.is_at_rest(state) || model.readable_total(state).is_none_or(is_right)
            }),
            Property::always(
                "at rest the client has the total of the rows",
                |model: &Self, state: &State| {
                    let is_right = || state.hub.sent_total == model.total(&state.sql);
                    !model.scope.with_hub || !model.is_at_rest(state) || is_right()
                },
            ),
            Property::always("no epoch is raised without a loss", |_, state: &State| {
                !state.happened.are_harmless() || state.sql.epoch == 0
            }),
            Property::always("rest can be reached from every state", |model: &Self, state: &State| {
                !is_tested(state) || model.reaches_rest(state)
            }),
        ]
    }

    /// Whether Plaudit has nothing left to do. Counts are loaded on demand: with a hub, the client must have counts,
    /// otherwise Redis.
    fn is_at_rest(&self, state: &State) -> bool {
        let State { target, log, sql, owner, hub, .. } = state;
        let is_done = |source: usize| target.folded[source] == sql.persisted[source];
        (self.scope.with_hub || self.readable_total(state).is_some())
            && is_done(0)
            && is_done(1)
            && sql.persisted[0] == log.end()
            && sql.persisted[1] == self.scope.events[1]
            && sql.invalidations == 0
            && state.invalidation == Invalidation::Idle
            && !self.must_reset(state)
            && self.is_ready(state)
            && state.reset.is_none()
            && matches!(state.reshard, Reshard::NotBegun | Reshard::Done)
            && state.late_reset.is_none()
            && owner.phase == Phase::Works
            && owner.sequence == log.sequence
            && !self.leadership_must_end(state)
            && !owner.has_unsent_batch()
            && !state.late_owner.has_unsent_batch()
            && (!self.scope.with_hub || hub.held == Held::Known && !hub.has_gap && hub.reading.is_none())
    }

    fn has_all_rows(&self, state: &State) -> bool {
        let first = (1 << self.scope.events[0]) - 1;
        let surviving = (first | state.log.appended) & !state.log.lost;
        let second = (1 << self.scope.events[1]) - 1;
        surviving & !state.sql.rows[0] == 0 && state.sql.rows[1] == second
    }

    /// Whether random sequences of Plaudit's own steps lead from the state to rest: Plaudit neither gets stuck nor
    /// loops forever.
    fn reaches_rest(&self, state: &State) -> bool {
        let mut random = hash(state) | 1;
        (0..TRIES).any(|_| self.walk(*state, &mut random))
    }

    fn walk(&self, mut state: State, random: &mut u64) -> bool {
        let mut actions = Vec::new();
        for _ in 0..MOST_STEPS {
            if self.is_at_rest(&state) {
                return true;
            }
            actions.clear();
            self.actions(&state, &mut actions);
            actions.retain(|action| action.is_protocol());
            let mut nexts: Vec<State> =
                actions.iter().filter_map(|action| self.next_state(&state, *action)).collect();
            if nexts.is_empty() {
                return false;
            }
            *random ^= *random << 13;
            *random ^= *random >> 7;
            *random ^= *random << 17;
            state = nexts.swap_remove((*random >> 20) as usize % nexts.len());
        }
        false
    }
}

fn is_tested(state: &State) -> bool {
    hash(state).is_multiple_of(TESTED_ONE_IN)
}

fn hash(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}
