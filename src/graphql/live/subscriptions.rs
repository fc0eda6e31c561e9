//! Subscriptions: counts as they change. A root field is resolved in two ways: see [`super::fanout`].

use async_graphql::{Context, ID, Subscription};
use futures_util::future::try_join_all;

use super::topic::{Event, Rate, Shown, watch};
use crate::{
    catalogue::Entity,
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
    /// Notes whenever counts of them change: at most 100. The first message for each is its present state.
    /// When changes come faster than `maxRate`, or than they can be sent, only the latest is.
    async fn note_counts_changed(
        &self,
        ctx: &Context<'_>,
        note_ids: Vec<ID>,
        #[graphql(default_with = "Some(Rate::DEFAULT)", desc = "Events per second and object: 1 to 60.")]
        max_rate: Option<i32>,
    ) -> Result<Shown<Note>, ApiError> {
        if let Some(event) = Event::of(ctx) {
            return Ok(event.show(ctx, |entity, scope| Note::new(NoteId(entity.id), scope)));
        }
        let (scope, rate) = (Scope::of(ctx), Rate::parse(MAX_RATE, max_rate)?);
        let notes: Vec<NoteId> = parse_all(scope, "noteIds", &note_ids)?;
        let found = try_join_all(notes.iter().map(|id| scope.note(*id))).await?;
        must_exist("noteIds", &notes, &found)?;
        Ok(watch(ctx, entities(&notes), rate))
    }

    /// Users whenever counts of them change: at most 100. The first message for each is its present state.
    /// When changes come faster than `maxRate`, or than they can be sent, only the latest is.
    async fn user_counts_changed(
        &self,
        ctx: &Context<'_>,
        user_ids: Vec<ID>,
        #[graphql(default_with = "Some(Rate::DEFAULT)", desc = "Events per second and object: 1 to 60.")]
        max_rate: Option<i32>,
    ) -> Result<Shown<User>, ApiError> {
        if let Some(event) = Event::of(ctx) {
            return Ok(event.show(ctx, |entity, scope| User::new(UserId(entity.id), scope)));
        }
        let (scope, rate) = (Scope::of(ctx), Rate::parse(MAX_RATE, max_rate)?);
        let users: Vec<UserId> = parse_all(scope, "userIds", &user_ids)?;
        let found = try_join_all(users.iter().map(|id| scope.user(*id))).await?;
        must_exist("userIds", &users, &found)?;
        Ok(watch(ctx, entities(&users), rate))
    }

    /// Comments whenever counts of them change: at most 100. The first message for each is its present state.
    /// When changes come faster than `maxRate`, or than they can be sent, only the latest is.
    async fn comment_counts_changed(
        &self,
        ctx: &Context<'_>,
        comment_ids: Vec<ID>,
        #[graphql(default_with = "Some(Rate::DEFAULT)", desc = "Events per second and object: 1 to 60.")]
        max_rate: Option<i32>,
    ) -> Result<Shown<Comment>, ApiError> {
        if let Some(event) = Event::of(ctx) {
            return Ok(event.show(ctx, |entity, scope| Comment::new(CommentId(entity.id), scope)));
        }
        let (scope, rate) = (Scope::of(ctx), Rate::parse(MAX_RATE, max_rate)?);
        let comments: Vec<CommentId> = parse_all(scope, "commentIds", &comment_ids)?;
        let found = try_join_all(comments.iter().map(|id| scope.comment(*id))).await?;
        must_exist("commentIds", &comments, &found)?;
        Ok(watch(ctx, entities(&comments), rate))
    }

    /// Groups whenever counts of them change: at most 100. The first message for each is its present state.
    /// When changes come faster than `maxRate`, or than they can be sent, only the latest is.
    async fn group_counts_changed(
        &self,
        ctx: &Context<'_>,
        group_ids: Vec<ID>,
        #[graphql(default_with = "Some(Rate::DEFAULT)", desc = "Events per second and object: 1 to 60.")]
        max_rate: Option<i32>,
    ) -> Result<Shown<Group>, ApiError> {
        if let Some(event) = Event::of(ctx) {
            return Ok(event.show(ctx, |entity, scope| Group::new(GroupId(entity.id), scope)));
        }
        let (scope, rate) = (Scope::of(ctx), Rate::parse(MAX_RATE, max_rate)?);
        let groups: Vec<GroupId> = parse_all(scope, "groupIds", &group_ids)?;
        let found = try_join_all(groups.iter().map(|id| scope.group(*id))).await?;
        must_exist("groupIds", &groups, &found)?;
        Ok(watch(ctx, entities(&groups), rate))
    }

    /// Your inbox whenever its counts change; the first message is its present state. Needs a token, and
    /// makes you a user if you are none yet.
    async fn inbox_counts_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(Rate::DEFAULT)", desc = "Events per second: 1 to 60.")]
        max_rate: Option<i32>,
    ) -> Result<Shown<Inbox>, ApiError> {
        if let Some(event) = Event::of(ctx) {
            return Ok(event.show(ctx, |entity, scope| Inbox::new(UserId(entity.id), scope)));
        }
        let (scope, rate) = (Scope::of(ctx), Rate::parse(MAX_RATE, max_rate)?);
        let owner = scope.viewer().actor(scope.plaudit()).await?;
        Ok(watch(ctx, [inbox_of(owner)], rate))
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

fn must_exist<T: TypedId, B>(argument: &str, ids: &[T], found: &[Option<B>]) -> ApiResult<()> {
    match ids.iter().zip(found).find(|(_, found)| found.is_none()) {
        None => Ok(()),
        Some((id, _)) => {
            let message = format!("{argument}: there is no {} \"{}\"", T::KIND.name(), *global_id(*id));
            Err(ApiError::new(Code::NotFound, message))
        }
    }
}

fn entities<T: TypedId>(ids: &[T]) -> impl Iterator<Item = Entity> {
    ids.iter().map(|id| (*id).into())
}
