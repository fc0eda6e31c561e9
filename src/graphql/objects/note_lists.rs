//! Pages of notes.

use crate::{
    graphql::{
        definition::{
            pages::List,
            types::Call,
            values::{Object, Output},
        },
        errors::ApiResult,
    },
    primitives::{NoteId, PageRequest, Slice},
};

/// A page of notes in the order of their ids. Their rows, with texts, are read only if they are needed; then notes that
/// were removed meanwhile are left out.
pub async fn page_of_notes(
    list: List,
    request: &PageRequest,
    notes: Slice<NoteId>,
    call: Call<'_>,
) -> ApiResult<Output> {
    if !call.needs_rows {
        return Ok(list.page(request, notes.map(|note| (note.0, Object::of(note)))));
    }
    let rows = call.scope.plaudit().notes().get_many(&notes.items).await?;
    let present = rows.into_iter().flatten().map(|note| (note.id.0, note));
    Ok(list.page(request, Slice { items: present.collect(), has_more: notes.has_more }))
}
