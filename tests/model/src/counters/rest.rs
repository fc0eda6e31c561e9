//! Properties: what must hold in every state, and at rest.

use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::{Model, Property};

use super::{
    Counters,
    log::EXTRA,
    state::{Invalidation, Phase, Slot, State},
    totals::counts_each_once,
};

/// One state in this many is checked for whether it comes to rest.
const TRIED: u64 = 512;
const TRIES: u32 = 4;
const MOST_STEPS: u32 = 2_000;

impl Counters {
    pub(super) fn all_properties() -> Vec<Property<Self>> {
        vec![
            // A target that has not yet noticed that it must be reset, because a log or PostgreSQL lost
            // something, may count an event twice until it does (two seconds, `pipeline/ownership/watch.rs`).
            Property::always("a total holds each event at most once", |model: &Self, state: &State| {
                let State { target, sql, .. } = state;
                let is_given_up = (target.epoch, target.timeline) != (sql.epoch, sql.timeline);
                is_given_up || model.readable_total(state).is_none_or(counts_each_once)
            }),
            Property::always("versions only rise", |_, state: &State| !state.hub.wrong.version_fell),
            Property::always("one version stands for one value", |model: &Self, state: &State| {
                let contradicts = |total| total != state.hub.sent_total;
                let same_version = model.scope.with_hub && model.version(state) == Some(state.hub.sent);
                let says_otherwise = same_version && model.readable_total(state).is_some_and(contradicts);
                !state.hub.wrong.two_values && !says_otherwise
            }),
            Property::always("what was shown stays shown", |_, state: &State| !state.hub.wrong.taken_back),
            Property::always(
                "at rest each event that was not lost is a row",
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
            Property::always("rest can be reached again", |model: &Self, state: &State| {
                !is_tried(state) || model.comes_to_rest(state)
            }),
        ]
    }

    /// Whether Plaudit has nothing left to do. The properties judge what the client has. Counts are loaded on
    /// demand: a client that has counts does not ask.
    fn is_at_rest(&self, state: &State) -> bool {
        let State { target, log, sql, owner, hub, .. } = state;
        let is_done = |source: usize| {
            target.folded[source] == sql.persisted[source] && target.retired[source] == sql.persisted[source]
        };
        (self.scope.with_hub || self.readable_total(state).is_some())
            && is_done(0)
            && is_done(1)
            && sql.persisted[0] == log.end()
            && sql.persisted[1] == self.scope.events[1]
            && sql.lines == 0
            && state.invalidation == Invalidation::Idle
            && !self.must_reset(state)
            && state.reset.is_none()
            && state.late_reset.is_none()
            && owner.phase == Phase::Works
            && owner.run == log.process
            && !self.has_lost_its_ground(state)
            && !owner.has_in_hand()
            && !state.late_owner.has_in_hand()
            && (!self.scope.with_hub || hub.slot == Slot::Known && !hub.has_gap && hub.reading.is_none())
    }

    fn has_all_rows(&self, state: &State) -> bool {
        let first = (1 << self.scope.events[0]) - 1;
        let extra = if state.log.extra_at == 0 { 0 } else { EXTRA };
        let kept = (first | extra) & !state.log.lost;
        let second = (1 << self.scope.events[1]) - 1;
        kept & !state.sql.rows[0] == 0 && state.sql.rows[1] == second
    }

    /// Whether Plaudit's own steps, taken in any order, bring every state to rest: Plaudit neither stops
    /// half-way nor loops for ever.
    fn comes_to_rest(&self, state: &State) -> bool {
        let mut chance = hash(state) | 1;
        (0..TRIES).any(|_| self.walk(*state, &mut chance))
    }

    fn walk(&self, mut state: State, chance: &mut u64) -> bool {
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
            *chance ^= *chance << 13;
            *chance ^= *chance >> 7;
            *chance ^= *chance << 17;
            state = nexts.swap_remove((*chance >> 20) as usize % nexts.len());
        }
        false
    }
}

fn is_tried(state: &State) -> bool {
    hash(state).is_multiple_of(TRIED)
}

fn hash(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}
