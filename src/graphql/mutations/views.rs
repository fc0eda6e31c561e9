//! Views.

use futures_util::FutureExt;

use super::action::{Action, Mutation, payload};
use crate::{
    domain::Durability,
    graphql::{
        definition::{types::Call, values::Output},
        errors::{ApiError, ApiResult},
    },
    primitives::NoteId,
};

pub const MUTATIONS: &[Mutation] = &[Mutation {
    name: "recordViews",
    description: "Records views of notes. Views are counted in batches after about a second; a crash of the server may lose the views of that second.",
    input: &[(
        "noteIds: [ID!]!",
        "The notes that were viewed: 1 to 100 ids. A request counts one view per note, however often it names it; an id without a note is skipped.",
    )],
    unchanged: Some("False if none of the ids is that of a note."),
    payload: &[(
        "notes: [Note!]!",
        "The notes that were viewed, each once. Their view counts follow within seconds.",
    )],
    act: |call| record_views(call).boxed(),
}];

/// Most views that one request records.
const MAX_IDS: usize = 100;

async fn record_views(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let count = action.input.texts("noteIds").len();
    if !(1..=MAX_IDS).contains(&count) {
        let message = format!("noteIds: 1 to {MAX_IDS} ids, not {count}");
        return Err(ApiError::bad_input("noteIds", message));
    }
    let ids: Vec<NoteId> = action.input.ids("noteIds")?;
    let (actor, recorded) = (action.actor().await?, &action.scope.acts().recorded_views);
    let viewed = action.plaudit().record_views(actor, &ids, action.key(), recorded).await?;
    action.scope.acts().durability.note(Durability::Memory);
    Ok(payload(!viewed.is_empty(), [("notes", Output::list(viewed))]))
}
