//! Creating, joining and leaving groups.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use crate::{
    domain::{GROUP_DESCRIPTION, GROUP_NAME, Text},
    graphql::{
        errors::ApiResult,
        objects::{groups::Group, users::User},
        reading::{
            guards::ByTable,
            prefetch::{Prefetch, Selection},
        },
        request::ids::parse_as,
    },
};

action_types! {
    CreateGroupInput {
        /// 1 to 80 characters on one line.
        name: String,
        /// What it is about: at most 1000 characters.
        description: Option<String>,
    }
    CreateGroupPayload {
        /// Always true: every group is new.
        changed,
        /// The new group.
        group: Group,
    }
    JoinGroupInput {
        /// The group to join.
        group_id: ID,
    }
    JoinGroupPayload {
        /// False when you were a member already.
        changed,
        /// The group, with its new counts.
        group: Group,
        /// You, with your new counts.
        viewer: User,
    }
    LeaveGroupInput {
        /// The group to leave.
        group_id: ID,
    }
    LeaveGroupPayload {
        /// False when you were not a member.
        changed,
        /// The group, with its new counts.
        group: Group,
        /// You, with your new counts.
        viewer: User,
    }
}

#[derive(Default)]
pub struct GroupMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl GroupMutations {
    /// Creates a group. You may post in it; join it to count as a member.
    async fn create_group(
        &self,
        ctx: &Context<'_>,
        input: CreateGroupInput,
    ) -> ApiResult<Option<CreateGroupPayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let name = Text::parse(&input.name, &GROUP_NAME)?;
        let description = Text::parse(&input.description.unwrap_or_default(), &GROUP_DESCRIPTION)?;
        let owner = action.actor().await?;
        let (group, changed) = action.plaudit().create_group(owner, name, description, action.key()).await?;
        let selection = Selection::of(ctx).inside("group");
        let group = Group::read_ahead(&group, &selection, &action.scope.renewed()).await;
        Ok(Some(CreateGroupPayload { changed, group }))
    }

    /// Joins a group. Joining again changes nothing.
    async fn join_group(
        &self,
        ctx: &Context<'_>,
        input: JoinGroupInput,
    ) -> ApiResult<Option<JoinGroupPayload>> {
        let (changed, group, viewer) =
            set_membership(ctx, &input.group_id, input.idempotency_key, true).await?;
        Ok(Some(JoinGroupPayload { changed, group, viewer }))
    }

    /// Leaves a group.
    async fn leave_group(
        &self,
        ctx: &Context<'_>,
        input: LeaveGroupInput,
    ) -> ApiResult<Option<LeaveGroupPayload>> {
        let (changed, group, viewer) =
            set_membership(ctx, &input.group_id, input.idempotency_key, false).await?;
        Ok(Some(LeaveGroupPayload { changed, group, viewer }))
    }
}

async fn set_membership(
    ctx: &Context<'_>,
    group: &ID,
    key: Option<String>,
    on: bool,
) -> ApiResult<(bool, Group, User)> {
    let action = Action::begin(ctx, key)?;
    let group = parse_as("groupId", group)?;
    let actor = action.actor().await?;
    let (group, changed) = action.plaudit().set_membership(actor, group, on, action.key()).await?;

    let selection = Selection::of(ctx);
    let mut prefetch = Prefetch::default();
    prefetch.group(&group, &selection.inside("group"));
    prefetch.user(actor, &selection.inside("viewer"));
    let scope = prefetch.read(&action.scope.renewed()).await;
    Ok((changed, Group::new(group.id, scope.clone()), User::new(actor, scope)))
}
