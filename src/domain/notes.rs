//! Notes: written, removed, put forward in their group.

use std::sync::Arc;

use super::{
    DomainError, DomainResult, IdempotencyKey, Note, Outcome, Plaudit, Reason,
    changes::{Begun, Change},
    keys::Operation,
    text::Text,
};
use crate::{
    catalogue::{Counter, EdgeKind, Entity, EntityKind},
    primitives::{GroupId, NoteId, PageRequest, Slice, UserId},
    store::sql::{self, BackfillKind, NoteState},
};

/// What somebody wants to post.
#[derive(Clone, Debug)]
pub struct NewNote {
    pub title: Text,
    pub body: Text,
    /// In which group, if in one.
    pub group: Option<GroupId>,
}

impl Plaudit {
    /// Posts a note. Returns it and whether it is new (it is, unless the key was used before).
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown group; [`DomainError::Forbidden`] when the author neither
    /// created the group nor is a member.
    pub async fn create_note(
        &self,
        author: UserId,
        note: NewNote,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Note>, bool)> {
        let operation = Operation::new("createNote", &(note.title.as_str(), note.body.as_str(), note.group));
        // Asked before the transaction begins, because it may take a connection: posts that hold one while
        // they wait for another would wait for each other. Told only if the note is new, so that a
        // repetition gets its first result.
        let may_post = match note.group {
            Some(group) => self.may_post_in(author, group).await,
            None => Ok(()),
        };
        let outcome = match self.begin(author, key, &operation).await? {
            Begun::Before(outcome) => outcome,
            Begun::New(mut change) => {
                may_post?;
                let (db, tx) = change.sql();
                let (title, body) = (note.title.as_str(), note.body.as_str());
                let id = sql::add_note(db, tx, author, note.group, title, body).await?;
                change.count(author, Counter::UserNotes, 1);
                if let Some(group) = note.group {
                    change.count(group, Counter::GroupNotes, 1);
                }
                change.touch(id);
                change.finish(true, Some(id.0)).await?
            }
        };
        let id = NoteId(outcome.created.ok_or(DomainError::NotFound("note"))?);
        Ok((self.notes().get(id).await?, outcome.changed))
    }

    async fn may_post_in(&self, author: UserId, group: GroupId) -> DomainResult<()> {
        let group = self.groups().get(group).await?;
        let membership = (EdgeKind::GroupJoin, group.id.0);
        let is_member = self.membership(author, &[membership]).await?.get(&membership) == Some(&true);
        if is_member || group.owner == author {
            Ok(())
        } else {
            Err(DomainError::Forbidden("join the group before you post in it"))
        }
    }

    /// Removes a note, of the actor's own unless they may remove any. What happens to counters:
    /// the note leaves its author's and its group's notes, and the group's featured ones; its likes and
    /// collects leave what the author has received; its comments are removed with it in the background,
    /// and leave what their authors have written. The note's own counts are not shown any more.
    ///
    /// Returns the author, and whether anything changed: a note that the author or a moderator removed
    /// before stays removed.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] when there never was such a note; [`DomainError::Forbidden`] for somebody
    /// else's.
    pub async fn delete_note(
        &self,
        actor: UserId,
        note: NoteId,
        may_remove_any: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(UserId, Outcome)> {
        let not_found = || DomainError::NotFound("note");
        let mut change = match self.begin(actor, key, &Operation::new("deleteNote", &note)).await? {
            Begun::Before(outcome) => {
                return Ok((self.author_ever(note).await?.ok_or_else(not_found)?, outcome));
            }
            Begun::New(change) => change,
        };
        let (db, tx) = change.sql();
        let state = sql::lock_note(db, tx, note).await?.ok_or_else(not_found)?;
        if state.author != actor && !may_remove_any {
            let forbidden = DomainError::Forbidden("only its author and moderators can remove a note");
            return Err(if state.is_removed { not_found() } else { forbidden });
        }
        if !state.is_removed {
            self.remove(&mut change, note, state, actor).await?;
        }
        Ok((state.author, change.finish(!state.is_removed, None).await?))
    }

    async fn remove(
        &self,
        change: &mut Change<'_>,
        note: NoteId,
        state: NoteState,
        actor: UserId,
    ) -> DomainResult<()> {
        let (db, tx) = change.sql();
        sql::lock_removals(db, tx).await?;
        sql::remove_note(db, tx, note).await?;
        // All that are going to move, in their order: others hold an author's while they wait for a note's.
        let moving: Vec<Entity> =
            [state.author.into(), note.into()].into_iter().chain(state.group.map(Entity::from)).collect();
        sql::lock_all_totals(db, tx, &moving).await?;
        let totals = sql::lock_totals(db, tx, EntityKind::Note, &[note.0]).await?;
        let totals = totals.get(&note.0).copied().unwrap_or_default();
        let comments = sql::count_comments_of(db, tx, note).await?;
        if comments > 0 {
            let shards = self.inner.redis.shards();
            sql::add_backfill(db, tx, shards, note.into(), BackfillKind::Remove, comments, actor).await?;
        }
        change.count(state.author, Counter::UserNotes, -1);
        change.count(state.author, Counter::UserLikesReceived, -totals.get(Counter::NoteLikes));
        change.count(state.author, Counter::UserCollectsReceived, -totals.get(Counter::NoteCollects));
        if let Some(group) = state.group {
            change.count(group, Counter::GroupNotes, -1);
            change.count(group, Counter::GroupFeaturedNotes, -i64::from(state.is_featured));
        }
        change.touch(note);
        Ok(())
    }

    /// Who wrote a note, also when it was removed since.
    async fn author_ever(&self, note: NoteId) -> DomainResult<Option<UserId>> {
        Ok(self.inner.db.author_of(note).await?)
    }

    /// Puts a note forward in its group (`on`), or takes that back. Returns it and whether that changed.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown or removed note; [`DomainError::BadInput`] with
    /// [`Reason::NotInGroup`] for one that stands in no group.
    pub async fn set_featured(
        &self,
        actor: UserId,
        note: NoteId,
        on: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Note>, bool)> {
        let action = if on { "featureNote" } else { "unfeatureNote" };
        let outcome = match self.begin(actor, key, &Operation::new(action, &note)).await? {
            Begun::Before(outcome) => outcome,
            Begun::New(mut change) => {
                let (db, tx) = change.sql();
                let state = sql::lock_note(db, tx, note).await?.filter(|state| !state.is_removed);
                let state = state.ok_or(DomainError::NotFound("note"))?;
                let group = state.group.ok_or_else(not_in_group)?;
                if state.is_featured != on {
                    sql::set_featured(db, tx, note, on).await?;
                    change.count(group, Counter::GroupFeaturedNotes, if on { 1 } else { -1 });
                    change.touch(note);
                }
                change.finish(state.is_featured != on, None).await?
            }
        };
        Ok((self.notes().get(note).await?, outcome.changed))
    }

    /// A user's notes, newest first.
    pub async fn notes_of_user(&self, author: UserId, page: PageRequest) -> DomainResult<Slice<Arc<Note>>> {
        let reading = self.notes().reading();
        Ok(reading.keep(self.inner.db.notes_of_user(author, page).await?))
    }

    /// A group's notes, newest first.
    pub async fn notes_of_group(&self, group: GroupId, page: PageRequest) -> DomainResult<Slice<Arc<Note>>> {
        let reading = self.notes().reading();
        Ok(reading.keep(self.inner.db.notes_of_group(group, page).await?))
    }
}

fn not_in_group() -> DomainError {
    DomainError::BadInput {
        argument: "noteId",
        message: "noteId: this note stands in no group, so it cannot be featured".into(),
        reason: Some(Reason::NotInGroup),
    }
}
