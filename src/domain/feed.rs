//! The feed: newest notes, of everybody or of those whom somebody follows.

use std::{cmp::Reverse, sync::Arc};

use super::{DomainResult, Note, Plaudit};
use crate::{
    catalogue::EdgeKind,
    primitives::{PageRequest, Slice, UserId},
    store::StoreError,
};

/// Loads of the set of followed users before a request gives up.
const TRIES: u32 = 3;

impl Plaudit {
    pub async fn feed(&self, page: PageRequest) -> DomainResult<Slice<Arc<Note>>> {
        let reading = self.notes().reading();
        Ok(reading.keep(self.inner.db.feed(page).await?))
    }

    /// Newest notes of those whom the user follows, exact right after a follow. Two statements, however
    /// many they are: which of them wrote last, and what the last ones wrote.
    pub async fn feed_of_followed(&self, user: UserId, page: PageRequest) -> DomainResult<Slice<Arc<Note>>> {
        let followed = self.followed(user).await?;
        let db = &self.inner.db;
        let mut newest = db.newest_note_of_each(&followed, page).await?;
        // No note of the page is older than the newest ones of as many authors as it has rows.
        newest.sort_unstable_by_key(|(_, note)| Reverse(*note));
        newest.truncate(page.rows() as usize);
        let authors: Vec<UserId> = newest.into_iter().map(|(author, _)| author).collect();
        let mut ids = db.newest_notes_of_each(&authors, page).await?;
        ids.sort_unstable_by_key(|note| Reverse(*note));
        let page = page.slice(ids);
        let mut notes = self.notes().get_many(&page.items).await?;
        // One that was removed this moment is left out.
        let items = page.items.iter().filter_map(|note| notes.remove(note)).collect();
        Ok(Slice { items, has_more: page.has_more })
    }

    /// All whom the user follows; the follow limit bounds them.
    async fn followed(&self, user: UserId) -> DomainResult<Vec<UserId>> {
        for _ in 0..TRIES {
            if let Some(followed) = self.inner.redis.all_targets(user, EdgeKind::Follow).await? {
                return Ok(followed.into_iter().map(UserId).collect());
            }
            self.inner.memberships.load_set(user, EdgeKind::Follow).await?;
        }
        Err(StoreError::Contended { tries: TRIES }.into())
    }
}
