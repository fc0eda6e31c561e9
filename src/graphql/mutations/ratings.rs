//! Rating notes.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::ApiResult,
    request::access::Who,
};
use plaudit_catalogue::primitives::NoteId;
use plaudit_domain::{Score, content::ratings};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "rateNote",
        permission: Permission::Write(Who::SignedIn),
        description: "Rates a note from 0 to 10, or changes your rating.",
        input: &[("noteId: ID!", "The note to rate."), ("score: Int!", "From 0 to 10.")],
        unchanged: Some("False if you already had rated it the same."),
        payload: &[("note: Note!", "The note, with its new ratings.")],
        act: |call| rate_note(call).boxed(),
    },
    Mutation {
        name: "unrateNote",
        permission: Permission::Write(Who::SignedIn),
        description: "Takes your rating of a note back. Comments keep the rating that they were written with.",
        input: &[("noteId: ID!", "The note whose rating is taken back.")],
        unchanged: Some("False when you had not rated it."),
        payload: &[("note: Note!", "The note, with its new ratings.")],
        act: |call| unrate_note(call).boxed(),
    },
];

async fn rate_note(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let note: NoteId = action.input.id("noteId")?;
    let score = Score::parse(action.input.int("score").unwrap_or_default())?;
    let (note, changed) =
        ratings::set_rating(action.plaudit(), Some(action.actor().await?), note, Some(score), action.key())
            .await?;
    Ok(payload(changed, [("note", note.into())]))
}

async fn unrate_note(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let note: NoteId = action.input.id("noteId")?;
    let actor = action.switching(false).await?.actor.map(|actor| actor.user);
    let (note, changed) = ratings::set_rating(action.plaudit(), actor, note, None, action.key()).await?;
    Ok(payload(changed, [("note", note.into())]))
}
