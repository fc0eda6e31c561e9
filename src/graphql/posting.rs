//! Writing notes and removing them.

use async_graphql::{Context, ID, Object};

use super::{
    access::ByTable,
    actions::{Action, action_types},
    errors::ApiResult,
    ids::parse_as,
    notes::Note,
    prefetch::{Prefetch, Selection},
    users::User,
};
use crate::{
    auth::Role,
    domain::{NOTE_BODY, NOTE_TITLE, NewNote, Text},
    primitives::NoteId,
};

action_types! {
    CreateNoteInput {
        /// 1 to 200 characters on one line.
        title: String,
        /// 1 to 10000 characters.
        body: String,
        /// The group to post in: one that you created or are a member of.
        group_id: Option<ID>,
    }
    CreateNotePayload {
        /// Always true: every note is new.
        changed,
        /// The new note.
        note: Note,
    }
    DeleteNoteInput {
        /// The note to remove.
        note_id: ID,
    }
    DeleteNotePayload {
        /// False when it was removed before.
        changed,
        /// The id of the removed note, for your cache to drop.
        note_id: ID,
        /// Its author, with the new counts.
        author: User,
    }
}

#[derive(Default)]
pub struct PostingMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl PostingMutations {
    /// Posts a note. Send an idempotency key if you may have to try again.
    async fn create_note(
        &self,
        ctx: &Context<'_>,
        input: CreateNoteInput,
    ) -> ApiResult<Option<CreateNotePayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let note = NewNote {
            title: Text::parse(&input.title, &NOTE_TITLE)?,
            body: Text::parse(&input.body, &NOTE_BODY)?,
            group: input.group_id.map(|group| parse_as("groupId", &group)).transpose()?,
        };
        let author = action.actor().await?;
        let (note, changed) = action.plaudit().create_note(author, note, action.key()).await?;
        let selection = Selection::of(ctx).inside("note");
        let note = Note::read_ahead(&note, &selection, &action.scope.renewed()).await;
        Ok(Some(CreateNotePayload { changed, note }))
    }

    /// Removes a note: your own, or as a moderator any. It leaves its author's and its group's notes, its
    /// likes and collects leave what the author received, and its comments are removed with it.
    async fn delete_note(
        &self,
        ctx: &Context<'_>,
        input: DeleteNoteInput,
    ) -> ApiResult<Option<DeleteNotePayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let note: NoteId = parse_as("noteId", &input.note_id)?;
        let actor = action.actor().await?;
        let may_remove_any = action.scope.viewer().has_role(Role::Moderator);
        let (author, outcome) =
            action.plaudit().delete_note(actor, note, may_remove_any, action.key()).await?;
        let mut prefetch = Prefetch::default();
        prefetch.user(author, &Selection::of(ctx).inside("author"));
        let author = User::new(author, prefetch.read(&action.scope.renewed()).await);
        Ok(Some(DeleteNotePayload { changed: outcome.changed, note_id: input.note_id, author }))
    }
}
