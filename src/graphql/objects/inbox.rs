//! Inboxes.

use async_graphql::{Context, ID, Object};

use super::inbox_entries::{ENTRIES, InboxEntry};
use crate::{
    domain::{Badge, inbox_of},
    graphql::{
        errors::ApiResult,
        reading::{
            pages::{FIRST, Page},
            prefetch::Selection,
            scope::Scope,
        },
        request::{
            ids::global_id,
            scalars::{Count, CountsVersion},
        },
    },
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

/// A user's notifications. Only the owner sees them. All counts of one object are from the same moment.
#[Object]
impl Inbox {
    /// Opaque and unique among all objects. `node` does not accept it.
    async fn id(&self) -> ID {
        global_id(inbox_of(self.owner))
    }

    /// Unread comments on your notes and replies to your comments.
    async fn unread_reply_count(&self) -> ApiResult<Count> {
        self.unread(Badge::Replies).await
    }

    /// Unread likes of your notes and comments. A like that is taken back still counts.
    async fn unread_like_count(&self) -> ApiResult<Count> {
        self.unread(Badge::Likes).await
    }

    /// Unread followers.
    async fn unread_follower_count(&self) -> ApiResult<Count> {
        self.unread(Badge::NewFollowers).await
    }

    /// Users who wrote to you for the first time since you last marked messages as read.
    async fn unread_message_count(&self) -> ApiResult<Count> {
        self.unread(Badge::DirectMessages).await
    }

    /// Your notifications, newest first.
    async fn entries(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<InboxEntry>>> {
        let request = ENTRIES.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let entries = self.scope.plaudit().inbox_entries(self.owner, request).await?;
        Ok(Some(InboxEntry::page(&request, entries, &Selection::of_nodes(ctx), &self.scope).await))
    }

    /// The version of this object's counts.
    async fn counts_version(&self) -> ApiResult<CountsVersion> {
        self.scope.counts_version(inbox_of(self.owner)).await
    }
}
