//! Entries of an inbox.

use async_graphql::{Context, Enum, ID, Object};

use super::{
    nodes::{Node, find_one},
    users::User,
};
use crate::{
    catalogue::{Entity, EntityKind},
    domain,
    graphql::{
        errors::ApiResult,
        reading::{
            pages::{List, Page},
            prefetch::{Prefetch, Selection},
            scope::Scope,
        },
        request::scalars::DateTime,
    },
    primitives::{Id, PageRequest, Slice},
};

pub const ENTRIES: List = List("inbox");

/// What happened.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub enum InboxEntryKind {
    /// Somebody liked your note.
    NoteLiked,
    /// Somebody liked your comment.
    CommentLiked,
    /// Somebody follows you.
    Followed,
    /// Somebody commented on your note.
    NoteCommented,
    /// Somebody replied to your comment.
    CommentAnswered,
    /// Somebody mentioned you in a comment.
    Mentioned,
    /// Somebody wrote to you.
    MessageReceived,
}

impl InboxEntryKind {
    /// By the name in the store, and what such an entry is about. `None` for what a later release wrote.
    fn read(name: &str) -> Option<(Self, EntityKind)> {
        Some(match name {
            "note_like" => (Self::NoteLiked, EntityKind::Note),
            "comment_like" => (Self::CommentLiked, EntityKind::Comment),
            "follow" => (Self::Followed, EntityKind::User),
            "comment" => (Self::NoteCommented, EntityKind::Comment),
            "reply" => (Self::CommentAnswered, EntityKind::Comment),
            "mention" => (Self::Mentioned, EntityKind::Comment),
            "direct_message" => (Self::MessageReceived, EntityKind::User),
            _ => return None,
        })
    }
}

pub struct InboxEntry {
    kind: InboxEntryKind,
    about: Entity,
    row: domain::InboxEntry,
    scope: Scope,
}

impl InboxEntry {
    /// A page of entries, with what is selected of who did it.
    pub async fn page(
        request: &PageRequest<Id>,
        entries: Slice<domain::InboxEntry>,
        selection: &Selection<'_>,
        scope: &Scope,
    ) -> Page<Self> {
        let mut prefetch = Prefetch::default();
        for entry in &entries.items {
            prefetch.user(entry.actor, &selection.inside("actor"));
        }
        let scope = prefetch.read(scope).await;
        let entry = |row: domain::InboxEntry| {
            let (kind, about) = InboxEntryKind::read(&row.kind)?;
            let about = Entity::new(about, row.target);
            Some((row.id, Self { kind, about, row, scope: scope.clone() }))
        };
        ENTRIES.page(request, entries.has_more, entries.items.into_iter().filter_map(entry))
    }
}

/// One thing that reached you: the first time that somebody did something to something of yours.
#[Object]
impl InboxEntry {
    /// Opaque, and unique among all objects. Not an id for `node`.
    async fn id(&self) -> ID {
        ID(format!("entry_{}", self.row.id))
    }

    async fn kind(&self) -> InboxEntryKind {
        self.kind
    }

    /// Who did it. Null when there is no such user any more.
    async fn actor(&self, ctx: &Context<'_>) -> ApiResult<Option<User>> {
        User::named(self.row.actor, &Selection::of(ctx), &self.scope).await
    }

    /// What it was done to: your note or comment, the comment that was written, or you. Null when that was
    /// removed.
    async fn about(&self, ctx: &Context<'_>) -> ApiResult<Option<Node>> {
        find_one(self.about, &Selection::of(ctx), &self.scope).await
    }

    async fn created_at(&self) -> DateTime {
        self.row.created_at.into()
    }
}
