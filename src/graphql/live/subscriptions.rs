//! The fields of `Subscription`: live counts.
//!
//! Every field is resolved in two phases, see [`super::topic`]: at the start it checks its arguments and registers
//! topics, then it returns the object of each event. [`watch`] is both, for the fields that take ids.

use std::future::Future;

use async_graphql::{Context, ID, Subscription};
use futures_util::future::try_join_all;

use super::topic::{EventItems, Rate, TopicEvent, Topics};
use crate::{
    domain::inbox_of,
    graphql::{
        errors::{ApiError, ApiResult, Code},
        objects::{comments::Comment, groups::Group, inbox::Inbox, notes::Note, users::User},
        reading::{guards::ByTable, scope::Scope},
        request::ids::{TypedId, global_id, parse_as},
    },
    primitives::{CommentId, GroupId, NoteId, UserId},
};

const MAX_RATE: &str = "maxRate";

#[derive(Default)]
pub struct Subscription;

#[Subscription(guard = "ByTable(\"Subscription\")")]
impl Subscription {
    /// Notes whose counts change: at most 100. The first message for each is its present state. If changes come
    /// faster than `maxRate`, or than they can be sent, only the latest is sent.
    async fn note_counts_changed(
        &self,
        ctx: &Context<'_>,
        note_ids: Vec<ID>,
        #[graphql(default_with = "Some(Rate::DEFAULT)", desc = "Events per second and object: 1 to 60.")]
        max_rate: Option<i32>,
    ) -> Result<EventItems<Note>, ApiError> {
        watch(ctx, ("noteIds", &note_ids), max_rate, Note::new).await
    }

    /// Users whose counts change: at most 100. The first message for each is its present state. If changes come
    /// faster than `maxRate`, or than they can be sent, only the latest is sent.
    async fn user_counts_changed(
        &self,
        ctx: &Context<'_>,
        user_ids: Vec<ID>,
        #[graphql(default_with = "Some(Rate::DEFAULT)", desc = "Events per second and object: 1 to 60.")]
        max_rate: Option<i32>,
    ) -> Result<EventItems<User>, ApiError> {
        watch(ctx, ("userIds", &user_ids), max_rate, User::new).await
    }

    /// Comments whose counts change: at most 100. The first message for each is its present state. If changes come
    /// faster than `maxRate`, or than they can be sent, only the latest is sent.
    async fn comment_counts_changed(
        &self,
        ctx: &Context<'_>,
        comment_ids: Vec<ID>,
        #[graphql(default_with = "Some(Rate::DEFAULT)", desc = "Events per second and object: 1 to 60.")]
        max_rate: Option<i32>,
    ) -> Result<EventItems<Comment>, ApiError> {
        watch(ctx, ("commentIds", &comment_ids), max_rate, Comment::new).await
    }

    /// Groups whose counts change: at most 100. The first message for each is its present state. If changes come
    /// faster than `maxRate`, or than they can be sent, only the latest is sent.
    async fn group_counts_changed(
        &self,
        ctx: &Context<'_>,
        group_ids: Vec<ID>,
        #[graphql(default_with = "Some(Rate::DEFAULT)", desc = "Events per second and object: 1 to 60.")]
        max_rate: Option<i32>,
    ) -> Result<EventItems<Group>, ApiError> {
        watch(ctx, ("groupIds", &group_ids), max_rate, Group::new).await
    }

    /// Your inbox whenever its counts change. The first message is its present state. Needs a token, and creates your
    /// user if you have none yet.
    async fn inbox_counts_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(Rate::DEFAULT)", desc = "Events per second: 1 to 60.")]
        max_rate: Option<i32>,
    ) -> Result<EventItems<Inbox>, ApiError> {
        if let Some(event) = TopicEvent::of(ctx) {
            return Ok(event.object(ctx, |entity, scope| Inbox::new(UserId(entity.id), scope)));
        }
        let (scope, rate) = (Scope::of(ctx), Rate::parse(MAX_RATE, max_rate)?);
        let owner = scope.viewer().actor(scope.plaudit()).await?;
        Ok(Topics::register(ctx, [inbox_of(owner)], rate))
    }
}

/// Both phases of a field that watches the objects with these ids: registers them as topics, or returns the object of
/// an event.
async fn watch<T: WatchedId, N>(
    ctx: &Context<'_>,
    (argument, ids): (&'static str, &[ID]),
    max_rate: Option<i32>,
    object: fn(T, Scope) -> N,
) -> Result<EventItems<N>, ApiError> {
    if let Some(event) = TopicEvent::of(ctx) {
        return Ok(event.object(ctx, |entity, scope| object(T::from_id(entity.id), scope)));
    }
    let (scope, rate) = (Scope::of(ctx), Rate::parse(MAX_RATE, max_rate)?);
    let ids: Vec<T> = parse_all(scope, argument, ids)?;
    let exist = try_join_all(ids.iter().map(|id| id.exists(scope))).await?;
    if let Some((id, _)) = ids.iter().zip(exist).find(|(_, exists)| !exists) {
        let message = format!("{argument}: there is no {} \"{}\"", T::KIND.name(), *global_id(*id));
        return Err(ApiError::new(Code::NotFound, message));
    }
    Ok(Topics::register(ctx, ids.into_iter().map(Into::into), rate))
}

/// The ids of objects that can be watched.
trait WatchedId: TypedId + Ord {
    fn exists(self, scope: &Scope) -> impl Future<Output = ApiResult<bool>> + Send;
}

impl WatchedId for NoteId {
    async fn exists(self, scope: &Scope) -> ApiResult<bool> {
        Ok(scope.note(self).await?.is_some())
    }
}

impl WatchedId for UserId {
    async fn exists(self, scope: &Scope) -> ApiResult<bool> {
        Ok(scope.user(self).await?.is_some())
    }
}

impl WatchedId for CommentId {
    async fn exists(self, scope: &Scope) -> ApiResult<bool> {
        Ok(scope.comment(self).await?.is_some())
    }
}

impl WatchedId for GroupId {
    async fn exists(self, scope: &Scope) -> ApiResult<bool> {
        Ok(scope.group(self).await?.is_some())
    }
}

/// The ids, without repetitions.
fn parse_all<T: TypedId + Ord>(scope: &Scope, argument: &'static str, ids: &[ID]) -> ApiResult<Vec<T>> {
    let limit = scope.plaudit().settings().subscription_topics;
    let mut parsed = ids.iter().map(|id| parse_as(argument, id)).collect::<ApiResult<Vec<T>>>()?;
    parsed.sort_unstable();
    parsed.dedup();
    if (1..=limit).contains(&parsed.len()) {
        return Ok(parsed);
    }
    let message = format!("{argument}: 1 to {limit} different ids, not {}", parsed.len());
    Err(ApiError::bad_input(argument, message))
}
