//! The fields of `Mutation`, by domain word, with their inputs and payloads.

mod action;
mod coins;
mod collects;
mod comments;
mod erasure;
mod follows;
mod group_moderation;
mod groups;
mod inbox;
mod likes;
mod moderation;
mod notes;
mod profiles;
mod ratings;
mod reports;
mod suspension;
mod upserts;
mod views;
mod visibility;

use super::definition::types::{InputDefinition, ObjectType};
use action::Mutation;
pub use moderation::review_decision;
pub use upserts::{element_outcome, result_types};

/// All mutations.
fn all() -> impl Iterator<Item = &'static Mutation> {
    [
        profiles::MUTATIONS,
        notes::MUTATIONS,
        comments::MUTATIONS,
        ratings::MUTATIONS,
        likes::MUTATIONS,
        collects::MUTATIONS,
        follows::MUTATIONS,
        groups::MUTATIONS,
        group_moderation::MUTATIONS,
        views::MUTATIONS,
        coins::MUTATIONS,
        inbox::MUTATIONS,
        moderation::MUTATIONS,
        visibility::MUTATIONS,
        suspension::MUTATIONS,
        reports::MUTATIONS,
        erasure::MUTATIONS,
        upserts::MUTATIONS,
    ]
    .into_iter()
    .flatten()
}

pub fn names() -> Vec<&'static str> {
    all().map(|mutation| mutation.name).collect()
}

pub fn mutation() -> ObjectType {
    all().fold(
        ObjectType::new(
            "Mutation",
            "What can be done. Each mutation of a request begins when the one before it has ended.",
        ),
        |object, mutation| mutation.add_to(object),
    )
}

pub fn payload_types() -> impl Iterator<Item = ObjectType> {
    all().map(Mutation::payload_type)
}

pub fn input_types() -> impl Iterator<Item = InputDefinition> {
    all().map(Mutation::input_type).chain(upserts::input_types())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::EdgeKind;
    use plaudit_domain::switching;

    #[test]
    fn each_switch_of_an_edge_is_a_mutation() {
        for kind in EdgeKind::ALL {
            for on in [true, false] {
                assert!(all().any(|mutation| mutation.name == switching(*kind, on)), "{kind:?}");
            }
        }
    }
}
