//! Marking the inbox as read, and recording direct messages.

use async_graphql::{Context, Enum, ID, Object};

use super::action::{Action, action_types};
use crate::{
    domain::{Badge, DirectMessage},
    graphql::{
        errors::{ApiError, ApiResult},
        objects::{inbox::Inbox, users::User},
        reading::{
            guards::ByTable,
            prefetch::{Prefetch, Selection},
        },
        request::ids::parse_as,
    },
    primitives::UserId,
};

/// A counter of the inbox.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "Badge")]
enum InboxKind {
    /// Comments on your notes and replies to your comments.
    Replies,
    /// Likes of your notes and comments.
    Likes,
    /// Who follows you.
    NewFollowers,
    /// Who wrote to you.
    DirectMessages,
}

action_types! {
    MarkInboxReadInput {
        /// The counters to reset: at least one.
        kinds: Vec<InboxKind>,
    }
    MarkInboxReadPayload {
        /// False when there was nothing unread.
        changed,
        /// Your inbox, with its new counts.
        inbox: Inbox,
    }
    RecordDirectMessageInput {
        /// The user who wrote.
        sender_id: ID,
        /// The user who received the message.
        recipient_id: ID,
    }
    RecordDirectMessagePayload {
        /// False when this sender has written to this recipient before.
        changed,
        /// The user who received the message.
        recipient: User,
    }
}

#[derive(Default)]
pub struct InboxMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl InboxMutations {
    /// Marks your notifications under these counters as read.
    async fn mark_inbox_read(
        &self,
        ctx: &Context<'_>,
        input: MarkInboxReadInput,
    ) -> ApiResult<Option<MarkInboxReadPayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let badges = badges("kinds", input.kinds)?;
        let owner = action.actor().await?;
        let outcome = action.plaudit().mark_inbox_read(owner, &badges, action.key()).await?;
        let mut prefetch = Prefetch::default();
        prefetch.inbox(owner, &Selection::of(ctx).inside("inbox"));
        let inbox = Inbox::new(owner, prefetch.read(&action.scope.renewed()).await);
        Ok(Some(MarkInboxReadPayload { changed: outcome.changed, inbox }))
    }

    /// Notifies a user that somebody wrote to them. For services, which keep the messages themselves.
    async fn record_direct_message(
        &self,
        ctx: &Context<'_>,
        input: RecordDirectMessageInput,
    ) -> ApiResult<Option<RecordDirectMessagePayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let sender: UserId = parse_as("senderId", &input.sender_id)?;
        let recipient: UserId = parse_as("recipientId", &input.recipient_id)?;
        let message = DirectMessage::new(sender, recipient)?;
        let service = action.actor().await?;
        let outcome = action.plaudit().record_direct_message(service, message, action.key()).await?;
        let recipient = User::new(recipient, action.scope.renewed());
        Ok(Some(RecordDirectMessagePayload { changed: outcome.changed, recipient }))
    }
}

/// Without duplicates, in order.
fn badges(argument: &'static str, kinds: Vec<InboxKind>) -> ApiResult<Vec<Badge>> {
    let mut badges: Vec<Badge> = kinds.into_iter().map(Badge::from).collect();
    badges.sort_unstable();
    badges.dedup();
    if badges.is_empty() {
        let message = format!("{argument}: name at least one of the badges");
        return Err(ApiError::bad_input(argument, message));
    }
    Ok(badges)
}
