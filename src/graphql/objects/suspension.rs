//! The suspension of a user.

use crate::definition::{
    types::ObjectType,
    values::{Object, Output},
};
use plaudit_domain::{Suspension, User};

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

pub fn suspension(user: &User) -> Output {
    let object = |Suspension { until, reason }| {
        Object::record([("endsAt", until.into()), ("reason", reason.map(Output::from).into())])
    };
    Output::optional(Suspension::of_user(user).map(object))
}
