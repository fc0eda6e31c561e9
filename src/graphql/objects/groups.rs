//! Groups.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::{notes::Note, users::User};
use crate::{
    catalogue::{Counter, EdgeKind},
    domain,
    graphql::{
        errors::{ApiError, ApiResult},
        reading::{
            pages::{FIRST, List, Page},
            prefetch::{Prefetch, Selection},
            scope::Scope,
        },
        request::{
            ids::global_id,
            scalars::{Count, CountsVersion, DateTime},
        },
    },
    primitives::{GroupId, Moment, PageRequest, Slice},
};

const NOTES: List = List("groupNotes");
const MEMBERS: List = List("members");

pub struct Group {
    id: GroupId,
    scope: Scope,
}

impl Group {
    pub fn new(id: GroupId, scope: Scope) -> Self {
        Self { id, scope }
    }

    /// Prefetches what is selected.
    pub async fn read_ahead(group: &Arc<domain::Group>, selection: &Selection<'_>, scope: &Scope) -> Self {
        let mut prefetch = Prefetch::default();
        prefetch.group(group, selection);
        Self::new(group.id, prefetch.read(scope).await)
    }

    /// A page of groups, each with its place in the list, and what is selected in them.
    pub async fn page(
        list: List,
        request: &PageRequest<Moment>,
        places: Slice<Moment>,
        selection: &Selection<'_>,
        scope: &Scope,
    ) -> ApiResult<Page<Self>> {
        let ids: Vec<GroupId> = places.items.iter().map(|place| GroupId(place.id)).collect();
        let groups = scope.plaudit().groups().get_many(&ids).await?;
        let present = |place: Moment| Some((place, Arc::clone(groups.get(&GroupId(place.id))?)));
        let items = places.items.into_iter().filter_map(present).collect();
        let want = |prefetch: &mut Prefetch, group: &Arc<domain::Group>| prefetch.group(group, selection);
        let node = |group: Arc<domain::Group>, scope| Some(Self::new(group.id, scope));
        let has_more = places.has_more;
        Ok(list.prefetched_page(request, Slice { items, has_more }, scope, want, node).await)
    }

    async fn body(&self) -> ApiResult<Arc<domain::Group>> {
        self.scope.group(self.id).await?.ok_or_else(|| ApiError::not_found("group"))
    }
}

/// A group of users who post together. All counts of one object are from the same moment.
#[Object]
impl Group {
    /// Opaque and unique among all objects.
    pub async fn id(&self) -> ID {
        global_id(self.id)
    }

    async fn name(&self) -> ApiResult<String> {
        Ok(self.body().await?.name.clone())
    }

    async fn description(&self) -> ApiResult<String> {
        Ok(self.body().await?.description.clone())
    }

    async fn created_at(&self) -> ApiResult<DateTime> {
        Ok(self.body().await?.created_at.into())
    }

    /// The user who created the group. Null if the user no longer exists.
    async fn owner(&self, ctx: &Context<'_>) -> ApiResult<Option<User>> {
        User::named(self.body().await?.owner, &Selection::of(ctx), &self.scope).await
    }

    /// The number of members.
    async fn member_count(&self) -> ApiResult<Count> {
        self.scope.count(self.id, Counter::GroupMembers).await
    }

    /// The number of notes in the group.
    async fn note_count(&self) -> ApiResult<Count> {
        self.scope.count(self.id, Counter::GroupNotes).await
    }

    /// The number of notes in the group that moderators featured.
    async fn featured_note_count(&self) -> ApiResult<Count> {
        self.scope.count(self.id, Counter::GroupFeaturedNotes).await
    }

    /// Whether you are a member. Null without a token.
    async fn viewer_is_member(&self) -> ApiResult<Option<bool>> {
        self.scope.own_edge(EdgeKind::GroupJoin, self.id.0).await
    }

    /// Notes in the group, newest first.
    async fn notes(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Note>>> {
        let request = NOTES.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let notes = self.scope.plaudit().notes_of_group(self.id, request).await?;
        Ok(Some(Note::page(NOTES, &request, notes, &Selection::of_nodes(ctx), &self.scope).await))
    }

    /// The members, the latest joined first.
    async fn members(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<User>>> {
        let request = MEMBERS.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let members = self.scope.plaudit().actors_of(EdgeKind::GroupJoin, self.id.0, &request).await?;
        Ok(Some(User::page(MEMBERS, &request, members, &Selection::of_nodes(ctx), &self.scope).await))
    }

    /// The version of this object's counts.
    async fn counts_version(&self) -> ApiResult<CountsVersion> {
        self.scope.counts_version(self.id).await
    }
}
