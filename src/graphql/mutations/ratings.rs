//! Rating notes.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use crate::{
    domain::Score,
    graphql::{
        errors::ApiResult,
        objects::notes::Note,
        reading::{guards::ByTable, prefetch::Selection},
        request::ids::parse_as,
    },
    primitives::NoteId,
};

action_types! {
    RateNoteInput {
        /// The note to rate.
        note_id: ID,
        /// From 0 to 10.
        score: i32,
    }
    RateNotePayload {
        /// False if you already had rated it the same.
        changed,
        /// The note, with its new ratings.
        note: Note,
    }
}

#[derive(Default)]
pub struct RatingMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl RatingMutations {
    /// Rates a note from 0 to 10, or changes your rating.
    async fn rate_note(&self, ctx: &Context<'_>, input: RateNoteInput) -> ApiResult<Option<RateNotePayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let note: NoteId = parse_as("noteId", &input.note_id)?;
        let score = Score::parse(input.score)?;
        let (note, changed) =
            action.plaudit().rate_note(action.actor().await?, note, score, action.key()).await?;
        let selection = Selection::of(ctx).inside("note");
        let note = Note::read_ahead(&note, &selection, &action.scope.renewed()).await;
        Ok(Some(RateNotePayload { changed, note }))
    }
}
