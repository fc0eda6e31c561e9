//! Groups that a service keeps as its app has them.

use std::collections::HashMap;

use super::{
    CreationTime, ElementOutcome, ElementResults, Thing, apply, removed, results, until_uncontended,
};
use crate::{AppKey, DomainError, DomainResult, Plaudit, Text, transaction};
use plaudit_catalogue::primitives::{GroupId, Id, UserId};
use plaudit_store::sql::{
    content::groups::{self, GroupRow, KeyedGroup},
    ownership::shards,
    people::users,
};

/// A group as the app knows it.
#[derive(Clone, Debug)]
pub struct GroupUpsert {
    pub key: AppKey,
    pub owner: UserId,
    pub name: Text,
    /// `None` leaves it as it is.
    pub description: Option<Text>,
    /// Of a new group.
    pub created_at: Option<CreationTime>,
}

/// A group while the elements are applied.
struct UpsertedGroup<'a> {
    /// `None`: new.
    id: Option<GroupId>,
    key: &'a AppKey,
    owner: UserId,
    name: String,
    description: String,
    created_at: Option<CreationTime>,
    is_removed: bool,
    is_other: bool,
}

/// Creates groups by key, or changes their texts. A service needs no permission of the owners.
///
/// # Errors
/// Of an element: [`DomainError::NotFound`] for an unknown owner; [`DomainError::BadInput`] for another
/// owner than the group has, and for the key of a removed group.
pub async fn upsert_groups(plaudit: &Plaudit, groups: &[GroupUpsert]) -> DomainResult<ElementResults> {
    until_uncontended(|| try_upsert_groups(plaudit, groups)).await
}

/// `None` if somebody else took one of the keys meanwhile.
async fn try_upsert_groups(
    plaudit: &Plaudit,
    groups: &[GroupUpsert],
) -> DomainResult<Option<ElementResults>> {
    let mut change = transaction::begin_without_key(plaudit, "upsertGroups").await?;
    let tx = change.tx();
    // Owners are not erased meanwhile.
    shards::lock_removals_shared(tx).await?;
    let keys: Vec<&str> = groups.iter().map(|group| group.key.as_str()).collect();
    let known = groups::lock_groups_by_keys(tx, &keys).await?;
    let owners: Vec<UserId> = groups.iter().map(|group| group.owner).collect();
    let owners = users::present_users(tx, &owners).await?;
    let (mut things, steps) =
        apply::<UpsertedGroup<'_>>(groups, known, |group| match owners.contains(&group.owner) {
            true => Ok(()),
            false => Err(DomainError::NotFound("user")),
        });
    let added = groups::add_groups(tx, &new_rows(&things)).await?;
    let changed: Vec<(GroupId, &str, &str)> = things
        .iter()
        .filter(|group| group.is_other)
        .filter_map(|group| Some((group.id?, group.name.as_str(), group.description.as_str())))
        .collect();
    if !changed.is_empty() {
        groups::change_group_texts(tx, &changed).await?;
    }
    let touched: Vec<GroupId> =
        changed.iter().map(|(id, ..)| *id).chain(added.iter().map(|(id, _)| *id)).collect();
    let ids: HashMap<&str, GroupId> =
        added.iter().filter_map(|(id, key)| Some((key.as_deref()?, *id))).collect();
    for new in things.iter_mut().filter(|group| group.id.is_none()) {
        new.id = ids.get(new.key.as_str()).copied();
    }
    let ids: Vec<Option<Id>> = things.iter().map(|group| group.id.map(|id| id.0)).collect();
    if ids.contains(&None) {
        return Ok(None);
    }
    touched.iter().for_each(|group| change.touch(*group));
    change.finish(!touched.is_empty(), None).await?;
    results(steps, &ids).map(Some)
}

impl<'a> Thing<'a> for UpsertedGroup<'a> {
    type Element = GroupUpsert;
    type Known = KeyedGroup;

    fn key(group: &'a GroupUpsert) -> &'a str {
        group.key.as_str()
    }

    fn known_key(known: &KeyedGroup) -> &str {
        &known.key
    }

    fn of(group: &'a GroupUpsert, known: KeyedGroup) -> Self {
        let KeyedGroup { id, owner, name, description, is_removed, .. } = known;
        let (id, key, created_at) = (Some(id), &group.key, None);
        Self { id, key, owner, name, description, created_at, is_removed, is_other: false }
    }

    fn new(group: &'a GroupUpsert) -> Self {
        let description = group.description.as_ref().map_or("", Text::as_str).to_owned();
        Self {
            id: None,
            key: &group.key,
            owner: group.owner,
            name: group.name.as_str().to_owned(),
            description,
            created_at: group.created_at,
            is_removed: false,
            is_other: false,
        }
    }

    fn take(&mut self, group: &GroupUpsert) -> DomainResult<ElementOutcome> {
        if let Some(id) = self.id.filter(|_| self.is_removed) {
            return Err(removed(id.into(), self.key));
        }
        if self.owner != group.owner {
            let message =
                format!("ownerId: the group is owned by user_{}; its owner never changes", self.owner);
            return Err(DomainError::bad_input("ownerId", message));
        }
        let description = group.description.as_ref().map_or(self.description.as_str(), Text::as_str);
        if (self.name.as_str(), self.description.as_str()) == (group.name.as_str(), description) {
            return Ok(ElementOutcome::Unchanged);
        }
        self.description = description.to_owned();
        self.name = group.name.as_str().to_owned();
        self.is_other = true;
        Ok(ElementOutcome::Updated)
    }
}

/// In one order for all, so that two requests never wait for each other.
fn new_rows<'g>(things: &'g [UpsertedGroup<'_>]) -> Vec<GroupRow<'g>> {
    let new = things.iter().filter(|group| group.id.is_none());
    let mut rows: Vec<GroupRow<'g>> = new
        .map(|group| GroupRow {
            owner: group.owner,
            key: Some(group.key.as_str()),
            name: &group.name,
            description: &group.description,
            created_at: group.created_at.map(|at| at.0),
        })
        .collect();
    rows.sort_unstable_by_key(|row| row.key);
    rows
}
