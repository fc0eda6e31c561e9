//! Membership: whether edges of a user are on.

use crate::{DomainError, DomainResult, Plaudit};
use plaudit_catalogue::{
    EdgeKind,
    primitives::{Id, UserId},
};

/// Whether these edges of the actor are on, in their order.
pub async fn membership(
    plaudit: &Plaudit,
    actor: UserId,
    edges: &[(EdgeKind, Id)],
) -> DomainResult<Vec<bool>> {
    if edges.is_empty() {
        return Ok(Vec::new());
    }
    plaudit.inner.memberships.states(actor, edges).await
}

/// The same; while Redis is away, as far as persisted.
pub async fn membership_or_stale(
    plaudit: &Plaudit,
    actor: UserId,
    edges: &[(EdgeKind, Id)],
) -> DomainResult<Vec<bool>> {
    match membership(plaudit, actor, edges).await {
        Err(DomainError::RetryLater(error)) if error.is_redis_away() => {
            plaudit.inner.memberships.states_of_rows(actor, edges).await
        }
        states => states,
    }
}
