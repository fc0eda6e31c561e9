//! Views.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use crate::{
    graphql::{
        errors::{ApiError, ApiResult},
        objects::notes::Note,
        reading::{
            guards::ByTable,
            prefetch::{Prefetch, Selection},
        },
        request::ids::parse_as,
    },
    primitives::NoteId,
};

/// Most views that one request records.
const MAX_IDS: usize = 100;

action_types! {
    RecordViewsInput {
        /// The notes that were viewed: 1 to 100 ids. A repeated id counts each time; an id without a note is
        /// skipped.
        note_ids: Vec<ID>,
    }
    RecordViewsPayload {
        /// False if none of the ids is that of a note.
        changed,
        /// The notes that were viewed, each once. Their view counts follow within seconds.
        notes: Vec<Note>,
    }
}

#[derive(Default)]
pub struct ViewMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl ViewMutations {
    /// Records views of notes. Views are counted in batches after about a second; a crash of the server may
    /// lose the views of that second.
    async fn record_views(
        &self,
        ctx: &Context<'_>,
        input: RecordViewsInput,
    ) -> ApiResult<Option<RecordViewsPayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let ids = parse_ids(&input.note_ids)?;
        let viewed = action.plaudit().record_views(action.actor().await?, &ids, action.key()).await?;

        let selection = Selection::of(ctx).inside("notes");
        let mut prefetch = Prefetch::default();
        for note in &viewed {
            prefetch.note(note, &selection);
        }
        let scope = prefetch.read(&action.scope.renewed()).await;
        let notes: Vec<Note> = viewed.iter().map(|note| Note::new(note.id, scope.clone())).collect();
        Ok(Some(RecordViewsPayload { changed: !notes.is_empty(), notes }))
    }
}

fn parse_ids(ids: &[ID]) -> ApiResult<Vec<NoteId>> {
    if !(1..=MAX_IDS).contains(&ids.len()) {
        let message = format!("noteIds: 1 to {MAX_IDS} ids, not {}", ids.len());
        return Err(ApiError::bad_input("noteIds", message));
    }
    ids.iter().map(|id| parse_as("noteIds", id)).collect()
}
