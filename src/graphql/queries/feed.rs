//! The feed.

use async_graphql::{Context, Object};

use crate::{
    graphql::{
        errors::ApiResult,
        objects::notes::Note,
        reading::{
            guards::ByTable,
            pages::{FIRST, List, Page},
            prefetch::Selection,
            scope::Scope,
        },
    },
    primitives::Slice,
};

const ALL: List = List("feed");
const FOLLOWED: List = List("followedFeed");

#[derive(Default)]
pub struct FeedQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl FeedQueries {
    /// All notes, or only those of users whom you follow; newest first.
    async fn feed(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
        #[graphql(default, desc = "Only notes of users whom you follow; needs a token.")] following: bool,
    ) -> ApiResult<Option<Page<Note>>> {
        let scope = Scope::of(ctx);
        let list = if following { FOLLOWED } else { ALL };
        let request = list.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let notes = if following {
            scope.viewer().must_be_signed_in()?;
            match scope.viewer().user(scope.plaudit()).await? {
                Some(viewer) => scope.plaudit().feed_of_followed(viewer, request).await?,
                None => Slice::default(),
            }
        } else {
            scope.plaudit().feed(request).await?
        };
        Ok(Some(Note::page(list, &request, notes, &Selection::of_nodes(ctx), scope).await))
    }
}
