//! Badges of an inbox.

use crate::definition::types::EnumType;
use plaudit_domain::Badge;

/// The badges: name and description.
const fn badge(badge: Badge) -> (&'static str, &'static str) {
    match badge {
        Badge::Replies => ("REPLIES", "Comments on your notes, replies to your comments, and mentions."),
        Badge::Likes => ("LIKES", "Likes of your notes and comments."),
        Badge::Followers => ("FOLLOWERS", "Users who follow you."),
        Badge::Messages => ("MESSAGES", "Messages to you."),
    }
}

pub const fn badge_name(of: Badge) -> &'static str {
    badge(of).0
}

pub fn inbox_badge() -> EnumType {
    EnumType {
        name: "InboxBadge",
        description: "A badge of the inbox: a number of unread events.",
        values: Badge::ALL.map(badge).into(),
    }
}
