//! Follows: users who follow users.

use std::sync::Arc;

use super::switch::EdgeAction;
use crate::{DomainError, DomainResult, Plaudit, Switched, Switching, User, edges::switch};
use plaudit_catalogue::{EdgeKind, primitives::UserId};

/// Follows a user or stops following. Returns the followed user and what has changed.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown user; [`DomainError::BadInput`] for the actor, and with
/// [`crate::Reason::FollowLimit`] beyond the limit.
pub async fn set_follow(
    plaudit: &Plaudit,
    user: UserId,
    switching: Switching<'_>,
) -> DomainResult<(Arc<User>, Switched)> {
    if switching.actor.is_some_and(|actor| actor.user == user) {
        return Err(DomainError::bad_input(
            "userId",
            "users cannot follow themselves; pass another user's id",
        ));
    }
    let user = plaudit.users().get(user).await?;
    let action = EdgeAction {
        kind: EdgeKind::Follow,
        target: user.id.0,
        owner: user.id,
        limit: plaudit.inner.settings.follow_limit,
        switching,
    };
    let switched = switch::switch(plaudit, action).await?;
    Ok((user, switched))
}
