//! Follows.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission};
use crate::{
    definition::{
        resolve::Call,
        values::{Object, Output},
    },
    errors::ApiResult,
    request::access::Who,
};
use plaudit_domain::edges::follows;

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "follow",
        permission: Permission::Write(Who::SignedIn),
        description: "Follows a user. Following again changes nothing; nobody follows themselves.",
        input: &[("userId: ID!", "The user to follow.")],
        unchanged: Some("False when you followed the user already."),
        payload: &[
            ("user: User!", "The user whom you follow, with the new counts."),
            ("viewer: Viewer!", "You. Your user has its new counts."),
        ],
        act: |call| set_follow(call, true).boxed(),
    },
    Mutation {
        name: "unfollow",
        permission: Permission::Write(Who::SignedIn),
        description: "Unfollows a user.",
        input: &[("userId: ID!", "The user to unfollow.")],
        unchanged: Some("False when you did not follow the user."),
        payload: &[
            ("user: User!", "The user whom you no longer follow, with the new counts."),
            ("viewer: Viewer!", "You. Your user has its new counts."),
        ],
        act: |call| set_follow(call, false).boxed(),
    },
];

async fn set_follow(call: Call<'_>, on: bool) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let user = action.input.id("userId")?;
    let (user, switched) = follows::set_follow(action.plaudit(), user, action.switching(on).await?).await?;
    Ok(action.switched(switched, [("user", user.id.into()), ("viewer", Object::Root.into())]))
}
