//! Marking the inbox as read, and recording direct messages.

use futures_util::FutureExt;

use super::action::{Action, Mutation, payload};
use crate::{
    domain::{Badge, DirectMessage, inbox_of},
    graphql::{
        definition::{
            arguments::Arguments,
            types::{Call, EnumType},
            values::{Object, Output},
        },
        errors::{ApiError, ApiResult},
    },
    primitives::UserId,
};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "markInboxRead",
        description: "Marks your notifications under these counters as read.",
        input: &[("kinds: [InboxKind!]!", "The counters to reset: at least one.")],
        changed: "False when there was nothing unread.",
        payload: &[("inbox: Inbox!", "Your inbox, with its new counts.")],
        act: |call| mark_read(call).boxed(),
    },
    Mutation {
        name: "recordDirectMessage",
        description: "Notifies a user that somebody wrote to them. For services, which keep the messages themselves.",
        input: &[
            ("senderId: ID!", "The user who wrote."),
            ("recipientId: ID!", "The user who received the message."),
        ],
        changed: "False when this sender has written to this recipient before.",
        payload: &[("recipient: User!", "The user who received the message.")],
        act: |call| record_direct_message(call).boxed(),
    },
];

/// Counters of the inbox: name and description.
const KINDS: [(Badge, &str, &str); 4] = [
    (Badge::Replies, "REPLIES", "Comments on your notes and replies to your comments."),
    (Badge::Likes, "LIKES", "Likes of your notes and comments."),
    (Badge::NewFollowers, "NEW_FOLLOWERS", "Who follows you."),
    (Badge::DirectMessages, "DIRECT_MESSAGES", "Who wrote to you."),
];

pub fn inbox_kind() -> EnumType {
    EnumType {
        name: "InboxKind",
        description: "A counter of the inbox.",
        values: KINDS.iter().map(|(_, name, description)| (*name, *description)).collect(),
    }
}

async fn mark_read(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let badges = badges("kinds", &action.input)?;
    let owner = action.actor().await?;
    let outcome = action.plaudit().mark_inbox_read(owner, &badges, action.key()).await?;
    Ok(payload(outcome.changed, [("inbox", Object::of(inbox_of(owner)).into())]))
}

async fn record_direct_message(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let sender: UserId = action.input.id("senderId")?;
    let recipient: UserId = action.input.id("recipientId")?;
    let message = DirectMessage::new(sender, recipient)?;
    let service = action.actor().await?;
    let outcome = action.plaudit().record_direct_message(service, message, action.key()).await?;
    Ok(payload(outcome.changed, [("recipient", recipient.into())]))
}

/// Without duplicates, in order.
fn badges(argument: &'static str, input: &Arguments) -> ApiResult<Vec<Badge>> {
    let named = input.texts(argument);
    let is_named = |(_, name, _): &&(Badge, &str, &str)| named.iter().any(|named| named == name);
    let badges: Vec<Badge> = KINDS.iter().filter(is_named).map(|(badge, ..)| *badge).collect();
    if badges.is_empty() {
        let message = format!("{argument}: name at least one of the badges");
        return Err(ApiError::bad_input(argument, message));
    }
    Ok(badges)
}
