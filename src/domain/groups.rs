//! Groups: creating, joining and leaving them.

use std::sync::Arc;

use super::{
    DomainError, DomainResult, Group, IdempotencyKey, Plaudit, edges::EdgeAction, keys::ActionCall,
    text::Text, transaction::ActionStart,
};
use crate::{
    catalogue::EdgeKind,
    primitives::{GroupId, UserId},
};

impl Plaudit {
    /// Creates a group. Its creator may post in it, but becomes a member only by joining. Returns the group
    /// and whether it is new: it is not if the key was used before.
    pub async fn create_group(
        &self,
        owner: UserId,
        name: Text,
        description: Text,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Group>, bool)> {
        let call = ActionCall::new("createGroup", &(name.as_str(), description.as_str()));
        let outcome = match self.begin(owner, key, &call).await? {
            ActionStart::Repeated(outcome) => outcome,
            ActionStart::New(mut change) => {
                let tx = change.tx();
                let id = tx.add_group(owner, name.as_str(), description.as_str()).await?;
                change.touch(id);
                change.finish(true, Some(id.0)).await?
            }
        };
        let id = GroupId(outcome.created.ok_or(DomainError::NotFound("group"))?);
        Ok((self.groups().get(id).await?, outcome.changed))
    }

    /// Joins a group (`on`) or leaves it. Returns the group and whether anything changed.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown group.
    pub async fn set_membership(
        &self,
        actor: Option<UserId>,
        group: GroupId,
        on: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Group>, bool)> {
        let group = self.groups().get(group).await?;
        let (kind, owner) = (EdgeKind::GroupJoin, group.owner);
        let changed =
            self.switch(EdgeAction { kind, actor, target: group.id.0, owner, on, limit: 0, key }).await?;
        Ok((group, changed))
    }
}
