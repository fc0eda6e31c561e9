//! Marking the inbox as read, and recording messages.

use futures_util::FutureExt;

use super::action::{Action, Mutation, payload};
use crate::{
    domain::{Badge, Message, inbox_of},
    graphql::{
        definition::{
            arguments::Arguments,
            types::Call,
            values::{Object, Output},
        },
        errors::{ApiError, ApiResult},
        objects::inbox_badges::badge_name,
    },
    primitives::UserId,
};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "markInboxRead",
        description: "Marks your notifications under these badges as read. Suspended users may, too.",
        input: &[("badges: [InboxBadge!]!", "The badges to clear: at least one.")],
        unchanged: Some("False when there was nothing unread."),
        payload: &[("inbox: Inbox!", "Your inbox, with its new counts.")],
        act: |call| mark_read(call).boxed(),
    },
    Mutation {
        name: "recordMessage",
        description: "Notifies a user that somebody wrote to them. For services, which keep the messages themselves.",
        input: &[
            ("senderId: ID!", "The user who wrote."),
            ("recipientId: ID!", "The user who received the message."),
        ],
        unchanged: Some("False when this sender has written to this recipient before."),
        payload: &[("recipient: User!", "The user who received the message.")],
        act: |call| record_message(call).boxed(),
    },
];

async fn mark_read(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let badges = badges("badges", &action.input)?;
    let owner = action.actor_even_suspended().await?;
    let outcome = action.plaudit().mark_inbox_read(owner, &badges, action.key()).await?;
    Ok(payload(outcome.changed, [("inbox", Object::of(inbox_of(owner)).into())]))
}

async fn record_message(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let sender: UserId = action.input.id("senderId")?;
    let recipient: UserId = action.input.id("recipientId")?;
    let message = Message::new(sender, recipient)?;
    let service = action.actor().await?;
    let outcome = action.plaudit().record_message(service, message, action.key()).await?;
    Ok(payload(outcome.changed, [("recipient", recipient.into())]))
}

/// Without duplicates, in order.
fn badges(argument: &'static str, input: &Arguments) -> ApiResult<Vec<Badge>> {
    let named = input.texts(argument);
    let is_named = |badge: &Badge| named.iter().any(|name| name == badge_name(*badge));
    let badges: Vec<Badge> = Badge::ALL.into_iter().filter(is_named).collect();
    if badges.is_empty() {
        let message = format!("{argument}: name at least one of the badges");
        return Err(ApiError::bad_input(argument, message));
    }
    Ok(badges)
}
