//! Inboxes: entries and messages that a user received, and how many of them are unread.

use super::{
    ActionOutcome, DomainError, DomainResult, IdempotencyKey, Plaudit, keys::ActionCall,
    transaction::ActionStart,
};
use crate::{
    catalogue::{Counter, Entity, EntityKind},
    primitives::{PageRequest, Slice, UserId},
};

pub use crate::store::sql::inbox::InboxEntry;

/// A badge of the inbox.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Badge {
    Replies,
    Likes,
    Followers,
    Messages,
}

impl Badge {
    pub const ALL: [Self; 4] = [Self::Replies, Self::Likes, Self::Followers, Self::Messages];

    /// The counters of what was received, and of what was read.
    pub const fn counters(self) -> (Counter, Counter) {
        match self {
            Self::Replies => (Counter::InboxReplies, Counter::InboxRepliesRead),
            Self::Likes => (Counter::InboxLikes, Counter::InboxLikesRead),
            Self::Followers => (Counter::InboxFollowers, Counter::InboxFollowersRead),
            Self::Messages => (Counter::InboxMessages, Counter::InboxMessagesRead),
        }
    }

    const fn name(self) -> &'static str {
        self.counters().0.name()
    }
}

/// A message from one user to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    sender: UserId,
    recipient: UserId,
}

impl Message {
    /// # Errors
    /// [`DomainError::BadInput`] naming `recipientId` if sender and recipient are the same.
    pub fn new(sender: UserId, recipient: UserId) -> DomainResult<Self> {
        if sender == recipient {
            let message = "recipientId: must not be the sender; pass another user's id";
            return Err(DomainError::bad_input("recipientId", message));
        }
        Ok(Self { sender, recipient })
    }
}

impl Plaudit {
    /// Marks everything that the user received under these badges as read. Read counts never decrease.
    pub async fn mark_inbox_read(
        &self,
        user: UserId,
        badges: &[Badge],
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<ActionOutcome> {
        let names: Vec<&str> = badges.iter().map(|badge| badge.name()).collect();
        let mut change = match self.begin(user, key, &ActionCall::new("markInboxRead", &names)).await? {
            ActionStart::Repeated(outcome) => return Ok(outcome),
            ActionStart::New(change) => change,
        };
        let tx = change.tx();
        let totals = tx.lock_totals(EntityKind::Inbox, &[user.0]).await?;
        let counts = totals.get(&user.0).copied().unwrap_or_default();
        let mut changed = false;
        for badge in badges {
            let (received, read) = badge.counters();
            let unread = counts.get(received) - counts.get(read);
            if unread > 0 {
                change.count(inbox_of(user), read, unread);
                changed = true;
            }
        }
        change.finish(changed, None).await
    }

    /// Counts a message in the recipient's inbox. Only the first message of each sender counts: the badge
    /// shows the number of senders.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for unknown users.
    pub async fn record_message(
        &self,
        service: UserId,
        Message { sender, recipient }: Message,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<ActionOutcome> {
        self.users().get(sender).await?;
        self.users().get(recipient).await?;
        let call = ActionCall::new("recordMessage", &(sender, recipient));
        let mut change = match self.begin(service, key, &call).await? {
            ActionStart::Repeated(outcome) => return Ok(outcome),
            ActionStart::New(change) => change,
        };
        let tx = change.tx();
        let is_first = tx.add_message(sender, recipient).await?;
        if is_first {
            change.count(inbox_of(recipient), Counter::InboxMessages, 1);
        }
        change.finish(is_first, None).await
    }

    /// Entries of a user's inbox, newest first.
    pub async fn inbox_entries(&self, user: UserId, page: PageRequest) -> DomainResult<Slice<InboxEntry>> {
        Ok(self.inner.db.inbox_entries(user, page).await?)
    }
}

/// A user's inbox has the id of the user.
pub const fn inbox_of(user: UserId) -> Entity {
    Entity::new(EntityKind::Inbox, user.0)
}
