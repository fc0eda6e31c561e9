//! The feed.

use futures_util::FutureExt;

use crate::{
    graphql::{
        definition::{
            pages::{self, FIRST, List},
            types::{Call, ObjectType, Resolve},
            values::Output,
        },
        errors::ApiResult,
        objects::note_lists::page_of_notes,
    },
    primitives::Slice,
};

const ALL: List = List("feed");
const FOLLOWED: List = List("followedFeed");

pub fn feed(query: ObjectType) -> ObjectType {
    let page = pages::arguments(FIRST);
    let following = "\"Only notes of users whom you follow; needs a token.\" following: Boolean! = false)";
    query.field(
        &format!("feed{}, {following}: NoteConnection", page.trim_end_matches(')')),
        "All notes, or only those of users whom you follow; newest first.",
        Resolve::Call(|call| notes(call).boxed()),
    )
}

async fn notes(call: Call<'_>) -> ApiResult<Output> {
    let is_following = call.arguments.flag("following");
    let list = if is_following { FOLLOWED } else { ALL };
    let request = list.request(call.arguments, FIRST)?;
    let plaudit = call.scope.plaudit();
    let notes = if is_following {
        call.scope.viewer().must_be_signed_in()?;
        match call.scope.viewer().user(plaudit).await? {
            Some(viewer) => plaudit.feed_of_followed(viewer, request).await?,
            None => Slice::default(),
        }
    } else {
        plaudit.feed(request).await?
    };
    page_of_notes(list, &request, notes, call).await
}
