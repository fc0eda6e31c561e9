//! Rankings: hot notes.

use futures_util::FutureExt;

use crate::{
    definition::{
        pages::{self, FIRST, List, ListKey},
        resolve::{Call, Resolve},
        types::{EnumType, ObjectType},
        values::Output,
    },
    errors::ApiResult,
    request::access::Who,
};
use plaudit_catalogue::{HotWindow, Span};
use plaudit_domain::{HotNotesCursor, content::rankings};

const HOT: List = List("hotNotes");

impl ListKey for HotNotesCursor {}

pub fn rankings(query: ObjectType) -> ObjectType {
    let order = "\"Of which period likes and collects count.\" orderBy: HotOrder! = DAY";
    query.field(
        &format!("hotNotes({order}, {}: NoteConnection", &pages::arguments(FIRST)[1..]),
        "The notes with the most likes and collects, at most 1,000; some seconds old. Later pages keep the order of \
         the first page.",
        Resolve::Call(|call| hot_notes(call).boxed()),
    )
    .who(Who::Anyone)
}

pub fn hot_order() -> EnumType {
    EnumType {
        name: "HotOrder",
        description: "The order of hot notes: by the likes and collects of a period, the most first.",
        values: vec![
            ("HOUR", "About the last hour."),
            ("DAY", "About the last 24 hours."),
            ("WEEK", "About the last 7 days."),
            ("ALL", "All time."),
        ],
    }
}

fn window(name: Option<&str>) -> HotWindow {
    match name {
        Some("HOUR") => HotWindow::Last(Span::Hour),
        Some("WEEK") => HotWindow::Last(Span::Week),
        Some("ALL") => HotWindow::All,
        _ => HotWindow::Last(Span::Day),
    }
}

async fn hot_notes(call: Call<'_>) -> ApiResult<Output> {
    let request = HOT.request(call.arguments, FIRST)?;
    let window = window(call.arguments.text("orderBy").as_deref());
    Ok(HOT.page(&request, rankings::hot_notes(call.scope.plaudit(), window, &request).await?))
}
