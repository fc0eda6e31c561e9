//! Whether a user is hidden.

use crate::definition::{types::ObjectType, values::Object};
use plaudit_domain::Visibility;

pub fn user_visibility() -> ObjectType {
    ObjectType::new(
        "UserVisibility",
        "Whether a user is hidden, and how far the recount is. Likes, collects, follows, memberships, ratings, comments \
         and notes of a hidden user do not count, and others do not see them.",
    )
    .parts([
        ("isHidden: Boolean!", "Whether the user is hidden."),
        ("settledCount: Count!", "Rows recounted since the user was last hidden or restored: edges, ratings, comments and notes."),
        ("totalCount: Count!", "Rows to recount, as counted when the user was hidden or restored."),
        ("isSettled: Boolean!", "Whether everything has been recounted."),
    ])
}

pub fn visibility(of: &Visibility) -> Object {
    Object::record([
        ("isHidden", of.is_hidden.into()),
        ("settledCount", of.done.max(0).into()),
        ("totalCount", of.total.max(0).into()),
        ("isSettled", of.is_finished.into()),
    ])
}
