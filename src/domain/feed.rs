//! The feed: newest notes.

use std::sync::Arc;

use super::{DomainResult, Note, Plaudit};
use crate::primitives::{PageRequest, Slice};

impl Plaudit {
    pub async fn feed(&self, page: PageRequest) -> DomainResult<Slice<Arc<Note>>> {
        let Slice { items, has_more } = self.inner.db.feed(page).await?;
        Ok(Slice { items: self.notes().keep(items), has_more })
    }
}
