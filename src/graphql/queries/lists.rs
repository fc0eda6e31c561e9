//! Lists of all groups, and of users by name.

use futures_util::FutureExt;

use crate::{
    definition::{
        pages::{self, FIRST, List, ListKey},
        resolve::{Call, Resolve},
        types::{EnumType, ObjectType},
        values::Output,
    },
    errors::ApiResult,
    objects::lists::page_of,
    request::access::Who,
};
use plaudit_catalogue::primitives::{GroupId, UserId};
use plaudit_domain::{ByName, GroupOrder, Text, USER_PREFIX, content::groups, people::profiles};

const USERS: List = List("usersByName");

impl ListKey for ByName {}

pub fn lists(query: ObjectType) -> ObjectType {
    let page = &pages::arguments(FIRST)[1..];
    query
        .field(
            &format!("groups(\"The order of the groups.\" orderBy: GroupOrder! = MEMBERS, {page}: GroupConnection"),
            "All groups.",
            Resolve::Call(|call| groups(call).boxed()),
        )
        .who(Who::Anyone)
        .field(
            &format!("users(\"The beginning of the name, in any case: 1 to 40 characters.\" prefix: String!, {page}: UserConnection"),
            "Users whose name begins so, by name, for mentions. Without hidden users.",
            Resolve::Call(|call| users(call).boxed()),
        )
        .who(Who::Anyone)
}

pub fn group_order() -> EnumType {
    EnumType {
        name: "GroupOrder",
        description: "The order of groups.",
        values: vec![
            ("MEMBERS", "By their members, the most first. Moves while you read: drop ids that you show."),
            ("NEWEST", "By age, the youngest first."),
        ],
    }
}

/// Each order is a list of its own, so that its cursors are refused by the other.
const fn list(order: GroupOrder) -> List {
    match order {
        GroupOrder::Members => List("groupsByMembers"),
        GroupOrder::Newest => List("groupsByAge"),
    }
}

async fn groups(call: Call<'_>) -> ApiResult<Output> {
    let is_newest = call.arguments.text("orderBy").as_deref() == Some("NEWEST");
    let order = if is_newest { GroupOrder::Newest } else { GroupOrder::Members };
    let request = list(order).request(call.arguments, FIRST)?;
    let groups = groups::group_list(call.scope.plaudit(), order, &request).await?;
    page_of(list(order), &request, groups.map(|place| (place, GroupId(place.id).into())), call).await
}

async fn users(call: Call<'_>) -> ApiResult<Output> {
    let prefix = Text::parse(&call.arguments.text("prefix").unwrap_or_default(), &USER_PREFIX)?;
    let request = USERS.request(call.arguments, FIRST)?;
    let users = profiles::users_by_prefix(call.scope.plaudit(), &prefix, &request).await?;
    let users = users.map(|place| {
        let id = UserId(place.id);
        (place, id.into())
    });
    page_of(USERS, &request, users, call).await
}
