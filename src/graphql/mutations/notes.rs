//! Creating, deleting and featuring notes.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use plaudit_token_auth::Role;

use crate::{
    domain::{NOTE_BODY, NOTE_TITLE, NewNote, Text},
    graphql::{
        errors::ApiResult,
        objects::{notes::Note, users::User},
        reading::{
            guards::ByTable,
            prefetch::{Prefetch, Selection},
        },
        request::ids::parse_as,
    },
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
        /// The id of the removed note, to evict from your cache.
        note_id: ID,
        /// Its author, with the new counts.
        author: User,
    }
    FeatureNoteInput {
        /// The note to feature.
        note_id: ID,
    }
    FeatureNotePayload {
        /// False when it was featured already.
        changed,
        /// The note.
        note: Note,
    }
    UnfeatureNoteInput {
        /// The note to stop featuring.
        note_id: ID,
    }
    UnfeatureNotePayload {
        /// False when it was not featured.
        changed,
        /// The note.
        note: Note,
    }
}

#[derive(Default)]
pub struct NoteMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl NoteMutations {
    /// Posts a note. Send an idempotency key if you may have to retry.
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

    /// Removes a note and its comments: your own note, or any if you are a moderator. The note no longer
    /// counts for its author and group, and its likes and collects no longer count for its author.
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

    /// Features a note in its group. For moderators.
    async fn feature_note(
        &self,
        ctx: &Context<'_>,
        input: FeatureNoteInput,
    ) -> ApiResult<Option<FeatureNotePayload>> {
        let (changed, note) = set_featured(ctx, &input.note_id, input.idempotency_key, true).await?;
        Ok(Some(FeatureNotePayload { changed, note }))
    }

    /// Stops featuring a note. For moderators.
    async fn unfeature_note(
        &self,
        ctx: &Context<'_>,
        input: UnfeatureNoteInput,
    ) -> ApiResult<Option<UnfeatureNotePayload>> {
        let (changed, note) = set_featured(ctx, &input.note_id, input.idempotency_key, false).await?;
        Ok(Some(UnfeatureNotePayload { changed, note }))
    }
}

async fn set_featured(
    ctx: &Context<'_>,
    note: &ID,
    key: Option<String>,
    on: bool,
) -> ApiResult<(bool, Note)> {
    let action = Action::begin(ctx, key)?;
    let note = parse_as("noteId", note)?;
    let moderator = action.actor().await?;
    let (note, changed) = action.plaudit().set_featured(moderator, note, on, action.key()).await?;
    let selection = Selection::of(ctx).inside("note");
    Ok((changed, Note::read_ahead(&note, &selection, &action.scope.renewed()).await))
}
