//! Inboxes: entries and messages that a user received, and how many of them are unread.

use std::collections::BTreeMap;

use crate::{
    ActionOutcome, DomainError, DomainResult, IdempotencyKey, Plaudit,
    keys::ActionCall,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::{
    Counter, Entity, EntityKind,
    primitives::{Id, PageRequest, Slice, UserId},
};
use plaudit_store::sql::{
    counting::counts,
    inbox::{entries, notices},
};

pub use plaudit_store::sql::inbox::entries::{ActorsOf, EntryKey, InboxEntry};

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

    /// The counter of its unread events.
    pub const fn counter(self) -> Counter {
        match self {
            Self::Replies => Counter::InboxReplies,
            Self::Likes => Counter::InboxLikes,
            Self::Followers => Counter::InboxFollowers,
            Self::Messages => Counter::InboxMessages,
        }
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

/// Marks entries of these badges as read: those up to a position, or all.
pub async fn mark_inbox_read(
    plaudit: &Plaudit,
    user: UserId,
    badges: &[Badge],
    up_to: Option<Id>,
    key: Option<&IdempotencyKey>,
) -> DomainResult<ActionOutcome> {
    let names: Vec<&str> = badges.iter().map(|badge| badge.counter().name()).collect();
    let call = ActionCall::new("markInboxRead", &(names, up_to));
    let mut change = match transaction::begin(plaudit, user, key, &call).await? {
        ActionStart::Repeated(outcome) => return Ok(outcome),
        ActionStart::New(change) => change,
    };
    let tx = change.tx();
    let totals = counts::lock_totals(tx, EntityKind::Inbox, &[user.0]).await?;
    let counts = totals.get(&user.0).copied().unwrap_or_default();
    // Later entries are unread, whatever position the client names.
    let newest = entries::newest_entry(tx, user).await?;
    let to = up_to.map_or(newest, |position| position.get().min(newest));
    let mut changed = false;
    for counter in badges.iter().map(|badge| badge.counter()) {
        let before = counts.get(counter);
        if before == 0 {
            continue;
        }
        let after = entries::mark_read(change.tx(), user, counter, to).await?;
        change.count(inbox_of(user), counter, after - before);
        changed |= after != before;
    }
    change.finish(changed, None).await
}

/// Counts a message in the recipient's inbox.
///
/// # Errors
/// [`DomainError::NotFound`] for unknown users.
pub async fn record_message(
    plaudit: &Plaudit,
    service: UserId,
    Message { sender, recipient }: Message,
    key: Option<&IdempotencyKey>,
) -> DomainResult<()> {
    plaudit.users().get(sender).await?;
    plaudit.users().get(recipient).await?;
    let call = ActionCall::new("recordMessage", &(sender, recipient));
    let mut change = match transaction::begin(plaudit, service, key, &call).await? {
        ActionStart::Repeated(_) => return Ok(()),
        ActionStart::New(change) => change,
    };
    change.must_not_be_erased(&[sender, recipient]).await?;
    let tx = change.tx();
    counts::lock_totals(tx, EntityKind::Inbox, &[recipient.0]).await?;
    notices::tell_of_message(tx, sender, recipient).await?;
    change.count(inbox_of(recipient), Counter::InboxMessages, 1);
    change.finish(true, None).await.map(drop)
}

/// The newest actors of entries, without hidden and erased users.
pub async fn inbox_actors(
    plaudit: &Plaudit,
    of: &[ActorsOf],
) -> DomainResult<BTreeMap<ActorsOf, Vec<UserId>>> {
    Ok(entries::inbox_actors(&plaudit.inner.db, of).await?)
}

/// The entries with these keys that exist, in any order.
pub async fn inbox_entries_named(plaudit: &Plaudit, keys: &[EntryKey]) -> DomainResult<Vec<InboxEntry>> {
    Ok(if keys.is_empty() {
        Vec::new()
    } else {
        entries::inbox_entries_named(&plaudit.inner.db, keys).await?
    })
}

/// Entries of a user's inbox, newest first.
pub async fn inbox_entries(
    plaudit: &Plaudit,
    user: UserId,
    page: PageRequest,
) -> DomainResult<Slice<InboxEntry>> {
    Ok(entries::inbox_entries(&plaudit.inner.db, user, page).await?)
}

/// A user's inbox has the id of the user.
pub const fn inbox_of(user: UserId) -> Entity {
    Entity::new(EntityKind::Inbox, user.0)
}
