//! Users.

use std::sync::Arc;

use futures_util::FutureExt;

use super::{
    nodes::{ID, id},
    note_lists::page_of_notes,
};
use crate::{
    catalogue::{Counter, EdgeKind},
    domain::{Note, inbox_of},
    graphql::{
        definition::{
            pages::{self, FIRST, List},
            types::{Call, ObjectType, Resolve, count, own, row},
            values::{Object, Output},
        },
        errors::ApiResult,
    },
    primitives::{GroupId, Moment, NoteId, PageRequest, Slice, UserId},
};

const NOTES: List = List("userNotes");
const FOLLOWERS: List = List("followers");
const FOLLOWING: List = List("following");
const GROUPS: List = List("userGroups");
const LIKED: List = List("likedNotes");
const COLLECTED: List = List("collectedNotes");

pub fn user() -> ObjectType {
    let page = pages::arguments(FIRST);
    ObjectType::new("User", "A user of the app. All counts of one object are from the same moment.")
        .node()
        .field("id: ID!", ID, id())
        .field("name: String!", "The name that other users see.", row(|of| Ok(of.user()?.name.as_str().into())))
        .field(
            "createdAt: DateTime!",
            "The time of the user's first action.",
            row(|of| Ok(of.user()?.created_at.into())),
        )
        .field(
            "followerCount: Count!",
            "The number of users who follow this user.",
            count(Counter::UserFollowers),
        )
        .field(
            "followingCount: Count!",
            "The number of users whom this user follows.",
            count(Counter::UserFollowing),
        )
        .field("noteCount: Count!", "Notes that this user wrote.", count(Counter::UserNotes))
        .field(
            "commentCount: Count!",
            "The number of comments that this user wrote, including replies.",
            count(Counter::UserComments),
        )
        .field(
            "likesReceivedCount: Count!",
            "The number of likes of this user's notes. Likes of comments do not count.",
            count(Counter::UserLikesReceived),
        )
        .field(
            "collectsReceivedCount: Count!",
            "How often this user's notes were collected.",
            count(Counter::UserCollectsReceived),
        )
        .field("groupCount: Count!", "Groups that this user is a member of.", count(Counter::UserGroups))
        .field("coinCount: Count!", "Coins that this user has.", count(Counter::UserCoins))
        .field(
            "viewerIsFollowing: Boolean",
            "Whether you follow this user. Null without a token.",
            own(EdgeKind::Follow),
        )
        .field(
            &format!("notes{page}: NoteConnection"),
            "Notes that this user wrote, newest first.",
            Resolve::Call(|call| notes(call).boxed()),
        )
        .same_for_all()
        .field(
            &format!("followers{page}: UserConnection"),
            "Users who follow this user, the latest first. A follow appears here moments later, once it is in the \
             database.",
            Resolve::Call(|call| followers(call).boxed()),
        )
        .same_for_all()
        .field(
            &format!("following{page}: UserConnection"),
            "Users whom this user follows, the latest first.",
            Resolve::Call(|call| following(call).boxed()),
        )
        .same_for_all()
        .field(
            &format!("groups{page}: GroupConnection"),
            "Groups that this user is a member of, the latest joined first.",
            Resolve::Call(|call| groups(call).boxed()),
        )
        .same_for_all()
        .field(
            &format!("likedNotes{page}: NoteConnection"),
            "Notes that you like, the latest like first. Only for yourself.",
            Resolve::Call(|call| own_notes(LIKED, EdgeKind::NoteLike, call).boxed()),
        )
        .field(
            &format!("collectedNotes{page}: NoteConnection"),
            "Notes in your collection, the latest first. Only for yourself.",
            Resolve::Call(|call| own_notes(COLLECTED, EdgeKind::NoteCollect, call).boxed()),
        )
        .field("inbox: Inbox", "Your inbox. Only for yourself.", Resolve::Call(|call| inbox(call).boxed()))
        .counts_version()
}

fn user_of(call: &Call<'_>) -> ApiResult<UserId> {
    call.entity().map(|entity| UserId(entity.id))
}

/// Users, each with its place in the list.
pub fn page_of_users(list: List, request: &PageRequest<Moment>, users: Slice<Moment>) -> Output {
    list.page(request, users.map(|place| (place, UserId(place.id))))
}

async fn notes(call: Call<'_>) -> ApiResult<Output> {
    let request = NOTES.request(call.arguments, FIRST)?;
    let notes = call.scope.plaudit().notes_of_user(user_of(&call)?, request).await?;
    page_of_notes(NOTES, &request, notes, call).await
}

async fn followers(call: Call<'_>) -> ApiResult<Output> {
    let request = FOLLOWERS.request(call.arguments, FIRST)?;
    let followers = call.scope.plaudit().actors_of(EdgeKind::Follow, user_of(&call)?.0, &request).await?;
    Ok(page_of_users(FOLLOWERS, &request, followers))
}

async fn following(call: Call<'_>) -> ApiResult<Output> {
    let request = FOLLOWING.request(call.arguments, FIRST)?;
    let following = call.scope.plaudit().targets_of(user_of(&call)?, EdgeKind::Follow, &request).await?;
    Ok(page_of_users(FOLLOWING, &request, following))
}

async fn groups(call: Call<'_>) -> ApiResult<Output> {
    let request = GROUPS.request(call.arguments, FIRST)?;
    let plaudit = call.scope.plaudit();
    let Slice { items: places, has_more } =
        plaudit.targets_of(user_of(&call)?, EdgeKind::GroupJoin, &request).await?;
    let ids: Vec<GroupId> = places.iter().map(|place| GroupId(place.id)).collect();
    let groups = plaudit.groups().get_many(&ids).await?;
    let present = places.into_iter().zip(groups).filter_map(|(place, group)| Some((place, group?)));
    Ok(GROUPS.page(&request, Slice { items: present.collect(), has_more }))
}

/// A page of notes that this user has an edge to.
async fn own_notes(list: List, kind: EdgeKind, call: Call<'_>) -> ApiResult<Output> {
    let request = list.request(call.arguments, FIRST)?;
    let mut notes = present_notes(&call, kind, &request).await?;
    // A page without any would have no cursor that leads to the next one.
    while let (Slice { items, has_more: true }, Some(last)) = &notes
        && items.is_empty()
    {
        notes = present_notes(&call, kind, &PageRequest { after: Some(*last), ..request }).await?;
    }
    Ok(list.page(&request, notes.0))
}

/// The notes of a page without those that were just removed, and the end of the page.
async fn present_notes(
    call: &Call<'_>,
    kind: EdgeKind,
    request: &PageRequest<Moment>,
) -> ApiResult<(Slice<(Moment, Arc<Note>)>, Option<Moment>)> {
    let plaudit = call.scope.plaudit();
    let Slice { items: places, has_more } = plaudit.targets_of(user_of(call)?, kind, request).await?;
    let ids: Vec<NoteId> = places.iter().map(|place| NoteId(place.id)).collect();
    let notes = plaudit.notes().get_many(&ids).await?;
    let last = places.last().copied();
    let present = places.into_iter().zip(notes).filter_map(|(place, note)| Some((place, note?)));
    Ok((Slice { items: present.collect(), has_more }, last))
}

async fn inbox(call: Call<'_>) -> ApiResult<Output> {
    Ok(Object::of(inbox_of(user_of(&call)?)).into())
}
