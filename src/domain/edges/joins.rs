//! Joins: users who are members of groups.

use std::sync::Arc;

use super::switch::EdgeAction;
use crate::{DomainResult, Group, Plaudit, Switched, Switching, edges::switch, entity_cache::Cached};
use plaudit_catalogue::{EdgeKind, primitives::GroupId};

/// Joins a group or leaves it. Returns the group and what has changed.
///
/// # Errors
/// [`crate::DomainError::NotFound`] for an unknown or removed group.
pub async fn set_membership(
    plaudit: &Plaudit,
    group: GroupId,
    switching: Switching<'_>,
) -> DomainResult<(Cached<Arc<Group>>, Switched)> {
    let group = plaudit.groups().record(group).await?;
    let (kind, owner, target) = (EdgeKind::GroupJoin, group.record().owner, group.record().id.0);
    let switched = switch::switch(plaudit, EdgeAction { kind, target, owner, limit: 0, switching }).await?;
    Ok((group, switched))
}
