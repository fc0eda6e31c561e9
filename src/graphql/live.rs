//! Subscriptions: counts as they change.

use std::collections::HashMap;

use async_graphql::{Context, ID, Subscription};
use futures_util::{Stream, future::try_join_all, stream};

use super::{
    errors::{ApiError, ApiResult, Code},
    ids::{TypedId, global_id, parse_as},
    notes::Note,
    scope::{Known, Scope},
    users::User,
};
use crate::{
    catalogue::Entity,
    primitives::{NoteId, UserId},
};

/// The most objects that one subscription watches.
const MAX_WATCHED: usize = 100;

#[derive(Default)]
pub struct Subscription;

#[Subscription]
impl Subscription {
    /// Notes whenever counts of them change: at most 100. The first message for each is its present state;
    /// when changes come faster than they can be sent, only the latest is.
    async fn note_counts_changed(
        &self,
        ctx: &Context<'_>,
        note_ids: Vec<ID>,
    ) -> Result<impl Stream<Item = Note>, ApiError> {
        let scope = Scope::of(ctx);
        let notes: Vec<NoteId> = parse_all("noteIds", &note_ids)?;
        let found = try_join_all(notes.iter().map(|id| scope.note(*id))).await?;
        must_exist("noteIds", &notes, &found)?;
        Ok(changes(scope, &notes, |entity, scope| Note::new(NoteId(entity.id), scope)))
    }

    /// Users whenever counts of them change: at most 100. The first message for each is its present state;
    /// when changes come faster than they can be sent, only the latest is.
    async fn user_counts_changed(
        &self,
        ctx: &Context<'_>,
        user_ids: Vec<ID>,
    ) -> Result<impl Stream<Item = User>, ApiError> {
        let scope = Scope::of(ctx);
        let users: Vec<UserId> = parse_all("userIds", &user_ids)?;
        let found = try_join_all(users.iter().map(|id| scope.user(*id))).await?;
        must_exist("userIds", &users, &found)?;
        Ok(changes(scope, &users, |entity, scope| User::new(UserId(entity.id), scope)))
    }
}

/// The ids, without repetitions.
fn parse_all<T: TypedId + Ord>(argument: &'static str, ids: &[ID]) -> ApiResult<Vec<T>> {
    let mut parsed = ids.iter().map(|id| parse_as(argument, id)).collect::<ApiResult<Vec<T>>>()?;
    parsed.sort_unstable();
    parsed.dedup();
    if (1..=MAX_WATCHED).contains(&parsed.len()) {
        return Ok(parsed);
    }
    let message = format!("{argument}: 1 to {MAX_WATCHED} different ids, not {}", parsed.len());
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

/// One object per change, each in a scope of its own: its counts are those of the change, and what its
/// other fields show is read then.
fn changes<T: TypedId, N>(
    scope: &Scope,
    watched: &[T],
    object: fn(Entity, Scope) -> N,
) -> impl Stream<Item = N> + use<T, N> {
    let entities: Vec<Entity> = watched.iter().map(|id| (*id).into()).collect();
    let subscriber = scope.plaudit().hub().watch(&entities);
    let scope = scope.clone();
    stream::unfold((subscriber, scope), move |(mut subscriber, scope)| async move {
        let (entity, counted) = subscriber.next().await;
        let counts = HashMap::from([(entity, Some(counted))]);
        let changed = object(entity, scope.renewed().knowing(Known { counts, ..Known::default() }));
        Some((changed, (subscriber, scope)))
    })
}
