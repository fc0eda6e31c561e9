//! Inboxes: badges, entries, read marks.

use async_graphql::{Context, Enum, ID, Object};

use super::{
    access::ByTable,
    actions::{Action, action_types},
    errors::{ApiError, ApiResult},
    ids::{global_id, parse_as},
    inbox_entries::{ENTRIES, InboxEntry},
    pages::{FIRST, Page},
    prefetch::{Prefetch, Selection},
    scalars::{Count, CountsVersion},
    scope::Scope,
    users::User,
};
use crate::{
    domain::{Badge, DirectMessage, inbox_of},
    primitives::UserId,
};

pub struct Inbox {
    owner: UserId,
    scope: Scope,
}

impl Inbox {
    pub const fn new(owner: UserId, scope: Scope) -> Self {
        Self { owner, scope }
    }

    async fn unread(&self, badge: Badge) -> ApiResult<Count> {
        let counts = self.scope.counted(inbox_of(self.owner)).await?.counts;
        let (received, read) = badge.counters();
        Ok((counts.get(received) - counts.get(read)).into())
    }
}

/// What reached you. Only its owner sees it. All counts of one object are of the same moment.
#[Object]
impl Inbox {
    /// Opaque, and unique among all objects. Not an id for `node`.
    async fn id(&self) -> ID {
        global_id(inbox_of(self.owner))
    }

    /// Unread comments on your notes and replies to your comments.
    async fn unread_reply_count(&self) -> ApiResult<Count> {
        self.unread(Badge::Replies).await
    }

    /// Unread likes of your notes and comments. A like that is taken back stays here.
    async fn unread_like_count(&self) -> ApiResult<Count> {
        self.unread(Badge::Likes).await
    }

    /// Unread followers.
    async fn unread_follower_count(&self) -> ApiResult<Count> {
        self.unread(Badge::NewFollowers).await
    }

    /// People who wrote to you for the first time since you last looked.
    async fn unread_message_count(&self) -> ApiResult<Count> {
        self.unread(Badge::DirectMessages).await
    }

    /// Each thing that reached you, newest first.
    async fn entries(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "How many: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Those after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<InboxEntry>>> {
        let request = ENTRIES.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let entries = self.scope.plaudit().inbox_entries(self.owner, request).await?;
        Ok(Some(InboxEntry::page(&request, entries, &Selection::of_nodes(ctx), &self.scope).await))
    }

    /// Version of this object's counts.
    async fn counts_version(&self) -> ApiResult<CountsVersion> {
        self.scope.counts_version(inbox_of(self.owner)).await
    }
}

/// A badge of the inbox.
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
        /// The badges to empty: at least one.
        kinds: Vec<InboxKind>,
    }
    MarkInboxReadPayload {
        /// False when there was nothing unread.
        changed,
        /// Your inbox, with its new counts.
        inbox: Inbox,
    }
    RecordDirectMessageInput {
        /// Who wrote.
        sender_id: ID,
        /// To whom.
        recipient_id: ID,
    }
    RecordDirectMessagePayload {
        /// False when this sender has written to this recipient before.
        changed,
        /// To whom.
        recipient: User,
    }
}

#[derive(Default)]
pub struct InboxMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl InboxMutations {
    /// Marks everything that has reached you under these badges as read.
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

    /// Tells a user's inbox that somebody wrote to them. For services: the messages themselves are not
    /// Plaudit's.
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

/// Without repetitions, in order.
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
