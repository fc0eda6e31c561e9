//! Subscriptions: counts as they change.

use std::collections::HashMap;

use async_graphql::{Context, ID, Subscription};
use futures_util::{Stream, future::try_join_all, stream};

use super::{
    access::ByTable,
    comments::Comment,
    errors::{ApiError, ApiResult, Code},
    groups::Group,
    ids::{TypedId, global_id, parse_as},
    inbox::Inbox,
    notes::Note,
    scope::{Known, Scope},
    users::User,
};
use crate::{
    catalogue::Entity,
    domain::inbox_of,
    primitives::{CommentId, GroupId, NoteId, UserId},
};

#[derive(Default)]
pub struct Subscription;

#[Subscription(guard = "ByTable(\"Subscription\")")]
impl Subscription {
    /// Notes whenever counts of them change: at most 100. The first message for each is its present state;
    /// when changes come faster than they can be sent, only the latest is.
    async fn note_counts_changed(
        &self,
        ctx: &Context<'_>,
        note_ids: Vec<ID>,
    ) -> Result<impl Stream<Item = Note>, ApiError> {
        let scope = Scope::of(ctx);
        let notes: Vec<NoteId> = parse_all(scope, "noteIds", &note_ids)?;
        let found = try_join_all(notes.iter().map(|id| scope.note(*id))).await?;
        must_exist("noteIds", &notes, &found)?;
        Ok(changes(scope, entities(&notes), |entity, scope| Note::new(NoteId(entity.id), scope)))
    }

    /// Users whenever counts of them change: at most 100. The first message for each is its present state;
    /// when changes come faster than they can be sent, only the latest is.
    async fn user_counts_changed(
        &self,
        ctx: &Context<'_>,
        user_ids: Vec<ID>,
    ) -> Result<impl Stream<Item = User>, ApiError> {
        let scope = Scope::of(ctx);
        let users: Vec<UserId> = parse_all(scope, "userIds", &user_ids)?;
        let found = try_join_all(users.iter().map(|id| scope.user(*id))).await?;
        must_exist("userIds", &users, &found)?;
        Ok(changes(scope, entities(&users), |entity, scope| User::new(UserId(entity.id), scope)))
    }

    /// Comments whenever counts of them change: at most 100. The first message for each is its present
    /// state; when changes come faster than they can be sent, only the latest is.
    async fn comment_counts_changed(
        &self,
        ctx: &Context<'_>,
        comment_ids: Vec<ID>,
    ) -> Result<impl Stream<Item = Comment>, ApiError> {
        let scope = Scope::of(ctx);
        let comments: Vec<CommentId> = parse_all(scope, "commentIds", &comment_ids)?;
        let found = try_join_all(comments.iter().map(|id| scope.comment(*id))).await?;
        must_exist("commentIds", &comments, &found)?;
        Ok(changes(scope, entities(&comments), |entity, scope| Comment::new(CommentId(entity.id), scope)))
    }

    /// Groups whenever counts of them change: at most 100. The first message for each is its present state;
    /// when changes come faster than they can be sent, only the latest is.
    async fn group_counts_changed(
        &self,
        ctx: &Context<'_>,
        group_ids: Vec<ID>,
    ) -> Result<impl Stream<Item = Group>, ApiError> {
        let scope = Scope::of(ctx);
        let groups: Vec<GroupId> = parse_all(scope, "groupIds", &group_ids)?;
        let found = try_join_all(groups.iter().map(|id| scope.group(*id))).await?;
        must_exist("groupIds", &groups, &found)?;
        Ok(changes(scope, entities(&groups), |entity, scope| Group::new(GroupId(entity.id), scope)))
    }

    /// Your inbox whenever its counts change; the first message is its present state. Needs a token, and
    /// makes you a user if you are none yet.
    async fn inbox_counts_changed(&self, ctx: &Context<'_>) -> Result<impl Stream<Item = Inbox>, ApiError> {
        let scope = Scope::of(ctx);
        let owner = scope.viewer().actor(scope.plaudit()).await?;
        Ok(changes(scope, vec![inbox_of(owner)], |entity, scope| Inbox::new(UserId(entity.id), scope)))
    }
}

/// The ids, without repetitions.
fn parse_all<T: TypedId + Ord>(scope: &Scope, argument: &'static str, ids: &[ID]) -> ApiResult<Vec<T>> {
    let limit = scope.plaudit().limits().topics as usize;
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

fn entities<T: TypedId>(ids: &[T]) -> Vec<Entity> {
    ids.iter().map(|id| (*id).into()).collect()
}

/// One object per change, each in a scope of its own: its counts are those of the change, and what its
/// other fields show is read then.
fn changes<N>(
    scope: &Scope,
    watched: Vec<Entity>,
    object: fn(Entity, Scope) -> N,
) -> impl Stream<Item = N> + use<N> {
    let subscriber = scope.plaudit().hub().watch(&watched);
    let scope = scope.clone();
    stream::unfold((subscriber, scope), move |(mut subscriber, scope)| async move {
        let (entity, counted) = subscriber.next().await;
        let counts = HashMap::from([(entity, Some(counted))]);
        let changed = object(entity, scope.renewed().knowing(Known { counts, ..Known::default() }));
        Some((changed, (subscriber, scope)))
    })
}
