//! Feeds: the newest notes.

use futures_util::FutureExt;

use crate::{
    definition::{
        pages::{self, FIRST, List},
        resolve::{Call, Resolve},
        types::ObjectType,
        values::Output,
    },
    errors::ApiResult,
    objects::lists::page_of_notes,
    request::access::Who,
};
use plaudit_catalogue::primitives::Slice;
use plaudit_domain::content::feed;

const ALL: List = List("feed");
const FOLLOWED: List = List("followingFeed");

pub fn feeds(query: ObjectType) -> ObjectType {
    let page = pages::arguments(FIRST);
    query
        .field(
            &format!("feed{page}: NoteConnection"),
            "All notes, newest first.",
            Resolve::Call(|call| feed(call).boxed()),
        )
        .who(Who::Anyone)
        .field(
            &format!("followingFeed{page}: NoteConnection"),
            "Notes of users whom you follow, newest first. Needs a token.",
            Resolve::Call(|call| following_feed(call).boxed()),
        )
        .who(Who::SignedIn)
}

async fn feed(call: Call<'_>) -> ApiResult<Output> {
    let request = ALL.request(call.arguments, FIRST)?;
    let notes = feed::feed(call.scope.plaudit(), request).await?;
    page_of_notes(ALL, &request, notes, call).await
}

async fn following_feed(call: Call<'_>) -> ApiResult<Output> {
    let request = FOLLOWED.request(call.arguments, FIRST)?;
    let plaudit = call.scope.plaudit();
    let notes = match call.scope.viewer().user(plaudit).await? {
        Some(viewer) => feed::feed_of_followed(plaudit, viewer, request).await?,
        None => Slice::default(),
    };
    page_of_notes(FOLLOWED, &request, notes, call).await
}
