//! The feed.

use async_graphql::{Context, Object};

use super::{
    errors::ApiResult,
    notes::Note,
    pages::{self, Page},
    prefetch::{Prefetch, Selection},
    scope::Scope,
};
use crate::catalogue::EntityKind;

/// Notes on a page, unless the client asks for another number.
const FIRST: i32 = 20;

#[derive(Default)]
pub struct FeedQueries;

#[Object]
impl FeedQueries {
    /// All notes, newest first.
    #[graphql(complexity = "pages::cost(first, child_complexity)")]
    async fn feed(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "How many: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Those after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Note>>> {
        let scope = Scope::of(ctx);
        let request = pages::page_request(first.unwrap_or(FIRST), after.as_deref(), EntityKind::Note)?;
        let notes = scope.plaudit().feed(request).await?;

        let selection = Selection::of_nodes(ctx);
        let mut prefetch = Prefetch::default();
        for note in &notes.items {
            prefetch.note(note, &selection);
        }
        let scope = prefetch.read(scope).await;
        let nodes = notes.items.iter().map(|note| (note.id, Note::new(note.id, scope.clone())));
        Ok(Some(pages::page(request, notes.has_more, nodes)))
    }
}
