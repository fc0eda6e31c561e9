//! Marking the inbox as read, and recording messages.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, created, payload};
use crate::{
    definition::{
        arguments::Arguments,
        resolve::Call,
        values::{Object, Output},
    },
    errors::{ApiError, ApiResult},
    objects::{inbox_badges::badge_name, inbox_entries::position},
    request::access::Who,
};
use plaudit_catalogue::primitives::UserId;
use plaudit_domain::{Badge, Message, inbox_of, people::inbox};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "markInboxRead",
        permission: Permission::Write(Who::SignedIn),
        description: "Marks your notifications as read: up to an entry, under some badges, or both. Suspended users may, too.",
        input: &[
            (
                "badges: [InboxBadge!]",
                "The badges whose entries are read, at least one. Omit it for all of them.",
            ),
            (
                "upTo: String",
                "The `cursor` of an entry as you saw it: what came later stays unread, also in that entry. Omit it to mark all \
                 under the badges.",
            ),
        ],
        unchanged: Some("False when there was nothing unread."),
        payload: &[("inbox: Inbox!", "Your inbox, with its new counts.")],
        act: |call| mark_read(call).boxed(),
    },
    Mutation {
        name: "recordMessage",
        permission: Permission::Create(Who::Service),
        description: "Notifies a user of a message: each call counts one. For services, which keep the messages themselves.",
        input: &[
            ("senderId: ID!", "The user who wrote."),
            ("recipientId: ID!", "The user who received the message."),
        ],
        unchanged: None,
        payload: &[("recipient: User!", "The user who received the message.")],
        act: |call| record_message(call).boxed(),
    },
];

async fn mark_read(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    action.must_give_one_of(["badges", "upTo"])?;
    let badges = badges("badges", &action.input)?;
    let up_to = action.input.text("upTo").map(|cursor| position("upTo", &cursor)).transpose()?;
    let owner = action.actor_even_suspended().await?;
    let outcome = inbox::mark_inbox_read(action.plaudit(), owner, &badges, up_to, action.key()).await?;
    Ok(payload(outcome.changed, [("inbox", Object::of(inbox_of(owner)).into())]))
}

async fn record_message(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let sender: UserId = action.input.id("senderId")?;
    let recipient: UserId = action.input.id("recipientId")?;
    let message = Message::new(sender, recipient)?;
    let service = action.actor().await?;
    inbox::record_message(action.plaudit(), service, message, action.key()).await?;
    Ok(created([("recipient", recipient.into())]))
}

/// Without duplicates, in order; all without the argument.
fn badges(argument: &'static str, input: &Arguments) -> ApiResult<Vec<Badge>> {
    if input.value(argument).is_none() {
        return Ok(Badge::ALL.into());
    }
    let named = input.texts(argument);
    let is_named = |badge: &Badge| named.iter().any(|name| name == badge_name(*badge));
    let badges: Vec<Badge> = Badge::ALL.into_iter().filter(is_named).collect();
    if badges.is_empty() {
        let message = format!("{argument}: name at least one of the badges");
        return Err(ApiError::bad_input(argument, message));
    }
    Ok(badges)
}
