//! Comments.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object};

use super::{notes::Note, users::User};
use crate::{
    catalogue::{Counter, EdgeKind},
    domain::{self, CommentState as State, CommentThread},
    graphql::{
        errors::{ApiError, ApiResult},
        reading::{
            pages::{FIRST, List, Page},
            prefetch::{Prefetch, Selection},
            scope::Scope,
        },
        request::{
            ids::global_id,
            scalars::{Count, CountsVersion, DateTime},
        },
    },
    primitives::CommentId,
};

pub struct Comment {
    id: CommentId,
    scope: Scope,
}

/// Whether a comment may be shown.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "State")]
enum CommentState {
    /// Not judged yet: only its author and moderators see it.
    Pending,
    /// Everybody sees it.
    Approved,
    /// Only its author and moderators see it.
    Rejected,
}

/// The order of comments.
#[derive(Enum, Clone, Copy, PartialEq, Eq, Default)]
#[graphql(remote = "domain::CommentSort")]
pub enum CommentSort {
    /// By likes and replies, and by age: young comments first among equals.
    #[default]
    Hot,
    /// By age, the youngest first.
    Newest,
}

impl CommentSort {
    /// A cursor of one order is not taken for one of another.
    const fn list(self) -> List {
        match self {
            Self::Hot => List("hotComments"),
            Self::Newest => List("newestComments"),
        }
    }
}

impl Comment {
    pub fn new(id: CommentId, scope: Scope) -> Self {
        Self { id, scope }
    }

    /// A page of a thread, with what is selected in its comments.
    pub async fn page_of(
        thread: CommentThread,
        sort: CommentSort,
        first: i32,
        after: Option<String>,
        selection: &Selection<'_>,
        scope: &Scope,
    ) -> ApiResult<Page<Self>> {
        let request = sort.list().page_request(first, after.as_deref())?;
        let comments = scope.thread(thread, sort.into(), &request).await?;
        let mut prefetch = Prefetch::default();
        for (_, comment) in &comments.items {
            prefetch.comment(comment, selection);
        }
        let scope = prefetch.read(scope).await;
        let nodes =
            comments.items.iter().map(|(place, comment)| (*place, Self::new(comment.id, scope.clone())));
        Ok(sort.list().page(&request, comments.has_more, nodes))
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

    /// Empty when it was removed.
    #[graphql(name = "body")]
    async fn text(&self) -> ApiResult<String> {
        Ok(self.body().await?.body.clone())
    }

    /// Addresses of images, as the author gave them: https, and not fetched by us.
    async fn images(&self) -> ApiResult<Vec<String>> {
        Ok(self.body().await?.images.clone())
    }

    /// Users whom the author mentioned.
    async fn mentions(&self) -> ApiResult<Vec<User>> {
        let body = self.body().await?;
        Ok(body.mentions.iter().map(|user| User::new(*user, self.scope.clone())).collect())
    }

    async fn created_at(&self) -> ApiResult<DateTime> {
        Ok(self.body().await?.created_at.into())
    }

    /// Others see it only when it is approved.
    async fn state(&self) -> ApiResult<CommentState> {
        Ok(self.body().await?.state.into())
    }

    /// Why it was rejected. Null when it was not.
    async fn rejection_reason(&self) -> ApiResult<Option<String>> {
        Ok(self.body().await?.rejected_because.clone())
    }

    /// Whether it was removed, and is only the place above its replies.
    async fn is_removed(&self) -> ApiResult<bool> {
        Ok(self.body().await?.is_removed)
    }

    /// Who wrote it. Null when it was removed, or there is no such user any more.
    async fn author(&self, ctx: &Context<'_>) -> ApiResult<Option<User>> {
        let body = self.body().await?;
        if body.is_removed {
            return Ok(None);
        }
        User::named(body.author, &Selection::of(ctx), &self.scope).await
    }

    /// The user whose reply this reply answers. Null when it answers the comment above it, or the note.
    async fn reply_to(&self, ctx: &Context<'_>) -> ApiResult<Option<User>> {
        match self.body().await?.reply_to {
            Some(user) => User::named(user, &Selection::of(ctx), &self.scope).await,
            None => Ok(None),
        }
    }

    /// The comment below which this reply stands. Null for a comment on the note itself.
    async fn parent(&self) -> ApiResult<Option<Comment>> {
        let parent = self.body().await?.parent;
        Ok(parent.map(|parent| Self::new(parent, self.scope.clone())))
    }

    /// What it is about. Null when the note was removed.
    async fn note(&self) -> ApiResult<Option<Note>> {
        let note = self.body().await?.note;
        Ok(self.scope.note(note).await?.map(|_| Note::new(note, self.scope.clone())))
    }

    /// How the author rated the note when this was written. Null without a rating.
    async fn rating_at_writing(&self) -> ApiResult<Option<i32>> {
        Ok(self.body().await?.rating_at_writing.map(i32::from))
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

    /// Replies below it. A reply has none of its own: what answers it stands beside it.
    async fn replies(
        &self,
        ctx: &Context<'_>,
        #[graphql(default, desc = "Their order.")] sort: CommentSort,
        #[graphql(default_with = "Some(FIRST)", desc = "How many: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Those after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Comment>>> {
        let thread = CommentThread::Comment(self.id);
        let (first, selection) = (first.unwrap_or(FIRST), Selection::of_nodes(ctx));
        Self::page_of(thread, sort, first, after, &selection, &self.scope).await.map(Some)
    }

    /// Version of this object's counts.
    async fn counts_version(&self) -> ApiResult<CountsVersion> {
        self.scope.counts_version(self.id).await
    }
}
