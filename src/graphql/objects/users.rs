//! Users.

use futures_util::FutureExt;

use super::{
    lists::{
        NOTE_ORDER, page_of_actors, page_of_hottest_notes, page_of_notes, page_of_targets, wants_hottest,
    },
    nodes::{ID, id},
    suspension::suspension,
    visibility::visibility,
};
use crate::{
    definition::{
        interfaces::NODE,
        pages::{self, FIRST, List},
        resolve::{Call, FactValue, Resolve, count, own, row},
        types::ObjectType,
        values::Output,
    },
    errors::ApiResult,
    reading::facts::Reads,
    request::access::Who,
};
use plaudit_catalogue::{Counter, EdgeKind, primitives::UserId};
use plaudit_domain::{NotesOf, content::notes, people};

const NOTES: List = List("userNotes");
const HOTTEST: List = List("hottestNotesOfUser");
const FOLLOWERS: List = List("followers");
const FOLLOWING: List = List("following");
const GROUPS: List = List("userGroups");

pub fn user() -> ObjectType {
    let page = pages::arguments(FIRST);
    ObjectType::new("User", "A user of the app. All counts of one object are from the same moment.")
        .key("id")
        .key("subject")
        .implements(NODE)
        .field("id: ID!", ID, id())
        .field(
            "subject: String",
            "The subject of the user's tokens, which `ID` arguments take as `user:<subject>`. Null if you may not see it: \
             the setting `private_subjects` shows it to services, moderators and the user only, and for others it names nobody.",
            Resolve::Fact(Reads::ROW_FOR_VIEWER, FactValue::Of(|of| Ok(of.subject()?.into()))),
        )
        .field("name: String!", "The name that other users see.", row(|of| Ok(of.user()?.name.as_str().into())))
        .field(
            "avatarUrl: URL",
            "The address of a picture (https), as the user gave it. Null for none.",
            row(|of| Ok(of.user()?.avatar_url.as_deref().into())),
        )
        .field(
            "createdAt: DateTime!",
            "When the user came: the time of the first action, or what the app said as it wrote the user before that.",
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
            &format!("notes({NOTE_ORDER}, {}: NoteConnection", &page[1..]),
            "Notes that this user wrote. Those of a hidden user are for the user and moderators, newest first.",
            Resolve::Call(|call| notes(call).boxed()),
        )
        .field(
            &format!("followers{page}: FollowerConnection"),
            "Users who follow this user, the latest first. A follow appears here moments later, once it is in the \
             database.",
            Resolve::Call(|call| followers(call).boxed()),
        )
        .same_for_all()
        .field(
            &format!("following{page}: FollowedUserConnection"),
            "Users whom this user follows, the latest first.",
            Resolve::Call(|call| targets(FOLLOWING, EdgeKind::Follow, call).boxed()),
        )
        .same_for_all()
        .field(
            &format!("groups{page}: JoinedGroupConnection"),
            "Groups that this user is a member of, the latest joined first.",
            Resolve::Call(|call| targets(GROUPS, EdgeKind::GroupJoin, call).boxed()),
        )
        .same_for_all()
        .field(
            "visibility: UserVisibility",
            "Whether the user is hidden, and how far the recount is. For moderators and services.",
            Resolve::Call(|call| visibility_of(call).boxed()),
        )
        .who(Who::ModeratorOrService)
        .field(
            "suspension: Suspension",
            "The user's suspension. Null if there is none, or it has ended. For moderators and services; your own is `Viewer.suspension`.",
            Resolve::Call(|call| suspension_of(call).boxed()),
        )
        .who(Who::ModeratorOrService)
        .counts_version()
}

fn user_of(call: &Call<'_>) -> ApiResult<UserId> {
    call.entity().map(|entity| UserId(entity.id))
}

async fn notes(call: Call<'_>) -> ApiResult<Output> {
    let of = user_of(&call)?;
    if wants_hottest(&call) {
        return page_of_hottest_notes(HOTTEST, NotesOf::Author(of), call).await;
    }
    let request = NOTES.request(call.arguments, FIRST)?;
    let plaudit = call.scope.plaudit();
    // Only then are there notes that not everybody sees.
    let is_hidden = plaudit.users().get(of).await?.is_hidden;
    let with_hidden = is_hidden && call.scope.reader().is_user_or_moderator(of).await?;
    let notes = notes::notes_of_user(plaudit, of, with_hidden, request).await?;
    page_of_notes(NOTES, &request, notes, call).await
}

async fn followers(call: Call<'_>) -> ApiResult<Output> {
    page_of_actors(FOLLOWERS, EdgeKind::Follow, user_of(&call)?.0, call).await
}

async fn targets(list: List, kind: EdgeKind, call: Call<'_>) -> ApiResult<Output> {
    page_of_targets(list, kind, user_of(&call)?, call).await
}

async fn visibility_of(call: Call<'_>) -> ApiResult<Output> {
    Ok(visibility(&people::visibility::visibility(call.scope.plaudit(), user_of(&call)?).await?).into())
}

async fn suspension_of(call: Call<'_>) -> ApiResult<Output> {
    let user = call.scope.plaudit().users().get(user_of(&call)?).await?;
    Ok(suspension(&user))
}
