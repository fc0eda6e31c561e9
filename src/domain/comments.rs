//! Reading comments: threads, and who may see what.

use std::{collections::HashMap, sync::Arc};

use super::{Comment, DomainError, DomainResult, Plaudit};
use crate::{
    primitives::{CommentId, Id, NoteId, PageRequest, Ranked, Slice, UserId},
    store::sql::CommentState,
};

pub use crate::store::sql::{CommentSort, Thread};

/// The most comments of one author on one note that are shown to them before they are approved.
const MOST_UNPUBLISHED: i64 = 50;

/// A page of a thread, each comment with its place.
pub type ThreadPage = Slice<(Ranked, Arc<Comment>)>;

impl Comment {
    /// Whether anybody may see it.
    pub fn is_public(&self) -> bool {
        self.state == CommentState::Approved
    }

    /// Its author sees it in any state.
    pub fn is_visible_to(&self, viewer: Option<UserId>) -> bool {
        self.is_public() || viewer == Some(self.author)
    }
}

impl Plaudit {
    /// A page of each of these threads, in one statement per kind of thread. Only approved comments, and
    /// placeholders of removed ones that have replies.
    pub async fn threads(
        &self,
        threads: &[Thread],
        sort: CommentSort,
        page: &PageRequest<Ranked>,
    ) -> DomainResult<HashMap<Thread, ThreadPage>> {
        let (of_notes, of_comments): (Vec<Thread>, Vec<Thread>) =
            threads.iter().partition(|thread| matches!(thread, Thread::Note(_)));
        let mut found = HashMap::with_capacity(threads.len());
        for threads in [of_notes, of_comments] {
            let reading = self.comments().reading();
            let mut pages = self.inner.db.threads(&threads, sort, page).await?;
            for thread in threads {
                let comments = pages.remove(&thread_id(thread)).unwrap_or_default();
                found.insert(thread, reading.keep_keyed(comments));
            }
        }
        Ok(found)
    }

    /// An author's own comments on a note that nobody else sees, newest first.
    pub async fn unpublished_comments(
        &self,
        author: UserId,
        note: NoteId,
    ) -> DomainResult<Vec<Arc<Comment>>> {
        let reading = self.comments().reading();
        let items = self.inner.db.unpublished_comments(author, note, MOST_UNPUBLISHED).await?;
        Ok(reading.keep(Slice { items, has_more: false }).items)
    }

    /// A comment that anybody may see and that is still there.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown, removed or not approved comment, and for one of a removed
    /// note.
    pub(super) async fn public_comment(&self, comment: CommentId) -> DomainResult<Arc<Comment>> {
        let comment = self.comments().get(comment).await?;
        if !comment.is_public() || comment.is_removed {
            return Err(DomainError::NotFound("comment"));
        }
        self.notes().get(comment.note).await.map_err(|error| match error {
            DomainError::NotFound(_) => DomainError::NotFound("comment"),
            other => other,
        })?;
        Ok(comment)
    }
}

const fn thread_id(thread: Thread) -> Id {
    match thread {
        Thread::Note(id) => id.0,
        Thread::Comment(id) => id.0,
    }
}
