//! The viewer: who asks, and what only they see.

use std::str::FromStr;

use futures_util::FutureExt;

use super::{
    coins,
    lists::{page_of, page_of_notes, page_of_targets},
    suspension::suspension,
};
use crate::{
    definition::{
        pages::{self, FIRST, List, ListKey},
        resolve::{Call, Resolve},
        types::ObjectType,
        values::{Object, Output},
    },
    errors::ApiResult,
};
use plaudit_catalogue::{
    EdgeKind,
    primitives::{CommentId, Id, Moment, Slice, UserId},
};
use plaudit_domain::{
    content::{comments, notes},
    inbox_of, people,
};

const LIKED_NOTES: List = List("likedNotes");
const LIKED_COMMENTS: List = List("likedComments");
const COLLECTED_NOTES: List = List("collectedNotes");
const UNPUBLISHED: List = List("unpublishedComments");
const UNPUBLISHED_NOTES: List = List("unpublishedNotes");
const COINS: List = List("coinEntries");

pub fn viewer() -> ObjectType {
    let page = pages::arguments(FIRST);
    ObjectType::new("Viewer", "You: what only you see.")
        .field(
            "user: User",
            "Your user, as others see it. Null before your first action, unless your app has written your user before.",
            Resolve::Call(|call| own_user(call).boxed()),
        )
        .field(
            "inbox: Inbox",
            "Your inbox. Null as long as you have no user.",
            Resolve::Call(|call| inbox(call).boxed()),
        )
        .field(
            "suspension: Suspension",
            "Your suspension: until it ends, your actions are refused. Null if there is none.",
            Resolve::Call(|call| own_suspension(call).boxed()),
        )
        .field(
            &format!("likedNotes{page}: LikedNoteConnection"),
            "Notes that you like, the latest like first.",
            Resolve::Call(|call| targets(LIKED_NOTES, EdgeKind::NoteLike, call).boxed()),
        )
        .field(
            &format!("likedComments{page}: LikedCommentConnection"),
            "Comments that you like, the latest like first.",
            Resolve::Call(|call| targets(LIKED_COMMENTS, EdgeKind::CommentLike, call).boxed()),
        )
        .field(
            &format!("collectedNotes{page}: CollectedNoteConnection"),
            "Notes in your collection, the latest first.",
            Resolve::Call(|call| targets(COLLECTED_NOTES, EdgeKind::NoteCollect, call).boxed()),
        )
        .field(
            &format!("unpublishedComments{page}: CommentConnection"),
            "Your comments that are not public, newest first.",
            Resolve::Call(|call| unpublished(call).boxed()),
        )
        .field(
            &format!("unpublishedNotes{page}: NoteConnection"),
            "Your notes that are not public, newest first.",
            Resolve::Call(|call| unpublished_notes(call).boxed()),
        )
        .field(
            &format!("coinEntries{page}: CoinEntryConnection"),
            "Your ledger of coins, newest first.",
            Resolve::Call(|call| coin_entries(call).boxed()),
        )
}

/// The viewer's user; `None` before the first action, unless the app wrote one.
async fn user(call: Call<'_>) -> ApiResult<Option<UserId>> {
    call.scope.viewer().user(call.scope.plaudit()).await
}

async fn own_user(call: Call<'_>) -> ApiResult<Output> {
    Ok(Output::optional(user(call).await?.map(Object::sought)))
}

async fn inbox(call: Call<'_>) -> ApiResult<Output> {
    Ok(Output::optional(user(call).await?.map(|user| Object::of(inbox_of(user)))))
}

async fn own_suspension(call: Call<'_>) -> ApiResult<Output> {
    let Some(user) = user(call).await? else { return Ok(Output::NULL) };
    let user = call.scope.plaudit().users().get(user).await?;
    Ok(suspension(&user))
}

async fn targets(list: List, kind: EdgeKind, call: Call<'_>) -> ApiResult<Output> {
    match user(call).await? {
        Some(user) => page_of_targets(list, kind, user, call).await,
        None => empty::<Moment>(list, call),
    }
}

async fn unpublished(call: Call<'_>) -> ApiResult<Output> {
    let Some(user) = user(call).await? else { return empty::<Moment>(UNPUBLISHED, call) };
    let request = UNPUBLISHED.request(call.arguments, FIRST)?;
    let comments = comments::unpublished_comments_of(call.scope.plaudit(), user, &request).await?;
    page_of(UNPUBLISHED, &request, comments.map(|place| (place, CommentId(place.id).into())), call).await
}

async fn unpublished_notes(call: Call<'_>) -> ApiResult<Output> {
    let Some(user) = user(call).await? else { return empty::<Moment>(UNPUBLISHED_NOTES, call) };
    let request = UNPUBLISHED_NOTES.request(call.arguments, FIRST)?;
    let notes = notes::unpublished_notes_of(call.scope.plaudit(), user, request).await?;
    page_of_notes(UNPUBLISHED_NOTES, &request, notes, call).await
}

async fn coin_entries(call: Call<'_>) -> ApiResult<Output> {
    let Some(user) = user(call).await? else { return empty::<Id>(COINS, call) };
    let request = COINS.request(call.arguments, FIRST)?;
    let entries = people::coins::coin_entries(call.scope.plaudit(), user, &request).await?;
    Ok(COINS.page(&request, entries.map(|entry| (entry.id, coins::object(entry)))))
}

/// The page of a list that is empty because the viewer has no user yet.
fn empty<K: ListKey + FromStr>(list: List, call: Call<'_>) -> ApiResult<Output> {
    let request = list.request::<K>(call.arguments, FIRST)?;
    Ok(list.page(&request, Slice { items: Vec::<(K, Object)>::new(), has_more: false }))
}
