//! Creating, editing and deleting notes.

use futures_util::FutureExt;

use plaudit_token_auth::Role;

use super::action::{APP_KEY, Action, Mutation, Permission, created, payload};
use crate::{
    definition::{arguments::Arguments, resolve::Call, values::Output},
    errors::ApiResult,
    request::{access::Who, ids::global_id},
};
use plaudit_catalogue::primitives::NoteId;
use plaudit_domain::{
    Judged, NOTE_BODY, NOTE_TITLE, NewNote, Text, TextEdit, TextRule,
    content::{edits, notes},
};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "createNote",
        permission: Permission::Create(Who::SignedIn),
        description: "Posts a note. Send an idempotency key if you may have to retry.",
        input: &[
            ("title: String", "1 to 200 characters on one line. Omit it if your app keeps the title itself."),
            ("body: String", "1 to 10000 characters. Omit it if your app keeps the text itself."),
            ("groupId: ID", "The group to post in: one that you created or are a member of."),
            APP_KEY,
            ("url: URL", "Your app's page about it: an https or http address. Needs the role service."),
        ],
        unchanged: None,
        payload: &[("note: Note!", "The new note.")],
        act: |call| create_note(call).boxed(),
    },
    Mutation {
        name: "updateNote",
        permission: Permission::Write(Who::Author),
        description: "Changes the title or body of your own note. Open pages that watch the note get the new text.",
        input: &[
            ("noteId: ID!", "The note to edit."),
            (
                "title: String",
                "1 to 200 characters on one line. Omit it to leave it as it is; null removes it.",
            ),
            ("body: String", "1 to 10000 characters. Omit it to leave it as it is; null removes it."),
        ],
        unchanged: Some("False when the texts were the same already."),
        payload: &[("note: Note!", "The note.")],
        act: |call| update_note(call).boxed(),
    },
    Mutation {
        name: "deleteNote",
        permission: Permission::Write(Who::AuthorOrModerator),
        description: "Removes a note and its comments: your own note, or any if you are a moderator. The note no longer counts for its author and group, and its likes and collects no longer count for its author.",
        input: &[("noteId: ID!", "The note to remove.")],
        unchanged: Some("False when it was removed before."),
        payload: &[
            ("deletedNoteId: ID!", "The id of the removed note, to evict from your cache."),
            ("author: User!", "Its author, with the new counts."),
        ],
        act: |call| delete_note(call).boxed(),
    },
];

async fn create_note(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let note = NewNote {
        key: action.app_key()?,
        url: action.app_page()?,
        text: note_text(&action.input)?,
        group: action.input.optional_id("groupId")?,
    };
    let author = action.actor().await?;
    let (note, _) = notes::create_note(action.plaudit(), author, note, action.key()).await?;
    Ok(created([("note", note.into())]))
}

async fn update_note(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let note: NoteId = action.input.id("noteId")?;
    let edit = note_text(&action.input)?;
    if edit.is_empty() {
        action.must_give_one_of(["title", "body"])?;
    }
    let actor = action.actor().await?;
    let target = (Judged::Note, note.0);
    let changed = edits::update_text(action.plaudit(), actor, target, &edit, action.key()).await?;
    Ok(payload(changed, [("note", note.into())]))
}

/// Title and body: what is left out stays, and null removes.
pub fn note_text(input: &Arguments) -> ApiResult<TextEdit> {
    let part = |rule: &TextRule| match input.text(rule.argument) {
        Some(text) => Text::parse(&text, rule).map(Some),
        None => Ok(input.is_null(rule.argument).then(Text::none)),
    };
    Ok(TextEdit::of_note(part(&NOTE_TITLE)?, part(&NOTE_BODY)?))
}

async fn delete_note(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let note: NoteId = action.input.id("noteId")?;
    let actor = action.actor().await?;
    let may_remove_any = action.scope.viewer().has_role(Role::Moderator);
    let (author, outcome) =
        notes::delete_note(action.plaudit(), actor, note, may_remove_any, action.key()).await?;
    Ok(payload(outcome.changed, [("deletedNoteId", global_id(note).0.into()), ("author", author.into())]))
}
