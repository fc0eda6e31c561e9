//! Inboxes.

use futures_util::FutureExt;

use super::{inbox_entries::page_of_entries, nodes::id};
use crate::{
    definition::{
        pages::{self, FIRST},
        resolve::{Resolve, counted},
        types::ObjectType,
        values::Scalar,
    },
    errors::ApiResult,
    reading::view::View,
};
use plaudit_domain::Badge;

pub fn inbox() -> ObjectType {
    ObjectType::new(
        "Inbox",
        "A user's notifications. Only the owner sees them. All counts of one object are from the same moment.",
    )
    .field("id: ID!", "Opaque and unique among all objects. `node` does not accept it.", id())
    .field(
        "unreadReplyCount: Count!",
        "Unread comments on your notes, replies to your comments, and mentions of you.",
        counted(|of| unread(of, Badge::Replies)),
    )
    .field(
        "unreadLikeCount: Count!",
        "Unread likes of your notes and comments. One that is taken back before you read it does not count.",
        counted(|of| unread(of, Badge::Likes)),
    )
    .field("unreadFollowerCount: Count!", "Unread followers.", counted(|of| unread(of, Badge::Followers)))
    .field(
        "unreadMessageCount: Count!",
        "Unread messages, however many users sent them.",
        counted(|of| unread(of, Badge::Messages)),
    )
    .field(
        &format!("entries{}: InboxEntryConnection", pages::arguments(FIRST)),
        "Your notifications, newest first. One that gets a new event moves to the top.",
        Resolve::Call(|call| page_of_entries(call).boxed()),
    )
    .counts_version()
}

fn unread(of: &View<'_>, badge: Badge) -> ApiResult<Scalar<'static>> {
    Ok(Scalar::Int(of.counted()?.counts.get(badge.counter()).max(0)))
}
