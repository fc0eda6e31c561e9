//! Suspending users and lifting suspensions.

use chrono::Utc;
use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::ApiResult,
    request::access::Who,
};
use plaudit_domain::{SUSPENSION_REASON, SuspensionEnd, people::suspension};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "suspendUser",
        permission: Permission::Write(Who::ModeratorOrService),
        description: "Suspends a user: until then every action of theirs is refused with the code `SUSPENDED`, also of what they did before and want to change or delete. They can still read, subscribe, mark their inbox as read, export their data and erase themselves. What they did before stays and counts; to take it out, hide the user. Calling it again changes the end and the reason. For moderators and services. Roles are in tokens alone, so it does not refuse the user of a moderator, who cannot moderate then. A token with the role service is never suspended.",
        input: &[
            ("userId: ID!", "The user to suspend: not yourself."),
            ("until: DateTime!", "When it ends: in the future, at most 366 days away."),
            ("reason: String", "Why, for the user: 1 to 200 characters on one line."),
        ],
        unchanged: Some("False when the user was suspended until then for this reason already."),
        payload: &[("user: User!", "The user, with `suspension`.")],
        act: |call| suspend(call).boxed(),
    },
    Mutation {
        name: "unsuspendUser",
        permission: Permission::Write(Who::ModeratorOrService),
        description: "Lifts a suspension: the user can act again. For moderators and services.",
        input: &[("userId: ID!", "The suspended user.")],
        unchanged: Some("False when the user was not suspended."),
        payload: &[("user: User!", "The user.")],
        act: |call| unsuspend(call).boxed(),
    },
];

async fn suspend(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let user = action.input.id("userId")?;
    let until = SuspensionEnd::parse(action.input.time("until").unwrap_or_default(), Utc::now())?;
    let reason = action.optional_text(&SUSPENSION_REASON)?;
    let moderator = action.actor().await?;
    let (user, changed) =
        suspension::suspend_user(action.plaudit(), moderator, user, until, reason, action.key()).await?;
    Ok(payload(changed, [("user", user.into())]))
}

async fn unsuspend(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let user = action.input.id("userId")?;
    let moderator = action.actor().await?;
    let (user, changed) = suspension::unsuspend_user(action.plaudit(), moderator, user, action.key()).await?;
    Ok(payload(changed, [("user", user.into())]))
}
