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
    /// The kind by its name in the store, and the kind of object it is about. `None` for a kind of a later
    /// release.
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
    /// A page of entries. Prefetches what is selected of the actors.
    pub async fn page(
        request: &PageRequest<Id>,
        entries: Slice<domain::InboxEntry>,
        selection: &Selection<'_>,
        scope: &Scope,
    ) -> Page<Self> {
        let entries = entries.map(|entry| (entry.id, entry));
        let actor = selection.inside("actor");
        let want = |prefetch: &mut Prefetch, entry: &domain::InboxEntry| prefetch.user(entry.actor, &actor);
        let node = |row: domain::InboxEntry, scope| {
            let (kind, about) = InboxEntryKind::read(&row.kind)?;
            let about = Entity::new(about, row.target);
            Some(Self { kind, about, row, scope })
        };
        ENTRIES.prefetched_page(request, entries, scope, want, node).await
    }
}

/// One notification: the first time that a user did something to you, your note or your comment.
#[Object]
impl InboxEntry {
    /// Opaque and unique among all objects. `node` does not accept it.
    async fn id(&self) -> ID {
        ID(format!("entry_{}", self.row.id))
    }

    async fn kind(&self) -> InboxEntryKind {
        self.kind
    }

    /// The user who did it. Null if the user no longer exists.
    async fn actor(&self, ctx: &Context<'_>) -> ApiResult<Option<User>> {
        User::named(self.row.actor, &Selection::of(ctx), &self.scope).await
    }

    /// The object of the notification: your note or comment, the new comment, or you. Null if it was removed.
    async fn about(&self, ctx: &Context<'_>) -> ApiResult<Option<Node>> {
        find_one(self.about, &Selection::of(ctx), &self.scope).await
    }

    async fn created_at(&self) -> DateTime {
        self.row.created_at.into()
    }
}
