//! Groups: creating, editing and listing them.

use std::sync::Arc;

use super::app_keys::must_be_free;
use crate::{
    AppKey, DomainError, DomainResult, Group, IdempotencyKey, Plaudit, Text,
    keys::ActionCall,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::{
    EntityKind,
    primitives::{GroupId, PageRequest, Ranked, Slice, UserId},
};
use plaudit_store::sql::content::groups::{self, GroupRow};

pub use plaudit_store::sql::content::groups::GroupOrder;

/// New texts of a group; `None` leaves one as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupEdit {
    pub name: Option<Text>,
    pub description: Option<Text>,
}

/// A page of all groups.
pub async fn group_list(
    plaudit: &Plaudit,
    order: GroupOrder,
    page: &PageRequest<Ranked>,
) -> DomainResult<Slice<Ranked>> {
    Ok(groups::group_list(&plaudit.inner.db, order, page).await?)
}

/// Creates a group. Its creator may post in it, but becomes a member only by joining. Returns the group
/// and whether it is new: it is not if the idempotency key was used before.
///
/// # Errors
/// [`DomainError::BadInput`] if the app's key is taken.
pub async fn create_group(
    plaudit: &Plaudit,
    owner: UserId,
    app_key: Option<&AppKey>,
    name: Text,
    description: Text,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Group>, bool)> {
    let call =
        ActionCall::new("createGroup", &(name.as_str(), description.as_str(), app_key.map(AppKey::as_str)));
    let outcome = match transaction::begin(plaudit, owner, key, &call).await? {
        ActionStart::Repeated(outcome) => outcome,
        ActionStart::New(mut change) => {
            let tx = change.tx();
            let row = GroupRow {
                owner,
                key: app_key.map(AppKey::as_str),
                name: name.as_str(),
                description: description.as_str(),
                created_at: None,
            };
            let added = groups::add_groups(tx, &[row]).await?.pop();
            if added.is_none() {
                must_be_free(tx, EntityKind::Group, app_key).await?;
            }
            let (id, _) = added.ok_or(DomainError::NotFound("user"))?;
            change.touch(id);
            change.finish(true, Some(id.0)).await?
        }
    };
    let id = GroupId(outcome.created.ok_or(DomainError::NotFound("group"))?);
    Ok((plaudit.groups().get(id).await?, outcome.changed))
}

/// Changes the texts of the actor's own group, or of any group if they may. What is not given stays.
/// Returns the group and whether anything changed.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown group; [`DomainError::Forbidden`] for somebody else's.
pub async fn update_group(
    plaudit: &Plaudit,
    actor: UserId,
    group: GroupId,
    edit: &GroupEdit,
    may_edit_any: bool,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Group>, bool)> {
    let name = edit.name.as_ref().map(Text::as_str);
    let description = edit.description.as_ref().map(Text::as_str);
    let call = ActionCall::new("updateGroup", &(group, name, description));
    let outcome = match transaction::begin(plaudit, actor, key, &call).await? {
        ActionStart::Repeated(outcome) => outcome,
        ActionStart::New(mut change) => {
            let tx = change.tx();
            let owner = groups::lock_group(tx, group).await?.ok_or(DomainError::NotFound("group"))?;
            if owner != actor && !may_edit_any {
                return Err(DomainError::Forbidden("only its owner and moderators can edit a group"));
            }
            let is_other = groups::update_group(tx, group, name, description).await?;
            if is_other {
                change.touch(group);
            }
            change.finish(is_other, None).await?
        }
    };
    Ok((plaudit.groups().get(group).await?, outcome.changed))
}
