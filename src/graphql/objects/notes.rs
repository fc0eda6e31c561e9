//! Notes.

use std::{fmt::Display, sync::Arc};

use async_graphql::{Context, ID, Object};

use super::{
    comments::{Comment, CommentSort},
    groups::Group,
    users::User,
};
use crate::{
    catalogue::{Counter, EdgeKind},
    domain::{self, CommentThread},
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
    primitives::{Id, NoteId, PageRequest, Slice},
};

/// Comments on a page by default.
const FIRST_COMMENTS: i32 = 10;

const LIKERS: List = List("likers");

pub struct Note {
    id: NoteId,
    scope: Scope,
}

impl Note {
    pub fn new(id: NoteId, scope: Scope) -> Self {
        Self { id, scope }
    }

    /// Prefetches what is selected.
    pub async fn read_ahead(note: &Arc<domain::Note>, selection: &Selection<'_>, scope: &Scope) -> Self {
        let mut prefetch = Prefetch::default();
        prefetch.note(note, selection);
        Self::new(note.id, prefetch.read(scope).await)
    }

    /// A page of notes in the order of their ids, with what is selected in them.
    pub async fn page(
        list: List,
        request: &PageRequest<Id>,
        notes: Slice<Arc<domain::Note>>,
        selection: &Selection<'_>,
        scope: &Scope,
    ) -> Page<Self> {
        let keyed = notes.map(|note| (note.id.0, note));
        Self::keyed_page(list, request, keyed, selection, scope).await
    }

    /// A page of notes, each with its key in the list.
    pub async fn keyed_page<K: Display>(
        list: List,
        request: &PageRequest<K>,
        notes: Slice<(K, Arc<domain::Note>)>,
        selection: &Selection<'_>,
        scope: &Scope,
    ) -> Page<Self> {
        let want = |prefetch: &mut Prefetch, note: &Arc<domain::Note>| prefetch.note(note, selection);
        list.prefetched_page(request, notes, scope, want, |note, scope| Some(Self::new(note.id, scope))).await
    }

    async fn body(&self) -> ApiResult<Arc<domain::Note>> {
        self.scope.note(self.id).await?.ok_or_else(|| ApiError::not_found("note"))
    }

    async fn count(&self, counter: Counter) -> ApiResult<Count> {
        self.scope.count(self.id, counter).await
    }
}

/// A note that a user posted. All counts of one object are from the same moment.
#[Object]
impl Note {
    /// Opaque and unique among all objects.
    pub async fn id(&self) -> ID {
        global_id(self.id)
    }

    async fn title(&self) -> ApiResult<String> {
        Ok(self.body().await?.title.clone())
    }

    #[graphql(name = "body")]
    async fn text(&self) -> ApiResult<String> {
        Ok(self.body().await?.body.clone())
    }

    async fn created_at(&self) -> ApiResult<DateTime> {
        Ok(self.body().await?.created_at.into())
    }

    /// The author. Null if the user no longer exists.
    async fn author(&self, ctx: &Context<'_>) -> ApiResult<Option<User>> {
        User::named(self.body().await?.author, &Selection::of(ctx), &self.scope).await
    }

    /// The group that the note was posted in. Null for none.
    async fn group(&self) -> ApiResult<Option<Group>> {
        Ok(self.body().await?.group.map(|group| Group::new(group, self.scope.clone())))
    }

    /// Whether a moderator featured the note in its group.
    async fn is_featured(&self) -> ApiResult<bool> {
        Ok(self.body().await?.is_featured)
    }

    /// The number of users who like it.
    async fn like_count(&self) -> ApiResult<Count> {
        self.count(Counter::NoteLikes).await
    }

    /// The number of users who collected it.
    async fn collect_count(&self) -> ApiResult<Count> {
        self.count(Counter::NoteCollects).await
    }

    /// The number of comments, including replies.
    async fn comment_count(&self) -> ApiResult<Count> {
        self.count(Counter::NoteComments).await
    }

    /// The number of views.
    async fn view_count(&self) -> ApiResult<Count> {
        self.count(Counter::NoteViews).await
    }

    /// The number of users who rated it.
    async fn rating_count(&self) -> ApiResult<Count> {
        self.count(Counter::NoteRatings).await
    }

    /// The mean of all ratings. Null without ratings.
    async fn rating_average(&self) -> ApiResult<Option<f64>> {
        let counts = self.scope.counted(self.id).await?.counts;
        Ok(average(counts.get(Counter::NoteRatingSum), counts.get(Counter::NoteRatings)))
    }

    /// Whether you like it. Null without a token.
    async fn viewer_has_liked(&self) -> ApiResult<Option<bool>> {
        self.scope.own_edge(EdgeKind::NoteLike, self.id.0).await
    }

    /// Whether it is in your collection. Null without a token.
    async fn viewer_has_collected(&self) -> ApiResult<Option<bool>> {
        self.scope.own_edge(EdgeKind::NoteCollect, self.id.0).await
    }

    /// Users who like it, the latest like first. A like appears here moments later, once it is in the
    /// database.
    async fn likers(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<User>>> {
        let request = LIKERS.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let likers = self.scope.plaudit().actors_of(EdgeKind::NoteLike, self.id.0, &request).await?;
        Ok(Some(User::page(LIKERS, &request, likers, &Selection::of_nodes(ctx), &self.scope).await))
    }

    /// Your rating, from 0 to 10. Null without a token, and if you have not rated the note.
    async fn viewer_rating(&self) -> ApiResult<Option<i32>> {
        self.scope.own_rating(self.id).await
    }

    /// Comments on the note itself.
    async fn comments(
        &self,
        ctx: &Context<'_>,
        #[graphql(default, desc = "The order of the comments.")] sort: CommentSort,
        #[graphql(default_with = "Some(FIRST_COMMENTS)", desc = "Number of items: 1 to 100.")] first: Option<
            i32,
        >,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Comment>>> {
        let thread = CommentThread::Note(self.id);
        let (first, selection) = (first.unwrap_or(FIRST_COMMENTS), Selection::of_nodes(ctx));
        Comment::page_of(thread, sort, first, after, &selection, &self.scope).await.map(Some)
    }

    /// Your own comments and replies here that are not public, newest first: at most 50. Empty without a
    /// token.
    async fn viewer_unpublished_comments(&self, ctx: &Context<'_>) -> ApiResult<Vec<Comment>> {
        let (scope, selection) = (&self.scope, Selection::of(ctx));
        let Some(viewer) = scope.viewer().user(scope.plaudit()).await? else { return Ok(Vec::new()) };
        let comments = scope.plaudit().unpublished_comments(viewer, self.id).await?;
        let mut prefetch = Prefetch::default();
        for comment in &comments {
            prefetch.comment(comment, &selection);
        }
        let scope = prefetch.read(scope).await;
        Ok(comments.iter().map(|comment| Comment::new(comment.id, scope.clone())).collect())
    }

    /// The version of this object's counts.
    async fn counts_version(&self) -> ApiResult<CountsVersion> {
        self.scope.counts_version(self.id).await
    }
}

fn average(sum: i64, ratings: i64) -> Option<f64> {
    (ratings > 0).then(|| sum as f64 / ratings as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_needs_a_rating() {
        assert_eq!(average(9, 2), Some(4.5));
        assert_eq!(average(0, 0), None);
    }
}
