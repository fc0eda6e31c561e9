//! Inboxes.

use futures_util::FutureExt;

use super::{inbox_entries::page_of_entries, nodes::id};
use crate::{
    catalogue::Counter,
    domain::Badge,
    graphql::{
        definition::{
            pages::{self, FIRST},
            types::{ObjectType, Resolve, counted},
            values::Scalar,
        },
        errors::ApiResult,
        reading::facts::View,
    },
};

pub fn inbox() -> ObjectType {
    ObjectType::new(
        "Inbox",
        "A user's notifications. Only the owner sees them. All counts of one object are from the same moment.",
    )
    .field("id: ID!", "Opaque and unique among all objects. `node` does not accept it.", id())
    .field(
        "unreadReplyCount: Count!",
        "Unread comments on your notes and replies to your comments.",
        counted(|of| unread(of, Badge::Replies)),
    )
    .field(
        "unreadLikeCount: Count!",
        "Unread likes of your notes and comments. A like that is taken back still counts.",
        counted(|of| unread(of, Badge::Likes)),
    )
    .field("unreadFollowerCount: Count!", "Unread followers.", counted(|of| unread(of, Badge::Followers)))
    .field(
        "unreadMessageCount: Count!",
        "Users who wrote to you for the first time since you last marked messages as read.",
        counted(|of| unread(of, Badge::Messages)),
    )
    .field(
        &format!("entries{}: InboxEntryConnection", pages::arguments(FIRST)),
        "Your notifications, newest first.",
        Resolve::Call(|call| page_of_entries(call).boxed()),
    )
    .counts_version()
}

fn unread(of: &View<'_>, badge: Badge) -> ApiResult<Scalar<'static>> {
    let counts = &of.counted()?.counts;
    let total = |counter: Counter| counts.get(counter);
    let (received, read) = badge.counters();
    Ok(Scalar::Int((total(received) - total(read)).max(0)))
}
