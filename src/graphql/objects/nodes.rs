//! `Node`: any object by its global id.

use std::sync::Arc;

use async_graphql::{ID, Interface};
use futures_util::future::try_join_all;

use super::{comments::Comment, groups::Group, notes::Note, users::User};
use crate::{
    catalogue::{Entity, EntityKind},
    domain,
    graphql::{
        errors::ApiResult,
        reading::{
            prefetch::{Prefetch, Selection},
            scope::Scope,
        },
    },
    primitives::{CommentId, GroupId, NoteId, UserId},
};

/// Anything that has a global id.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "ID", desc = "Opaque, and unique among all objects."))]
pub enum Node {
    User(User),
    Note(Note),
    Comment(Comment),
    Group(Group),
}

/// What a global id led to.
enum Found {
    User(UserId),
    Note(Arc<domain::Note>),
    Comment(Arc<domain::Comment>),
    Group(Arc<domain::Group>),
}

/// Finds one thing, and reads ahead what is selected in it. `None` when there is none.
pub async fn find_one(entity: Entity, selection: &Selection<'_>, scope: &Scope) -> ApiResult<Option<Node>> {
    Ok(find_all(&[entity], selection, scope).await?.into_iter().next().flatten())
}

/// Finds all in one batch per kind, and reads ahead what is selected in them.
pub async fn find_all(
    entities: &[Entity],
    selection: &Selection<'_>,
    scope: &Scope,
) -> ApiResult<Vec<Option<Node>>> {
    let found = try_join_all(entities.iter().map(|entity| find(*entity, scope))).await?;
    let mut prefetch = Prefetch::default();
    for one in found.iter().flatten() {
        match one {
            Found::User(user) => prefetch.user(*user, selection),
            Found::Note(note) => prefetch.note(note, selection),
            Found::Comment(comment) => prefetch.comment(comment, selection),
            Found::Group(group) => prefetch.group(group, selection),
        }
    }
    let scope = prefetch.read(scope).await;
    Ok(found.into_iter().map(|one| one.map(|one| node(one, &scope))).collect())
}

async fn find(entity: Entity, scope: &Scope) -> ApiResult<Option<Found>> {
    Ok(match entity.kind {
        EntityKind::User => scope.user(UserId(entity.id)).await?.map(|user| Found::User(user.id)),
        EntityKind::Note => scope.note(NoteId(entity.id)).await?.map(Found::Note),
        EntityKind::Comment => scope.comment(CommentId(entity.id)).await?.map(Found::Comment),
        EntityKind::Group => scope.group(GroupId(entity.id)).await?.map(Found::Group),
        EntityKind::Inbox => None,
    })
}

fn node(found: Found, scope: &Scope) -> Node {
    let scope = scope.clone();
    match found {
        Found::User(user) => User::new(user, scope).into(),
        Found::Note(note) => Note::new(note.id, scope).into(),
        Found::Comment(comment) => Comment::new(comment.id, scope).into(),
        Found::Group(group) => Group::new(group.id, scope).into(),
    }
}
