//! Rankings: hot notes.

use async_graphql::{Context, Enum, Object};

use crate::{
    catalogue::{HotWindow as Window, Span},
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
};

const HOT: List = List("hotNotes");

/// The period whose likes and collects are ranked.
#[derive(Enum, Clone, Copy, PartialEq, Eq, Default)]
enum HotWindow {
    /// About the last hour.
    Hour,
    /// About the last 24 hours.
    #[default]
    Day,
    /// About the last 7 days.
    Week,
    /// All time.
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
pub struct RankingQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl RankingQueries {
    /// The notes with the most likes and collects, at most 1,000; some seconds old. Later pages keep the
    /// order of the first page.
    async fn hot_notes(
        &self,
        ctx: &Context<'_>,
        #[graphql(default, desc = "Which likes and collects count.")] window: HotWindow,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<Note>>> {
        let scope = Scope::of(ctx);
        let request = HOT.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let notes = scope.plaudit().hot_notes(window.into(), &request).await?;
        Ok(Some(Note::keyed_page(HOT, &request, notes, &Selection::of_nodes(ctx), scope).await))
    }
}
