//! Moderation of groups, by their owners and by moderators: removing a group, taking members and notes out of one, and
//! featuring notes in one.

use std::sync::Arc;

use crate::{
    ActionOutcome, DomainError, DomainResult, Group, IdempotencyKey, Note, Plaudit, Reason, Switched,
    Switching, User,
    edges::switch::{self, EdgeAction},
    keys::{self, ActionCall},
    transaction::{self, ActionStart},
};
use plaudit_catalogue::{
    EdgeKind, EntityKind, NOTES,
    primitives::{GroupId, NoteId, UserId},
};
use plaudit_store::sql::{
    content::notes::{self, NoteState},
    counting::{
        backfills::{self, BackfillKind},
        rows,
    },
    moderation::groups,
    ownership::shards,
};

/// Who acts on a group, and with which right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupModerator {
    pub user: UserId,
    /// May moderate every group.
    pub is_moderator: bool,
}

impl GroupModerator {
    fn may_moderate(self, owner: Option<UserId>) -> bool {
        self.is_moderator || owner == Some(self.user)
    }
}

/// Removes a group. It no longer exists for anybody from then on. In the background its memberships stop
/// counting for their users, and its notes leave it; they stay as notes of their authors.
///
/// Returns whether anything changed: it does not if the group was removed before.
///
/// # Errors
/// [`DomainError::NotFound`] for a group that never existed; [`DomainError::Forbidden`] for somebody else's.
pub async fn delete_group(
    plaudit: &Plaudit,
    by: GroupModerator,
    group: GroupId,
    key: Option<&IdempotencyKey>,
) -> DomainResult<ActionOutcome> {
    let mut change =
        match transaction::begin(plaudit, by.user, key, &ActionCall::new("deleteGroup", &group)).await? {
            ActionStart::Repeated(outcome) => return Ok(outcome),
            ActionStart::New(change) => change,
        };
    let tx = change.tx();
    // Checked without a lock first: the lock of removals blocks batches.
    let state = groups::group_state(tx, group).await?.ok_or(DomainError::NotFound("group"))?;
    if !by.may_moderate(Some(state.owner)) {
        let forbidden = DomainError::Forbidden("only its owner and moderators can remove a group");
        return Err(if state.is_removed { DomainError::NotFound("group") } else { forbidden });
    }
    // Nobody joins the group or posts in it meanwhile.
    shards::lock_removals(tx).await?;
    let leaving = groups::remove_group(tx, group).await?;
    if let Some(leaving) = leaving {
        let shards = plaudit.inner.redis.shards();
        backfills::add_backfill(tx, shards, group.into(), BackfillKind::Remove, leaving, by.user).await?;
        change.record_removals(EntityKind::Group, Some(by.user), &[group.0]).await?;
        change.touch(group);
    }
    change.finish(leaving.is_some(), None).await
}

/// Takes a member out of a group, as if the member left it; they may join again. Returns the group, the
/// user and what has changed.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown group or user; [`DomainError::Forbidden`] for somebody else's group.
pub async fn remove_group_member(
    plaudit: &Plaudit,
    by: GroupModerator,
    group: GroupId,
    member: UserId,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Group>, Arc<User>, Switched)> {
    let group = plaudit.groups().get(group).await?;
    if !by.may_moderate(Some(group.owner)) {
        return Err(DomainError::Forbidden("only its owner and moderators can remove a member of a group"));
    }
    let member = plaudit.users().get(member).await?;
    if let Some(key) = key {
        let call = ActionCall::new("removeGroupMember", &(group.id, member.id));
        keys::claim_key(plaudit, by.user, key, &call).await?;
    }
    // The flip is the member's, so its result is kept among the member's keys.
    let key = key.map(|key| key.of_other(by.user));
    let action = EdgeAction {
        kind: EdgeKind::GroupJoin,
        target: group.id.0,
        owner: group.owner,
        limit: 0,
        switching: Switching {
            actor: Some(member.id.into()),
            on: false,
            key: key.as_ref(),
            shows_counts: false,
        },
    };
    let switched = switch::switch(plaudit, action).await?;
    Ok((group, member, switched))
}

/// Takes a note out of a group; it stays as a note of its author, who may do this, too. Returns the group,
/// the note and whether anything changed: it does not if the note is not in the group.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown group or note; [`DomainError::Forbidden`] for others.
pub async fn remove_group_note(
    plaudit: &Plaudit,
    by: GroupModerator,
    group: GroupId,
    note: NoteId,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Group>, Arc<Note>, bool)> {
    let group = plaudit.groups().get(group).await?;
    let call = ActionCall::new("removeGroupNote", &(group.id, note));
    let outcome = match transaction::begin(plaudit, by.user, key, &call).await? {
        ActionStart::Repeated(outcome) => outcome,
        ActionStart::New(mut change) => {
            let tx = change.tx();
            let state = visible(notes::lock_note(tx, note).await?, by)?;
            if state.author != by.user && !by.may_moderate(Some(group.owner)) {
                let message =
                    "only its author, the owner of the group and moderators can take a note out of a group";
                return Err(DomainError::Forbidden(message));
            }
            let is_in_group = state.group == Some(group.id);
            if is_in_group {
                change.change_rows(NOTES, vec![note.0], rows::LEAVE_GROUP).await?;
            }
            change.finish(is_in_group, None).await?
        }
    };
    Ok((group, plaudit.notes().get(note).await?, outcome.changed))
}

/// Features a note in its group (`on`) or stops featuring it. Returns it and whether anything changed.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown or removed note; [`DomainError::Forbidden`] for a note in
/// somebody else's group; [`DomainError::BadInput`] with [`Reason::NotInGroup`] for one that is in no
/// group.
pub async fn set_featured(
    plaudit: &Plaudit,
    by: GroupModerator,
    note: NoteId,
    on: bool,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Note>, bool)> {
    let action = if on { "featureNote" } else { "unfeatureNote" };
    let outcome = match transaction::begin(plaudit, by.user, key, &ActionCall::new(action, &note)).await? {
        ActionStart::Repeated(outcome) => outcome,
        ActionStart::New(mut change) => {
            let tx = change.tx();
            let state = notes::lock_note(tx, note).await?.filter(|state| state.is_shown);
            let state = state.ok_or(DomainError::NotFound("note"))?;
            // A removed group has no owner any more, and its notes are about to leave it.
            state.group.filter(|_| state.group_owner.is_some()).ok_or_else(not_in_group)?;
            if !by.may_moderate(state.group_owner) {
                let message = "only the owner of its group and moderators can feature a note";
                return Err(DomainError::Forbidden(message));
            }
            if state.is_featured != on {
                let set = if on { rows::FEATURE } else { rows::UNFEATURE };
                change.change_rows(NOTES, vec![note.0], set).await?;
            }
            change.finish(state.is_featured != on, None).await?
        }
    };
    Ok((plaudit.notes().get(note).await?, outcome.changed))
}

/// A note that this person sees: others do not see hidden ones, and those that are not approved.
fn visible(state: Option<NoteState>, by: GroupModerator) -> DomainResult<NoteState> {
    let sees_all = |state: &NoteState| by.is_moderator || state.author == by.user;
    state
        .filter(|state| state.is_shown || !state.is_removed && sees_all(state))
        .ok_or(DomainError::NotFound("note"))
}

fn not_in_group() -> DomainError {
    DomainError::BadInput {
        argument: "noteId",
        message: "noteId: this note is in no group, so it cannot be featured".into(),
        reason: Some(Reason::NotInGroup),
    }
}
