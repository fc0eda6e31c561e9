//! Notes: creating, editing and removing them, and their lists.

use std::sync::Arc;

use super::{app_keys::must_be_free, edits::TextEdit};
use crate::{
    ActionOutcome, AppKey, DomainError, DomainResult, IdempotencyKey, Note, PageAddress, Plaudit, Text,
    entity_cache::Cached,
    keys::ActionCall,
    transaction::{self, ActionStart, ActionTransaction},
};
use plaudit_catalogue::{
    EdgeKind, EntityKind, NOTES,
    primitives::{GroupId, Id, Moment, NoteId, PageRequest, Ranked, Slice, UserId},
};
use plaudit_store::sql::{
    content::{
        note_lists,
        notes::{self, NoteRow, NoteState},
        submissions::{Arrival, ModerationState},
    },
    counting::{backfills, rankings, rows},
    ownership::shards,
};

pub use plaudit_store::sql::counting::rankings::NotesOf;

/// A note to create.
#[derive(Clone, Debug)]
pub struct NewNote {
    /// The app's own id of it.
    pub key: Option<AppKey>,
    /// The app's page about it.
    pub url: Option<PageAddress>,
    /// What it leaves out is empty.
    pub text: TextEdit,
    /// The group that it is posted in.
    pub group: Option<GroupId>,
}

/// Creates a note, which waits for a decision if notes are moderated. Returns it and whether it is new: it
/// is not if the key was used before.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown group; [`DomainError::Forbidden`] if the author neither
/// created the group nor is a member; [`DomainError::BadInput`] if the key is taken.
pub async fn create_note(
    plaudit: &Plaudit,
    author: UserId,
    note: NewNote,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Note>, bool)> {
    let app_key = note.key.as_ref().map(AppKey::as_str);
    let url = note.url.as_ref().map(PageAddress::as_str);
    let [title, body] =
        [&note.text.title, &note.text.body].map(|part| part.as_ref().map_or("", Text::as_str));
    let call = ActionCall::new("createNote", &(title, body, note.group, app_key, url));
    // Checked before the transaction begins, because it may need a connection: actions that hold one while
    // they wait for a second one could deadlock. Returned only if the note is new, so that a repetition
    // gets the first result.
    let may_post = match note.group {
        Some(group) => may_post_in(plaudit, author, group).await,
        None => Ok(()),
    };
    let outcome = match transaction::begin(plaudit, author, key, &call).await? {
        ActionStart::Repeated(outcome) => outcome,
        ActionStart::New(mut change) => {
            may_post?;
            let tx = change.tx();
            // The hiding of a user goes through the notes that exist, so none may be added meanwhile.
            shards::lock_removals_shared(tx).await?;
            let row = NoteRow {
                author,
                group: note.group,
                key: app_key,
                url,
                title,
                body,
                created_at: None,
                featured_at: None,
            };
            let added = notes::add_notes(tx, &[row], arrival(plaudit)).await?.pop();
            if added.is_none() {
                must_be_free(tx, EntityKind::Note, note.key.as_ref()).await?;
            }
            // Without one, the group was removed, or the author erased, since it was looked up.
            let gone = DomainError::NotFound(if note.group.is_some() { "group" } else { "user" });
            let added = added.ok_or(gone)?;
            change.rows_added(NOTES, vec![added.id.0]).await?;
            change.finish(true, Some(added.id.0)).await?
        }
    };
    let id = NoteId(outcome.created.ok_or(DomainError::NotFound("note"))?);
    Ok((plaudit.notes().get(id).await?, outcome.changed))
}

async fn may_post_in(plaudit: &Plaudit, author: UserId, group: GroupId) -> DomainResult<()> {
    let group = plaudit.groups().get(group).await?;
    let membership = (EdgeKind::GroupJoin, group.id.0);
    let is_member = plaudit.inner.memberships.states(author, &[membership]).await? == [true];
    if is_member || group.owner == author {
        Ok(())
    } else {
        Err(DomainError::Forbidden("join the group before you post in it"))
    }
}

/// Removes a note: the actor's own, or any note if they may. The note no longer counts for its author and
/// its group, nor as featured; its likes and collects no longer count as received by the author. Its
/// comments are removed in the background, and then no longer count for their authors. The note's own
/// counts are no longer shown.
///
/// Returns the author, and whether anything changed: it does not if the note was removed before.
///
/// # Errors
/// [`DomainError::NotFound`] for a note that never existed; [`DomainError::Forbidden`] for a note of
/// somebody else.
pub async fn delete_note(
    plaudit: &Plaudit,
    actor: UserId,
    note: NoteId,
    may_remove_any: bool,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(UserId, ActionOutcome)> {
    let not_found = || DomainError::NotFound("note");
    let mut change =
        match transaction::begin(plaudit, actor, key, &ActionCall::new("deleteNote", &note)).await? {
            ActionStart::Repeated(outcome) => {
                return Ok((author_of(plaudit, note).await?.ok_or_else(not_found)?, outcome));
            }
            ActionStart::New(change) => change,
        };
    let tx = change.tx();
    // Checked without a lock first: the lock of removals blocks batches.
    let state = notes::note_state(tx, note).await?.ok_or_else(not_found)?;
    if state.author != actor && !may_remove_any {
        let forbidden = DomainError::Forbidden("only its author and moderators can remove a note");
        return Err(if state.is_shown { forbidden } else { not_found() });
    }
    // Before the note is locked, because a backfill that holds the lock of removals locks notes.
    shards::lock_removals(tx).await?;
    let state = notes::lock_note(tx, note).await?.ok_or_else(not_found)?;
    if !state.is_removed {
        remove_notes(plaudit, &mut change, &[state], Some(actor)).await?;
    }
    Ok((state.author, change.finish(!state.is_removed, None).await?))
}

/// Removes notes that are locked, under the lock of removals; `by`: `None` for a service.
pub(crate) async fn remove_notes(
    plaudit: &Plaudit,
    change: &mut ActionTransaction<'_>,
    notes: &[NoteState],
    by: Option<UserId>,
) -> DomainResult<()> {
    let ids: Vec<Id> = notes.iter().map(|note| note.id.0).collect();
    change.change_rows(NOTES, ids.clone(), rows::REMOVE).await?;
    backfills::remove_comments_of(change.tx(), plaudit.inner.redis.shards(), &ids, by).await?;
    Ok(change.record_removals(EntityKind::Note, by, &ids).await?)
}

/// Author of a note, also if it was removed.
async fn author_of(plaudit: &Plaudit, note: NoteId) -> DomainResult<Option<UserId>> {
    Ok(notes::author_of(&plaudit.inner.db, note).await?)
}

/// An author's notes that only the author and moderators see, newest first: not approved, or hidden.
pub async fn unpublished_notes_of(
    plaudit: &Plaudit,
    author: UserId,
    page: PageRequest<Moment>,
) -> DomainResult<Slice<Moment>> {
    Ok(note_lists::unpublished_notes_of(&plaudit.inner.db, author, page).await?)
}

/// A user's notes, newest first; `with_hidden`: also while the user is hidden.
pub async fn notes_of_user(
    plaudit: &Plaudit,
    author: UserId,
    with_hidden: bool,
    page: PageRequest<Moment>,
) -> DomainResult<Slice<Moment>> {
    let db = &plaudit.inner.db;
    Ok(if with_hidden {
        note_lists::all_notes_of_user(db, author, page).await?
    } else {
        note_lists::notes_of_user(db, author, page).await?
    })
}

/// A note that the actor may like, comment on, and so on. Hidden notes exist only for their author, and
/// notes that are not approved for nobody: so nothing counts for a note before it appears.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown, removed or hidden note, and for one that is not approved;
/// [`DomainError::BadInput`] if that is the actor's own.
pub async fn note_for(plaudit: &Plaudit, actor: Option<UserId>, note: NoteId) -> DomainResult<Arc<Note>> {
    let note = plaudit.notes().get(note).await?;
    may_act_on(actor, &note).map(|()| note)
}

/// The same, if its texts are not needed.
pub(crate) async fn record_for(
    plaudit: &Plaudit,
    actor: Option<UserId>,
    note: NoteId,
) -> DomainResult<Cached<Arc<Note>>> {
    let note = plaudit.notes().record(note).await?;
    may_act_on(actor, note.record()).map(|()| note)
}

/// The notes of an author or a group by all-time heat, in coarse steps.
pub async fn hottest_notes(
    plaudit: &Plaudit,
    of: NotesOf,
    page: &PageRequest<Ranked>,
) -> DomainResult<Slice<Ranked>> {
    Ok(rankings::hottest_notes(&plaudit.inner.db, of, page).await?)
}

/// A group's notes, newest first.
pub async fn notes_of_group(
    plaudit: &Plaudit,
    group: GroupId,
    page: PageRequest<Moment>,
) -> DomainResult<Slice<Moment>> {
    Ok(note_lists::notes_of_group(&plaudit.inner.db, group, page).await?)
}

/// How new notes come.
pub(crate) fn arrival(plaudit: &Plaudit) -> Arrival {
    if plaudit.inner.settings.moderate_notes { Arrival::Judged } else { Arrival::News }
}

fn may_act_on(actor: Option<UserId>, note: &Note) -> DomainResult<()> {
    let is_approved = note.state == ModerationState::Approved;
    match actor == Some(note.author) {
        true if !is_approved => {
            Err(DomainError::bad_input("noteId", "noteId: this note is not approved yet; wait until it is"))
        }
        false if !note.is_public() => Err(DomainError::NotFound("note")),
        _ => Ok(()),
    }
}
