//! Users.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::{groups::Group, inbox::Inbox, notes::Note};
use crate::{
    catalogue::{Counter, EdgeKind},
    domain,
    graphql::{
        errors::{ApiError, ApiResult},
        reading::{
            guards::Private,
            pages::{FIRST, List, Page},
            prefetch::{Prefetch, Selection},
            scope::Scope,
        },
        request::{
            ids::global_id,
            scalars::{Count, CountsVersion, DateTime},
        },
    },
    primitives::{Moment, NoteId, PageRequest, Slice, UserId},
};

const NOTES: List = List("userNotes");
const FOLLOWERS: List = List("followers");
const FOLLOWING: List = List("following");
const GROUPS: List = List("userGroups");
const LIKED: List = List("likedNotes");
const COLLECTED: List = List("collectedNotes");

pub struct User {
    id: UserId,
    scope: Scope,
}

impl User {
    pub fn new(id: UserId, scope: Scope) -> Self {
        Self { id, scope }
    }

    /// Prefetches what is selected. `None` for a user that does not exist.
    pub async fn find(id: UserId, selection: &Selection<'_>, scope: &Scope) -> ApiResult<Option<Self>> {
        if scope.user(id).await?.is_none() {
            return Ok(None);
        }
        let mut prefetch = Prefetch::default();
        prefetch.user(id, selection);
        Ok(Some(Self::new(id, prefetch.read(scope).await)))
    }

    /// A user that another object refers to. Reads the user only if a field of its row is selected, and then
    /// returns `None` if the user no longer exists.
    pub async fn named(id: UserId, selection: &Selection<'_>, scope: &Scope) -> ApiResult<Option<Self>> {
        let is_gone = selection.needs_user() && scope.user(id).await?.is_none();
        Ok((!is_gone).then(|| Self::new(id, scope.clone())))
    }

    /// A page of users, each with its place in the list, and what is selected in them.
    pub async fn page(
        list: List,
        request: &PageRequest<Moment>,
        users: Slice<Moment>,
        selection: &Selection<'_>,
        scope: &Scope,
    ) -> Page<Self> {
        let users = users.map(|place| (place, UserId(place.id)));
        let want = |prefetch: &mut Prefetch, user: &UserId| prefetch.user(*user, selection);
        list.prefetched_page(request, users, scope, want, |user, scope| Some(Self::new(user, scope))).await
    }

    /// A page of notes that this user has an edge to. Only for the user itself.
    async fn own_notes(
        &self,
        ctx: &Context<'_>,
        (list, kind): (List, EdgeKind),
        first: Option<i32>,
        after: Option<String>,
    ) -> ApiResult<Page<Note>> {
        let request = list.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let mut notes = self.present_notes(kind, &request).await?;
        // A page without any would have no cursor that leads to the next one.
        while let (Slice { items, has_more: true }, Some(last)) = &notes
            && items.is_empty()
        {
            notes = self.present_notes(kind, &PageRequest { after: Some(*last), ..request }).await?;
        }
        let (notes, _) = notes;
        Ok(Note::keyed_page(list, &request, notes, &Selection::of_nodes(ctx), &self.scope).await)
    }

    /// The notes of a page without those that were just removed, and the end of the page.
    async fn present_notes(
        &self,
        kind: EdgeKind,
        request: &PageRequest<Moment>,
    ) -> ApiResult<(Slice<(Moment, Arc<domain::Note>)>, Option<Moment>)> {
        let plaudit = self.scope.plaudit();
        let Slice { items: places, has_more } = plaudit.targets_of(self.id, kind, request).await?;
        let ids: Vec<NoteId> = places.iter().map(|place| NoteId(place.id)).collect();
        let notes = plaudit.notes().get_many(&ids).await?;
        let present = |place: &Moment| Some((*place, Arc::clone(notes.get(&NoteId(place.id))?)));
        Ok((Slice { items: places.iter().filter_map(present).collect(), has_more }, places.last().copied()))
    }

    async fn body(&self) -> ApiResult<Arc<domain::User>> {
        self.scope.user(self.id).await?.ok_or_else(|| ApiError::not_found("user"))
    }

    async fn count(&self, counter: Counter) -> ApiResult<Count> {
        self.scope.count(self.id, counter).await
    }
}

/// A user of the app. All counts of one object are from the same moment.
#[Object]
impl User {
    /// Opaque and unique among all objects.
    pub async fn id(&self) -> ID {
        global_id(self.id)
    }

    /// The name that other users see.
    async fn name(&self) -> ApiResult<String> {
        Ok(self.body().await?.name.clone())
    }

    /// The time of the user's first action.
    async fn created_at(&self) -> ApiResult<DateTime> {
        Ok(self.body().await?.created_at.into())
    }

    /// The number of users who follow this user.
    async fn follower_count(&self) -> ApiResult<Count> {
        self.count(Counter::UserFollowers).await
    }

    /// The number of users whom this user follows.
    async fn following_count(&self) -> ApiResult<Count> {
        self.count(Counter::UserFollowing).await
    }

    /// Notes that this user wrote.
    async fn note_count(&self) -> ApiResult<Count> {
        self.count(Counter::UserNotes).await
    }

    /// The number of comments that this user wrote, including replies.
    async fn comment_count(&self) -> ApiResult<Count> {
        self.count(Counter::UserComments).await
    }

    /// The number of likes of this user's notes. Likes of comments do not count.
    async fn likes_received_count(&self) -> ApiResult<Count> {
        self.count(Counter::UserLikesReceived).await
    }

    /// How often this user's notes were collected.
    async fn collects_received_count(&self) -> ApiResult<Count> {
        self.count(Counter::UserCollectsReceived).await
    }

    /// Groups that this user is a member of.
    async fn group_count(&self) -> ApiResult<Count> {
        self.count(Counter::UserGroups).await
    }

    /// Coins that this user has.
    async fn coin_count(&self) -> ApiResult<Count> {
        self.count(Counter::UserCoins).await
    }

    /// Whether you follow this user. Null without a token.
    async fn viewer_is_following(&self) -> ApiResult<Option<bool>> {
        self.scope.own_edge(EdgeKind::Follow, self.id.0).await
    }

    /// Notes that this user wrote, newest first.
    async fn notes(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Note>>> {
        let request = NOTES.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let notes = self.scope.plaudit().notes_of_user(self.id, request).await?;
        Ok(Some(Note::page(NOTES, &request, notes, &Selection::of_nodes(ctx), &self.scope).await))
    }

    /// Users who follow this user, the latest first. A follow appears here moments later, once it is in the
    /// database.
    async fn followers(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<User>>> {
        let request = FOLLOWERS.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let followers = self.scope.plaudit().actors_of(EdgeKind::Follow, self.id.0, &request).await?;
        Ok(Some(User::page(FOLLOWERS, &request, followers, &Selection::of_nodes(ctx), &self.scope).await))
    }

    /// Users whom this user follows, the latest first.
    async fn following(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<User>>> {
        let request = FOLLOWING.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let following = self.scope.plaudit().targets_of(self.id, EdgeKind::Follow, &request).await?;
        Ok(Some(User::page(FOLLOWING, &request, following, &Selection::of_nodes(ctx), &self.scope).await))
    }

    /// Groups that this user is a member of, the latest joined first.
    async fn groups(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Group>>> {
        let request = GROUPS.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let joined = self.scope.plaudit().targets_of(self.id, EdgeKind::GroupJoin, &request).await?;
        Group::page(GROUPS, &request, joined, &Selection::of_nodes(ctx), &self.scope).await.map(Some)
    }

    /// Notes that you like, the latest like first. Only for yourself.
    #[graphql(guard = "Private(\"User\", self.id)")]
    async fn liked_notes(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Note>>> {
        self.own_notes(ctx, (LIKED, EdgeKind::NoteLike), first, after).await.map(Some)
    }

    /// Notes in your collection, the latest first. Only for yourself.
    #[graphql(guard = "Private(\"User\", self.id)")]
    async fn collected_notes(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Note>>> {
        self.own_notes(ctx, (COLLECTED, EdgeKind::NoteCollect), first, after).await.map(Some)
    }

    /// Your inbox. Only for yourself.
    #[graphql(guard = "Private(\"User\", self.id)")]
    async fn inbox(&self) -> ApiResult<Option<Inbox>> {
        Ok(Some(Inbox::new(self.id, self.scope.clone())))
    }

    /// The version of this object's counts.
    async fn counts_version(&self) -> ApiResult<CountsVersion> {
        self.scope.counts_version(self.id).await
    }
}
