//! Looking up notes.

use async_graphql::{Context, ID, Object};

use crate::graphql::{
    errors::ApiResult,
    objects::notes::Note,
    reading::{guards::ByTable, prefetch::Selection, scope::Scope},
    request::ids::parse_as,
};

#[derive(Default)]
pub struct NoteQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl NoteQueries {
    /// A note by its id. Null if there is none.
    async fn note(&self, ctx: &Context<'_>, id: ID) -> ApiResult<Option<Note>> {
        let scope = Scope::of(ctx);
        match scope.note(parse_as("id", &id)?).await? {
            Some(note) => Ok(Some(Note::read_ahead(&note, &Selection::of(ctx), scope).await)),
            None => Ok(None),
        }
    }
}
