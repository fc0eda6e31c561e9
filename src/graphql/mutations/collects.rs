//! Collections of notes.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::ApiResult,
    request::access::Who,
};
use plaudit_domain::edges::collects;

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "collectNote",
        permission: Permission::Write(Who::SignedIn),
        description: "Puts a note into your collection. Doing so again changes nothing.",
        input: &[("noteId: ID!", "The note to collect.")],
        unchanged: Some("False when it was in your collection already."),
        payload: &[("note: Note!", "The note, with its new counts.")],
        act: |call| set_collect(call, true).boxed(),
    },
    Mutation {
        name: "uncollectNote",
        permission: Permission::Write(Who::SignedIn),
        description: "Takes a note out of your collection.",
        input: &[("noteId: ID!", "The note to remove from your collection.")],
        unchanged: Some("False when it was not in your collection."),
        payload: &[("note: Note!", "The note, with its new counts.")],
        act: |call| set_collect(call, false).boxed(),
    },
];

async fn set_collect(call: Call<'_>, on: bool) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let note = action.input.id("noteId")?;
    let (note, switched) =
        collects::set_note_collect(action.plaudit(), note, action.switching(on).await?).await?;
    Ok(action.switched(switched, [("note", note.into())]))
}
