//! Creating, editing, joining and leaving groups.

use futures_util::FutureExt;

use plaudit_token_auth::Role;

use super::action::{APP_KEY, Action, Mutation, Permission, created, payload};
use crate::{
    definition::{
        resolve::Call,
        values::{Object, Output},
    },
    errors::ApiResult,
    request::access::Who,
};
use plaudit_catalogue::primitives::GroupId;
use plaudit_domain::{GROUP_DESCRIPTION, GROUP_NAME, GroupEdit, Text, content::groups, edges::joins};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "createGroup",
        permission: Permission::Create(Who::SignedIn),
        description: "Creates a group. You may post in it; join it to count as a member.",
        input: &[
            ("name: String!", "1 to 80 characters on one line."),
            ("description: String", "What it is about: at most 1000 characters."),
            APP_KEY,
        ],
        unchanged: None,
        payload: &[("group: Group!", "The new group.")],
        act: |call| create_group(call).boxed(),
    },
    Mutation {
        name: "updateGroup",
        permission: Permission::Write(Who::AuthorOrModerator),
        description: "Changes the name or description of your own group, or of any if you are a moderator. Open pages that watch the group get the new text.",
        input: &[
            ("groupId: ID!", "The group to edit."),
            ("name: String", "1 to 80 characters on one line. Omit it to leave it as it is."),
            ("description: String", "At most 1000 characters. Omit it to leave it as it is."),
        ],
        unchanged: Some("False when the texts were the same already."),
        payload: &[("group: Group!", "The group.")],
        act: |call| update_group(call).boxed(),
    },
    Mutation {
        name: "joinGroup",
        permission: Permission::Write(Who::SignedIn),
        description: "Joins a group. Joining again changes nothing.",
        input: &[("groupId: ID!", "The group to join.")],
        unchanged: Some("False when you were a member already."),
        payload: &[
            ("group: Group!", "The group, with its new counts."),
            ("viewer: Viewer!", "You. Your user has its new counts."),
        ],
        act: |call| set_membership(call, true).boxed(),
    },
    Mutation {
        name: "leaveGroup",
        permission: Permission::Write(Who::SignedIn),
        description: "Leaves a group.",
        input: &[("groupId: ID!", "The group to leave.")],
        unchanged: Some("False when you were not a member."),
        payload: &[
            ("group: Group!", "The group, with its new counts."),
            ("viewer: Viewer!", "You. Your user has its new counts."),
        ],
        act: |call| set_membership(call, false).boxed(),
    },
];

async fn create_group(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let name = Text::parse(&action.input.text("name").unwrap_or_default(), &GROUP_NAME)?;
    let description = Text::parse(&action.input.text("description").unwrap_or_default(), &GROUP_DESCRIPTION)?;
    let app_key = action.app_key()?;
    let owner = action.actor().await?;
    let (group, _) =
        groups::create_group(action.plaudit(), owner, app_key.as_ref(), name, description, action.key())
            .await?;
    Ok(created([("group", group.into())]))
}

async fn update_group(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let group: GroupId = action.input.id("groupId")?;
    action.must_give_one_of(["name", "description"])?;
    let (name, description) = (action.optional_text(&GROUP_NAME)?, action.optional_text(&GROUP_DESCRIPTION)?);
    let actor = action.actor().await?;
    let edit = GroupEdit { name, description };
    let may_edit_any = action.scope.viewer().has_role(Role::Moderator);
    let (group, changed) =
        groups::update_group(action.plaudit(), actor, group, &edit, may_edit_any, action.key()).await?;
    Ok(payload(changed, [("group", group.into())]))
}

async fn set_membership(call: Call<'_>, on: bool) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let group = action.input.id("groupId")?;
    let (group, switched) =
        joins::set_membership(action.plaudit(), group, action.switching(on).await?).await?;
    Ok(action.switched(switched, [("group", group.into()), ("viewer", Object::Root.into())]))
}
