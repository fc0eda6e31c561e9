//! Writing comments and removing them.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Comment, DomainError, DomainResult, IdempotencyKey, Outcome, Plaudit,
    changes::Begun,
    keys::Operation,
    text::{COMMENT_BODY, Text, TextRule},
};
use crate::{
    primitives::{CommentId, NoteId, UserId},
    store::sql::{self, CommentPlace, CommentState},
};

const MAX_IMAGES: usize = 9;
const MAX_IMAGE_BYTES: usize = 2_048;
const MAX_MENTIONS: usize = 10;

/// What somebody wants to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommentText {
    body: Text,
    images: Vec<String>,
    mentions: Vec<UserId>,
}

impl CommentText {
    /// # Errors
    /// [`DomainError::BadInput`] naming `body`, `images` or `mentions`.
    pub fn parse(body: &str, images: Vec<String>, mentions: Vec<UserId>) -> DomainResult<Self> {
        // An image says something by itself.
        let rule = TextRule { min: usize::from(images.is_empty()), ..COMMENT_BODY };
        let body = Text::parse(body, &rule)?;
        if images.len() > MAX_IMAGES {
            let message = format!("images: at most {MAX_IMAGES} addresses, not {}", images.len());
            return Err(DomainError::bad_input("images", message));
        }
        let mentions: BTreeSet<UserId> = mentions.into_iter().collect();
        if mentions.len() > MAX_MENTIONS {
            let message = format!("mentions: at most {MAX_MENTIONS} users, not {}", mentions.len());
            return Err(DomainError::bad_input("mentions", message));
        }
        let images = images.iter().map(|address| image(address)).collect::<DomainResult<_>>()?;
        Ok(Self { body, images, mentions: mentions.into_iter().collect() })
    }
}

/// The address of an image as a browser writes it. Nobody fetches it here.
fn image(address: &str) -> DomainResult<String> {
    let refused = |why: &str| DomainError::bad_input("images", format!("images: {why}"));
    if address.len() > MAX_IMAGE_BYTES {
        return Err(refused(&format!("an address has at most {MAX_IMAGE_BYTES} bytes")));
    }
    let url = url::Url::parse(address).map_err(|why| refused(&format!("not an address: {why}")))?;
    if url.scheme() != "https"
        || url.host().is_none()
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err(refused("only https addresses without user and password"));
    }
    Ok(url.into())
}

impl Plaudit {
    /// Writes a comment on a note, or (with `parent`) a reply to a comment. A reply to a reply stays on the
    /// second level and names the one whom it answers. It is shown to others once it is approved.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown note, parent or mentioned user; [`DomainError::BadInput`]
    /// for a parent on another note.
    pub async fn add_comment(
        &self,
        author: UserId,
        note: NoteId,
        parent: Option<CommentId>,
        text: &CommentText,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Comment>, bool)> {
        let note = self.notes().get(note).await?.id;
        if self.users().get_many(&text.mentions).await?.len() < text.mentions.len() {
            return Err(DomainError::NotFound("user"));
        }
        let parent = match parent {
            Some(parent) => Some(self.answered(note, parent).await?),
            None => None,
        };
        let arguments =
            (note, parent.as_ref().map(|parent| parent.id), text.body.as_str(), &text.images, &text.mentions);
        let mut change = match self.begin(author, key, &Operation::new("addComment", &arguments)).await? {
            Begun::Before(outcome) => return self.written(outcome).await,
            Begun::New(change) => change,
        };
        let (db, tx) = change.sql();
        // A removal goes through the comments that it finds, so none may come while it is under way.
        sql::lock_removals_shared(db, tx).await?;
        if sql::present_notes(db, tx, &[note]).await?.is_empty() {
            return Err(DomainError::NotFound("note"));
        }
        let (below, reply_to) = match &parent {
            // The answered comment is on the second level itself.
            Some(Comment { id, parent: Some(top), .. }) => (Some(*top), Some(*id)),
            Some(Comment { id, .. }) => (Some(*id), None),
            None => (None, None),
        };
        let CommentText { body, images, mentions } = text;
        let body = body.as_str();
        let new = sql::NewComment { note, author, parent: below, reply_to, body, images, mentions };
        let id = sql::add_comment(db, tx, new).await?;
        change.touch(id);
        let outcome = change.finish(true, Some(id.0)).await?;
        self.written(outcome).await
    }

    /// The comment that is answered: approved, there, and on this note.
    async fn answered(&self, note: NoteId, parent: CommentId) -> DomainResult<Comment> {
        let parent = self.public_comment(parent).await?;
        if parent.note == note {
            Ok((*parent).clone())
        } else {
            Err(DomainError::bad_input("parentId", "parentId: this comment is on another note"))
        }
    }

    async fn written(&self, outcome: Outcome) -> DomainResult<(Arc<Comment>, bool)> {
        let id = CommentId(outcome.created.ok_or(DomainError::NotFound("comment"))?);
        Ok((self.comments().get(id).await?, outcome.changed))
    }

    /// Removes a comment: the actor's own, or any if they may. Its text is deleted. A comment that others
    /// have replied to leaves a placeholder, as long as there are replies. What it counted is taken back:
    /// for its note, its author and the comment above it; its likes stay with it, and its replies go on
    /// counting.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] when there never was such a comment, or for somebody else's that is not
    /// public; [`DomainError::Forbidden`] for somebody else's.
    pub async fn delete_comment(
        &self,
        actor: UserId,
        comment: CommentId,
        may_remove_any: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(CommentPlace, Outcome)> {
        let not_found = || DomainError::NotFound("comment");
        let mut change = match self.begin(actor, key, &Operation::new("deleteComment", &comment)).await? {
            Begun::Before(outcome) => {
                let (db, mut tx) = (&self.inner.db, self.inner.db.begin().await?);
                let place = sql::comment_place(db, &mut tx, comment).await?;
                return Ok((place.ok_or_else(not_found)?, outcome));
            }
            Begun::New(change) => change,
        };
        let (db, tx) = change.sql();
        // What is left of a removed note is settled in another order: comments first, then totals.
        sql::lock_removals_shared(db, tx).await?;
        let place = sql::comment_place(db, tx, comment).await?.ok_or_else(not_found)?;
        if place.author != actor && !may_remove_any {
            let is_public = place.state == CommentState::Approved && !place.is_removed;
            let forbidden = DomainError::Forbidden("only its author and moderators can remove a comment");
            return Err(if is_public { forbidden } else { not_found() });
        }
        sql::lock_totals_of(db, tx, &[place], &[]).await?;
        let place = sql::lock_comments(db, tx, &[comment]).await?.pop().ok_or_else(not_found)?;
        if place.is_removed {
            return Ok((place, change.finish(false, None).await?));
        }
        let has_replies = sql::live_replies(db, tx, comment).await? > 0;
        sql::remove_comment(db, tx, comment, has_replies).await?;
        let counted = place.state == CommentState::Approved;
        if let Some(parent) = place.parent.filter(|_| counted) {
            let others = sql::live_replies(db, tx, parent).await? - 1;
            sql::set_placeholders(db, tx, &[parent], others > 0).await?;
            change.touch(parent);
        }
        if counted {
            change.count_comment(&place, -1);
        }
        change.touch(comment);
        Ok((place, change.finish(true, None).await?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str, images: &[&str]) -> String {
        let images = images.iter().map(|image| (*image).to_owned()).collect();
        CommentText::parse(body, images, Vec::new()).unwrap_err().to_string()
    }

    #[test]
    fn a_comment_has_text_or_an_image_within_the_limits() {
        assert!(CommentText::parse(&"é".repeat(1_024), Vec::new(), Vec::new()).is_ok());
        assert!(CommentText::parse("", vec!["https://a.example/x.png".into()], Vec::new()).is_ok());
        assert!(refused(&"é".repeat(1_025), &[]).starts_with("body: 1 to 1024"));
        assert!(refused(" \n", &[]).starts_with("body: 1 to 1024"));
        assert!(refused("nul\0", &[]).contains("U+0000"));
        assert!(refused("x", &["https://a.example/"; 10]).contains("at most 9"));
    }

    #[test]
    fn only_plain_https_addresses_are_images() {
        for bad in [
            "",
            "x",
            "http://a.example/",
            "javascript:alert(1)",
            "https://me:pw@a.example/",
            "data:image/png,x",
        ] {
            assert!(refused("x", &[bad]).starts_with("images:"), "{bad}");
        }
        assert!(refused("x", &[&format!("https://a.example/{}", "x".repeat(2_048))]).contains("2048 bytes"));
    }
}
