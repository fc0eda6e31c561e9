//! Notes that a service keeps as its app has them.

use std::collections::{BTreeSet, HashMap};

use super::{
    CreationTime, ElementOutcome, ElementResults, Thing, apply, removed, results, until_uncontended,
};
use crate::{
    AppKey, DomainError, DomainResult, PageAddress, Plaudit, TextEdit, content::notes::arrival, transaction,
};
use plaudit_catalogue::{
    NOTES,
    primitives::{GroupId, Id, NoteId, UserId},
};
use plaudit_store::sql::{
    content::{
        groups,
        notes::{self, KeyedNote, NoteRow},
        submissions::Judged,
        texts::{self, TextChange, TextRole, WrittenText},
    },
    ownership::shards,
    people::users,
};

/// A note as the app knows it.
#[derive(Clone, Debug)]
pub struct NoteUpsert {
    pub key: AppKey,
    pub author: UserId,
    /// The group that a new note is posted in.
    pub group: Option<GroupId>,
    /// The app's page about it. `None` leaves it as it is.
    pub url: Option<PageAddress>,
    /// What it leaves out stays as it is, and is empty in a new note.
    pub text: TextEdit,
    /// Of a new note.
    pub created_at: Option<CreationTime>,
}

/// A note while the elements are applied.
struct UpsertedNote<'a> {
    key: &'a AppKey,
    author: UserId,
    group: Option<GroupId>,
    url: Option<String>,
    /// What was written last.
    text: WrittenText,
    created_at: Option<CreationTime>,
    /// Its text became another.
    is_other: bool,
    /// `None`: new.
    known: Option<KeyedNote>,
}

/// Authors and groups that exist.
struct Present {
    authors: BTreeSet<UserId>,
    groups: BTreeSet<GroupId>,
}

/// Creates notes by key, or changes their texts, for which the rules of `createNote` and `updateNote` hold:
/// they wait for a decision if notes are moderated, and notes of hidden authors are hidden. A service needs
/// no permission of authors and groups.
///
/// # Errors
/// Of an element: [`DomainError::NotFound`] for an unknown author or group; [`DomainError::BadInput`] for another
/// author or group than the note has, and for the key of a removed note.
pub async fn upsert_notes(plaudit: &Plaudit, notes: &[NoteUpsert]) -> DomainResult<ElementResults> {
    until_uncontended(|| try_upsert_notes(plaudit, notes)).await
}

/// `None` if somebody else took one of the keys meanwhile.
async fn try_upsert_notes(plaudit: &Plaudit, notes: &[NoteUpsert]) -> DomainResult<Option<ElementResults>> {
    let mut change = transaction::begin_without_key(plaudit, "upsertNotes").await?;
    let is_judged = plaudit.inner.settings.moderate_notes;
    let tx = change.tx();
    // The hiding of a user goes through the notes that exist, so none may be added meanwhile.
    shards::lock_removals_shared(tx).await?;
    let keys: Vec<&str> = notes.iter().map(|note| note.key.as_str()).collect();
    let known = notes::lock_notes_by_keys(tx, &keys).await?;
    let authors: Vec<UserId> = notes.iter().map(|note| note.author).collect();
    let groups: Vec<GroupId> = notes.iter().filter_map(|note| note.group).collect();
    let present = Present {
        authors: users::present_users(tx, &authors).await?,
        groups: groups::present_groups(tx, &groups).await?,
    };
    let (things, steps) = apply::<UpsertedNote<'_>>(notes, known, |note| present.must_have(note));

    let rows = new_rows(&things);
    let added = notes::add_notes(tx, &rows, arrival(plaudit)).await?;
    if added.len() < rows.len() {
        return Ok(None);
    }
    let changes = changes(&things, is_judged);
    texts::change_texts(tx, Judged::Note, &changes).await?;
    let urls = other_urls(&things);
    notes::set_note_urls(tx, &urls).await?;
    change.rows_added(NOTES, added.iter().map(|added| added.id.0).collect()).await?;
    let added: HashMap<&str, Id> =
        added.iter().filter_map(|added| Some((added.key.as_deref()?, added.id.0))).collect();
    let changed: BTreeSet<NoteId> =
        changes.iter().map(|of| NoteId(of.id)).chain(urls.iter().map(|(note, _)| *note)).collect();
    changed.iter().for_each(|note| change.touch(*note));
    let id = |note: &UpsertedNote<'_>| match &note.known {
        Some(known) => Some(known.id.0),
        None => added.get(note.key.as_str()).copied(),
    };
    let ids: Vec<Option<Id>> = things.iter().map(id).collect();
    change.finish(!(added.is_empty() && changed.is_empty()), None).await?;
    results(steps, &ids).map(Some)
}

impl Present {
    fn must_have(&self, note: &NoteUpsert) -> DomainResult<()> {
        if !self.authors.contains(&note.author) {
            return Err(DomainError::NotFound("user"));
        }
        match note.group {
            Some(group) if !self.groups.contains(&group) => Err(DomainError::NotFound("group")),
            _ => Ok(()),
        }
    }
}

impl<'a> Thing<'a> for UpsertedNote<'a> {
    type Element = NoteUpsert;
    type Known = KeyedNote;

    fn key(note: &'a NoteUpsert) -> &'a str {
        note.key.as_str()
    }

    fn known_key(known: &KeyedNote) -> &str {
        &known.key
    }

    fn of(note: &'a NoteUpsert, known: KeyedNote) -> Self {
        let (key, author, group) = (&note.key, known.author, known.group);
        let (url, text) = (known.url.clone(), known.written());
        Self { key, author, group, url, text, created_at: None, is_other: false, known: Some(known) }
    }

    fn new(note: &'a NoteUpsert) -> Self {
        let NoteUpsert { key, author, group, url, text, created_at } = note;
        Self {
            key,
            author: *author,
            group: *group,
            url: url.as_ref().map(|url| url.as_str().to_owned()),
            // A note may be without text.
            text: text.apply(&WrittenText::of_note("", "")),
            created_at: *created_at,
            is_other: false,
            known: None,
        }
    }

    fn take(&mut self, note: &NoteUpsert) -> DomainResult<ElementOutcome> {
        if let Some(known) = self.known.as_ref().filter(|known| known.is_removed) {
            return Err(removed(known.id.into(), self.key));
        }
        if self.author != note.author {
            let message =
                format!("authorId: the author of the note is user_{}; it never changes", self.author);
            return Err(DomainError::bad_input("authorId", message));
        }
        // A note that was taken out of its group stays out of it, whatever the app says.
        if let (Some(group), Some(given)) = (self.group, note.group)
            && group != given
        {
            let message = format!("groupId: the note is in group_{group}; it moves to no other group");
            return Err(DomainError::bad_input("groupId", message));
        }
        let url = note.url.as_ref().map(PageAddress::as_str).or(self.url.as_deref()).map(str::to_owned);
        let text = note.text.apply(&self.text);
        if self.text == text && self.url == url {
            return Ok(ElementOutcome::Unchanged);
        }
        self.is_other |= self.text != text;
        (self.text, self.url) = (text, url);
        Ok(ElementOutcome::Updated)
    }
}

/// In one order for all, so that two requests never wait for each other.
fn new_rows<'n>(things: &'n [UpsertedNote<'_>]) -> Vec<NoteRow<'n>> {
    let new = things.iter().filter(|note| note.known.is_none());
    let mut rows: Vec<NoteRow<'n>> = new
        .map(|note| NoteRow {
            author: note.author,
            group: note.group,
            key: Some(note.key.as_str()),
            url: note.url.as_deref(),
            title: note.text.title.as_deref().unwrap_or_default(),
            body: &note.text.body,
            created_at: note.created_at.map(|at| at.0),
            featured_at: None,
        })
        .collect();
    rows.sort_unstable_by_key(|row| row.key);
    rows
}

fn changes<'n>(things: &'n [UpsertedNote<'_>], is_judged: bool) -> Vec<TextChange<'n>> {
    let change = |note: &'n UpsertedNote<'_>| {
        let known = note.known.as_ref().filter(|known| note.is_other && known.written() != note.text)?;
        let place = TextRole::of(known.state, &known.shown, &note.text, is_judged);
        Some(TextChange { id: known.id.0, text: &note.text, place })
    };
    things.iter().filter_map(change).collect()
}

fn other_urls<'n>(things: &'n [UpsertedNote<'_>]) -> Vec<(NoteId, &'n str)> {
    let other = |note: &'n UpsertedNote<'_>| {
        let known = note.known.as_ref().filter(|known| known.url != note.url)?;
        Some((known.id, note.url.as_deref()?))
    };
    things.iter().filter_map(other).collect()
}
