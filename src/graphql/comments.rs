//! Comments.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::{
    errors::{ApiError, ApiResult},
    ids::global_id,
    notes::Note,
    pages::{List, Page},
    prefetch::{Prefetch, Selection},
    scalars::{Count, CountsVersion, DateTime},
    scope::Scope,
    users::User,
};
use crate::{
    catalogue::{Counter, EdgeKind},
    domain,
    primitives::{CommentId, NoteId},
};

const COMMENTS: List = List("comments");

pub struct Comment {
    id: CommentId,
    scope: Scope,
}

impl Comment {
    pub fn new(id: CommentId, scope: Scope) -> Self {
        Self { id, scope }
    }

    /// A page of a note's comments, with what is selected in them.
    pub async fn page_of(
        note: NoteId,
        first: i32,
        after: Option<String>,
        selection: &Selection<'_>,
        scope: &Scope,
    ) -> ApiResult<Page<Self>> {
        let request = COMMENTS.page_request(first, after.as_deref())?;
        let comments = scope.plaudit().comments_of_note(note, request).await?;
        let mut prefetch = Prefetch::default();
        for comment in &comments.items {
            prefetch.comment(comment, selection);
        }
        let scope = prefetch.read(scope).await;
        let nodes = comments.items.iter().map(|comment| (comment.id.0, Self::new(comment.id, scope.clone())));
        Ok(COMMENTS.page(&request, comments.has_more, nodes))
    }

    /// Reads ahead what is selected.
    pub async fn read_ahead(
        comment: &Arc<domain::Comment>,
        selection: &Selection<'_>,
        scope: &Scope,
    ) -> Self {
        let mut prefetch = Prefetch::default();
        prefetch.comment(comment, selection);
        Self::new(comment.id, prefetch.read(scope).await)
    }

    async fn body(&self) -> ApiResult<Arc<domain::Comment>> {
        self.scope.comment(self.id).await?.ok_or_else(|| ApiError::not_found("comment"))
    }
}

/// What somebody wrote under a note. All counts of one object are of the same moment.
#[Object]
impl Comment {
    /// Opaque, and unique among all objects.
    pub async fn id(&self) -> ID {
        global_id(self.id)
    }

    #[graphql(name = "body")]
    async fn text(&self) -> ApiResult<String> {
        Ok(self.body().await?.body.clone())
    }

    async fn created_at(&self) -> ApiResult<DateTime> {
        Ok(self.body().await?.created_at.into())
    }

    /// Who wrote it. Null when there is no such user any more.
    async fn author(&self, ctx: &Context<'_>) -> ApiResult<Option<User>> {
        User::named(self.body().await?.author, &Selection::of(ctx), &self.scope).await
    }

    /// What it is about. Null when the note was removed.
    async fn note(&self) -> ApiResult<Option<Note>> {
        let note = self.body().await?.note;
        Ok(self.scope.note(note).await?.map(|_| Note::new(note, self.scope.clone())))
    }

    /// How many like it.
    async fn like_count(&self) -> ApiResult<Count> {
        self.scope.count(self.id, Counter::CommentLikes).await
    }

    /// All replies below it.
    async fn reply_count(&self) -> ApiResult<Count> {
        self.scope.count(self.id, Counter::CommentReplies).await
    }

    /// Whether you like it. Null without a token.
    async fn viewer_has_liked(&self) -> ApiResult<Option<bool>> {
        self.scope.own_edge(EdgeKind::CommentLike, self.id.0).await
    }

    /// Version of this object's counts.
    async fn counts_version(&self) -> ApiResult<CountsVersion> {
        self.scope.counts_version(self.id).await
    }
}
