//! Moderating groups: deleting them, taking members and notes out of them, and featuring notes in them.

use futures_util::FutureExt;

use plaudit_token_auth::Role;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::ApiResult,
    request::{access::Who, ids::global_id},
};
use plaudit_catalogue::primitives::GroupId;
use plaudit_domain::{GroupModerator, moderation::groups};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "deleteGroup",
        permission: Permission::Write(Who::AuthorOrModerator),
        description: "Removes a group: your own, or any if you are a moderator. Its notes stay, in no group, and it no longer counts for its members; both follow within moments, also for large groups.",
        input: &[("groupId: ID!", "The group to remove.")],
        unchanged: Some("False when it was removed before."),
        payload: &[("deletedGroupId: ID!", "The id of the removed group, to evict from your cache.")],
        act: |call| delete_group(call).boxed(),
    },
    Mutation {
        name: "removeGroupMember",
        permission: Permission::Write(Who::AuthorOrModerator),
        description: "Takes a member out of your own group, or out of any if you are a moderator. The member may join again.",
        input: &[
            ("groupId: ID!", "The group that the member is to leave."),
            ("userId: ID!", "The member to take out."),
        ],
        unchanged: Some("False when the user was not a member."),
        payload: &[
            ("group: Group!", "The group, with its new counts."),
            ("user: User!", "The user, with the new counts."),
        ],
        act: |call| remove_member(call).boxed(),
    },
    Mutation {
        name: "removeGroupNote",
        permission: Permission::Write(Who::AuthorOrModerator),
        description: "Takes a note out of a group: your own note, any note of your own group, or any if you are a moderator. The note stays, in no group, and is no longer featured.",
        input: &[
            ("groupId: ID!", "The group that the note is to leave."),
            ("noteId: ID!", "The note to take out."),
        ],
        unchanged: Some("False when the note was not in the group."),
        payload: &[("group: Group!", "The group, with its new counts."), ("note: Note!", "The note.")],
        act: |call| remove_note(call).boxed(),
    },
    Mutation {
        name: "featureNote",
        permission: Permission::Write(Who::AuthorOrModerator),
        description: "Features a note in its group. For the group's owner and moderators.",
        input: &[("noteId: ID!", "The note to feature.")],
        unchanged: Some("False when it was featured already."),
        payload: &[("note: Note!", "The note.")],
        act: |call| set_featured(call, true).boxed(),
    },
    Mutation {
        name: "unfeatureNote",
        permission: Permission::Write(Who::AuthorOrModerator),
        description: "Stops featuring a note. For the group's owner and moderators.",
        input: &[("noteId: ID!", "The note to stop featuring.")],
        unchanged: Some("False when it was not featured."),
        payload: &[("note: Note!", "The note.")],
        act: |call| set_featured(call, false).boxed(),
    },
];

/// The acting user, as one who moderates groups.
async fn moderator(action: &Action<'_>) -> ApiResult<GroupModerator> {
    let user = action.actor().await?;
    Ok(GroupModerator { user, is_moderator: action.scope.viewer().has_role(Role::Moderator) })
}

async fn delete_group(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let group: GroupId = action.input.id("groupId")?;
    let by = moderator(&action).await?;
    let outcome = groups::delete_group(action.plaudit(), by, group, action.key()).await?;
    Ok(payload(outcome.changed, [("deletedGroupId", global_id(group).0.into())]))
}

async fn remove_member(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let (group, member) = (action.input.id("groupId")?, action.input.id("userId")?);
    let by = moderator(&action).await?;
    let (group, user, switched) =
        groups::remove_group_member(action.plaudit(), by, group, member, action.key()).await?;
    Ok(action.switched(switched, [("group", group.into()), ("user", user.into())]))
}

async fn remove_note(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let (group, note) = (action.input.id("groupId")?, action.input.id("noteId")?);
    let by = moderator(&action).await?;
    let (group, note, changed) =
        groups::remove_group_note(action.plaudit(), by, group, note, action.key()).await?;
    Ok(payload(changed, [("group", group.into()), ("note", note.into())]))
}

async fn set_featured(call: Call<'_>, on: bool) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let note = action.input.id("noteId")?;
    let by = moderator(&action).await?;
    let (note, changed) = groups::set_featured(action.plaudit(), by, note, on, action.key()).await?;
    Ok(payload(changed, [("note", note.into())]))
}
