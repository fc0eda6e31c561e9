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
#[graphql(field(name = "id", ty = "ID", desc = "Opaque and unique among all objects."))]
pub enum Node {
    User(User),
    Note(Note),
    Comment(Comment),
    Group(Group),
}

/// The object that a global id leads to.
enum NodeLookup {
    User(UserId),
    Note(Arc<domain::Note>),
    Comment(Arc<domain::Comment>),
    Group(Arc<domain::Group>),
}

/// Finds an object and prefetches what is selected in it. `None` if it does not exist.
pub async fn find_one(entity: Entity, selection: &Selection<'_>, scope: &Scope) -> ApiResult<Option<Node>> {
    Ok(find_all(&[entity], selection, scope).await?.into_iter().next().flatten())
}

/// Finds objects in one batch per kind, and prefetches what is selected in them.
pub async fn find_all(
    entities: &[Entity],
    selection: &Selection<'_>,
    scope: &Scope,
) -> ApiResult<Vec<Option<Node>>> {
    let found = try_join_all(entities.iter().map(|entity| find(*entity, scope))).await?;
    let mut prefetch = Prefetch::default();
    for one in found.iter().flatten() {
        match one {
            NodeLookup::User(user) => prefetch.user(*user, selection),
            NodeLookup::Note(note) => prefetch.note(note, selection),
            NodeLookup::Comment(comment) => prefetch.comment(comment, selection),
            NodeLookup::Group(group) => prefetch.group(group, selection),
        }
    }
    let scope = prefetch.read(scope).await;
    Ok(found.into_iter().map(|one| one.map(|one| node(one, &scope))).collect())
}

async fn find(entity: Entity, scope: &Scope) -> ApiResult<Option<NodeLookup>> {
    Ok(match entity.kind {
        EntityKind::User => scope.user(UserId(entity.id)).await?.map(|user| NodeLookup::User(user.id)),
        EntityKind::Note => scope.note(NoteId(entity.id)).await?.map(NodeLookup::Note),
        EntityKind::Comment => scope.comment(CommentId(entity.id)).await?.map(NodeLookup::Comment),
        EntityKind::Group => scope.group(GroupId(entity.id)).await?.map(NodeLookup::Group),
        EntityKind::Inbox => None,
    })
}

fn node(found: NodeLookup, scope: &Scope) -> Node {
    let scope = scope.clone();
    match found {
        NodeLookup::User(user) => User::new(user, scope).into(),
        NodeLookup::Note(note) => Note::new(note.id, scope).into(),
        NodeLookup::Comment(comment) => Comment::new(comment.id, scope).into(),
        NodeLookup::Group(group) => Group::new(group.id, scope).into(),
    }
}
