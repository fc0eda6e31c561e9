//! The suspension of a user.

use crate::{
    domain::Suspension,
    graphql::definition::{
        types::ObjectType,
        values::{Object, Output},
    },
};

pub fn suspension_type() -> ObjectType {
    ObjectType::new(
        "Suspension",
        "Until it ends, every action of the user is refused with the code `SUSPENDED`.",
    )
    .parts([
        ("endsAt: DateTime!", "When it ends by itself."),
        ("reason: String", "Why, as the moderator told the user. Null if the moderator gave no reason."),
    ])
}

pub fn suspension(of: Option<Suspension>) -> Output {
    let object = |Suspension { until, reason }| {
        Object::record([("endsAt", until.into()), ("reason", reason.map(Output::from).into())])
    };
    Output::optional(of.map(object))
}
