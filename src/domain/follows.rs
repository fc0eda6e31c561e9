//! Follows: users who follow users.

use std::sync::Arc;

use super::{Actor, DomainError, DomainResult, IdempotencyKey, Plaudit, Switched, User, edges::EdgeAction};
use crate::{catalogue::EdgeKind, primitives::UserId};

impl Plaudit {
    /// Follows a user (`on`) or stops following. Returns the followed user and what has changed.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown user; [`DomainError::BadInput`] for the actor, and with
    /// [`super::Reason::FollowLimit`] beyond the limit.
    pub async fn set_follow(
        &self,
        actor: Option<Actor>,
        user: UserId,
        on: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<User>, Switched)> {
        if actor.is_some_and(|actor| actor.user == user) {
            return Err(DomainError::bad_input(
                "userId",
                "users cannot follow themselves; pass another user's id",
            ));
        }
        let user = self.users().get(user).await?;
        let action = EdgeAction {
            kind: EdgeKind::Follow,
            actor,
            target: user.id.0,
            owner: user.id,
            on,
            limit: self.inner.settings.follow_limit,
            key,
        };
        let switched = self.switch(action).await?;
        Ok((user, switched))
    }
}
