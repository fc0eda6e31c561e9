//! Hot notes.

use async_graphql::{Context, Enum, Object};

use super::{
    errors::ApiResult,
    notes::Note,
    pages::{self, Page},
    prefetch::{Prefetch, Selection},
    scope::Scope,
};
use crate::{
    catalogue::{HotWindow as Window, Span},
    domain::HotPlace,
};

/// Notes on a page, unless the client asks for another number.
const FIRST: i32 = 20;

/// The time in which likes and collects make a note hot.
#[derive(Enum, Clone, Copy, PartialEq, Eq, Default)]
enum HotWindow {
    /// About the last hour.
    Hour,
    /// About the last 24 hours.
    #[default]
    Day,
    /// About the last 7 days.
    Week,
    /// Since ever.
    All,
}

impl From<HotWindow> for Window {
    fn from(window: HotWindow) -> Self {
        match window {
            HotWindow::Hour => Self::Last(Span::Hour),
            HotWindow::Day => Self::Last(Span::Day),
            HotWindow::Week => Self::Last(Span::Week),
            HotWindow::All => Self::All,
        }
    }
}

#[derive(Default)]
pub struct HotQueries;

#[Object]
impl HotQueries {
    /// The notes that were liked and collected most, at most 1,000; some seconds old. Later pages keep the
    /// order of the first one.
    #[graphql(complexity = "pages::cost(first, child_complexity)")]
    async fn hot_notes(
        &self,
        ctx: &Context<'_>,
        #[graphql(default, desc = "Which likes and collects count.")] window: HotWindow,
        #[graphql(default_with = "Some(FIRST)", desc = "How many: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Those after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Note>>> {
        let scope = Scope::of(ctx);
        let first = pages::size(first.unwrap_or(FIRST))?;
        let after: Option<HotPlace> = after.as_deref().map(pages::place).transpose()?;
        let notes = scope.plaudit().hot_notes(window.into(), first, after).await?;

        let selection = Selection::of_nodes(ctx);
        let mut prefetch = Prefetch::default();
        for (_, note) in &notes.items {
            prefetch.note(note, &selection);
        }
        let scope = prefetch.read(scope).await;
        let nodes = notes.items.iter().map(|(place, note)| (place, Note::new(note.id, scope.clone())));
        Ok(Some(pages::page_of(after.is_some(), notes.has_more, nodes)))
    }
}
