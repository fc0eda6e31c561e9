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
    primitives::{CommentId, Slice},
};

pub struct Comment {
    id: CommentId,
    scope: Scope,
}

/// Whether a comment may be shown.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "State")]
enum CommentState {
    /// Not decided yet: only its author and moderators see it.
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
    /// By likes and replies, then by age, the youngest first.
    #[default]
    Hot,
    /// By age, the youngest first.
    Newest,
}

impl CommentSort {
    /// Each order is a list of its own, so that its cursors are refused by the other.
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
        let comments = Slice { items: comments.items.clone(), has_more: comments.has_more };
        let want = |prefetch: &mut Prefetch, comment: &Arc<domain::Comment>| {
            prefetch.comment(comment, selection);
        };
        let node = |comment: Arc<domain::Comment>, scope| Some(Self::new(comment.id, scope));
        Ok(sort.list().prefetched_page(&request, comments, scope, want, node).await)
    }

    /// Prefetches what is selected.
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

/// A comment on a note, or a reply to a comment. All counts of one object are from the same moment.
#[Object]
impl Comment {
    /// Opaque and unique among all objects.
    pub async fn id(&self) -> ID {
        global_id(self.id)
    }

    /// Empty if the comment was removed.
    #[graphql(name = "body")]
    async fn text(&self) -> ApiResult<String> {
        Ok(self.body().await?.body.clone())
    }

    /// Addresses of images (https) as the author wrote them. The server does not fetch them.
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

    /// Other users see the comment only once it is approved.
    async fn state(&self) -> ApiResult<CommentState> {
        Ok(self.body().await?.state.into())
    }

    /// Why the comment was rejected. Null if it was not.
    async fn rejection_reason(&self) -> ApiResult<Option<String>> {
        Ok(self.body().await?.rejected_because.clone())
    }

    /// Whether the comment was removed and only remains as a placeholder above its replies.
    async fn is_removed(&self) -> ApiResult<bool> {
        Ok(self.body().await?.is_removed)
    }

    /// The author. Null if the comment was removed, or if the user no longer exists.
    async fn author(&self, ctx: &Context<'_>) -> ApiResult<Option<User>> {
        let body = self.body().await?;
        if body.is_removed {
            return Ok(None);
        }
        User::named(body.author, &Selection::of(ctx), &self.scope).await
    }

    /// The author of the reply that this reply answers. Null if it answers the parent comment or the note.
    async fn reply_to(&self, ctx: &Context<'_>) -> ApiResult<Option<User>> {
        match self.body().await?.reply_to {
            Some(user) => User::named(user, &Selection::of(ctx), &self.scope).await,
            None => Ok(None),
        }
    }

    /// The comment that this reply is below. Null for a comment on the note itself.
    async fn parent(&self) -> ApiResult<Option<Comment>> {
        let parent = self.body().await?.parent;
        Ok(parent.map(|parent| Self::new(parent, self.scope.clone())))
    }

    /// The note that was commented on. Null if the note was removed.
    async fn note(&self) -> ApiResult<Option<Note>> {
        let note = self.body().await?.note;
        Ok(self.scope.note(note).await?.map(|_| Note::new(note, self.scope.clone())))
    }

    /// The author's rating of the note when the comment was written. Null without a rating.
    async fn rating_at_writing(&self) -> ApiResult<Option<i32>> {
        Ok(self.body().await?.rating_at_writing.map(i32::from))
    }

    /// The number of users who like it.
    async fn like_count(&self) -> ApiResult<Count> {
        self.scope.count(self.id, Counter::CommentLikes).await
    }

    /// The number of replies to the comment.
    async fn reply_count(&self) -> ApiResult<Count> {
        self.scope.count(self.id, Counter::CommentReplies).await
    }

    /// Whether you like it. Null without a token.
    async fn viewer_has_liked(&self) -> ApiResult<Option<bool>> {
        self.scope.own_edge(EdgeKind::CommentLike, self.id.0).await
    }

    /// Replies to the comment. A reply has no replies of its own: an answer to it is listed beside it.
    async fn replies(
        &self,
        ctx: &Context<'_>,
        #[graphql(default, desc = "The order of the comments.")] sort: CommentSort,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Comment>>> {
        let thread = CommentThread::Comment(self.id);
        let (first, selection) = (first.unwrap_or(FIRST), Selection::of_nodes(ctx));
        Self::page_of(thread, sort, first, after, &selection, &self.scope).await.map(Some)
    }

    /// The version of this object's counts.
    async fn counts_version(&self) -> ApiResult<CountsVersion> {
        self.scope.counts_version(self.id).await
    }
}
