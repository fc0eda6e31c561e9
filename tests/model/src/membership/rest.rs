//! Properties: what must hold in every state, and at rest.

use stateright::Property;

use super::{
    Membership,
    actions::Answer,
    state::{State, TARGETS},
};

impl Membership {
    pub(super) fn all_properties() -> Vec<Property<Self>> {
        vec![
            Property::always("Redis agrees with acknowledged flips", |model: &Self, state: &State| {
                let is_right = |target: u8| {
                    let is_on = state.truth >> target & 1 == 1;
                    match model.answer(state, target) {
                        Answer::On => is_on,
                        Answer::Off => !is_on,
                        Answer::NoSet | Answer::BelowFloor => true,
                    }
                };
                !model.is_ready(state) || (0..TARGETS).all(is_right)
            }),
            Property::always(
                "the list of the newest edges agrees with acknowledged flips",
                |model: &Self, state| {
                    !model.is_ready(state) || model.listed(state).is_none_or(|listed| listed == state.truth)
                },
            ),
            Property::always("an action is decided by acknowledged flips", |_, state: &State| {
                !state.wrong.decision
            }),
            Property::always("a key acts once", |_, state: &State| !state.wrong.key),
            Property::always("at rest the rows agree with acknowledged flips", |_, state: &State| {
                let State { shard, rows, batch, .. } = state;
                let is_recovered = shard.has_meta && shard.is_recovered && !state.has_new_timeline;
                let is_persisted = rows.persisted == (shard.generation, shard.log.length);
                let is_at_rest = is_recovered && is_persisted && batch.is_none();
                !is_at_rest || rows.on == state.truth
            }),
        ]
    }
}
