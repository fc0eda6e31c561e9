//! Views.

use std::net::Ipv4Addr;

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::{ApiError, ApiResult},
    request::access::Who,
};
use plaudit_catalogue::primitives::NoteId;
use plaudit_domain::{Durability, NoteViewer, content::views};

pub const MUTATIONS: &[Mutation] = &[Mutation {
    name: "recordViews",
    permission: Permission::Write(Who::Anyone),
    description: "Records views of notes, also without a token. Within a window (30 minutes, a setting) a viewer counts once per note: the user, without a token the address. Nobody becomes a user by viewing, unless there is an `idempotencyKey`. Views are counted in batches after about a second; a crash of the server may lose the views of that second, and forgets the windows.",
    input: &[(
        "noteIds: [ID!]!",
        "The notes that were viewed: 1 to 100 ids. Each counts once, however often it is named; an id without a note is skipped.",
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
    let (viewer, acts) = (viewer(&action).await?, action.scope.acts());
    let viewed =
        views::record_views(action.plaudit(), viewer, &ids, action.key(), &acts.recorded_views).await?;
    acts.durability.note(Durability::Memory);
    Ok(payload(!viewed.is_empty(), [("notes", Output::list(viewed))]))
}

/// The user; a token's subject that has none yet, who gets none by reading; without a token the network of the address.
async fn viewer<'a>(action: &'a Action<'_>) -> ApiResult<NoteViewer<'a>> {
    let viewer = action.scope.viewer();
    if let Some(subject) = viewer.subject() {
        let user = match action.key() {
            Some(_) => Some(action.actor().await?),
            None => viewer.actor_if_user(action.plaudit()).await?,
        };
        return Ok(user.map_or(NoteViewer::Subject(subject.as_str()), NoteViewer::User));
    }
    if action.key().is_some() {
        let message = "idempotencyKey: keys belong to a user; omit it, or send a token";
        return Err(ApiError::bad_input("idempotencyKey", message));
    }
    let network = action.scope.acts().network;
    Ok(NoteViewer::Network(network.unwrap_or(Ipv4Addr::UNSPECIFIED.into())))
}
