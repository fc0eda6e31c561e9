//! Collections of notes.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use crate::graphql::{
    errors::ApiResult,
    objects::notes::Note,
    reading::{guards::ByTable, prefetch::Selection},
    request::ids::parse_as,
};

action_types! {
    CollectNoteInput {
        /// The note to collect.
        note_id: ID,
    }
    CollectNotePayload {
        /// False when it was in your collection already.
        changed,
        /// The note, with its new counts.
        note: Note,
    }
    UncollectNoteInput {
        /// The note to remove from your collection.
        note_id: ID,
    }
    UncollectNotePayload {
        /// False when it was not in your collection.
        changed,
        /// The note, with its new counts.
        note: Note,
    }
}

#[derive(Default)]
pub struct CollectMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl CollectMutations {
    /// Puts a note into your collection. Doing so again changes nothing.
    async fn collect_note(
        &self,
        ctx: &Context<'_>,
        input: CollectNoteInput,
    ) -> ApiResult<Option<CollectNotePayload>> {
        let (changed, note) = set_collect(ctx, &input.note_id, input.idempotency_key, true).await?;
        Ok(Some(CollectNotePayload { changed, note }))
    }

    /// Takes a note out of your collection.
    async fn uncollect_note(
        &self,
        ctx: &Context<'_>,
        input: UncollectNoteInput,
    ) -> ApiResult<Option<UncollectNotePayload>> {
        let (changed, note) = set_collect(ctx, &input.note_id, input.idempotency_key, false).await?;
        Ok(Some(UncollectNotePayload { changed, note }))
    }
}

async fn set_collect(ctx: &Context<'_>, note: &ID, key: Option<String>, on: bool) -> ApiResult<(bool, Note)> {
    let action = Action::begin(ctx, key)?;
    let note = parse_as("noteId", note)?;
    let (note, changed) =
        action.plaudit().set_note_collect(action.actor().await?, note, on, action.key()).await?;
    let selection = Selection::of(ctx).inside("note");
    Ok((changed, Note::read_ahead(&note, &selection, &action.scope.renewed()).await))
}
