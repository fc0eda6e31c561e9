//! Pages of entities.

use crate::{
    definition::{
        pages::{FIRST, List, ListKey},
        resolve::Call,
        types::EnumType,
        values::{Object, Output},
    },
    errors::ApiResult,
};
use plaudit_catalogue::{
    EdgeKind, Entity, EntityKind,
    primitives::{Id, Moment, NoteId, PageRequest, Slice, UserId},
};
use plaudit_domain::{NotesOf, content::notes, edges::lists};

/// Entities of a page that exist, with their keys. Their rows, with texts, are read only if they are needed; then those
/// that were removed meanwhile are left out.
pub async fn existing<K>(items: Vec<(K, Entity)>, call: Call<'_>) -> ApiResult<Vec<(K, Object)>> {
    if !call.needs_rows {
        return Ok(items.into_iter().map(|(key, entity)| (key, Object::of(entity))).collect());
    }
    let entities: Vec<Entity> = items.iter().map(|(_, entity)| *entity).collect();
    let rows = call.scope.rows(&entities).await?;
    let present = items.into_iter().zip(rows).filter_map(|((key, _), row)| Some((key, Object::of_row(row?))));
    Ok(present.collect())
}

/// A page of entities that exist.
pub async fn page_of<K: ListKey>(
    list: List,
    request: &PageRequest<K>,
    Slice { items, has_more }: Slice<(K, Entity)>,
    call: Call<'_>,
) -> ApiResult<Output> {
    Ok(list.page(request, Slice { items: existing(items, call).await?, has_more }))
}

/// A page of notes, newest first.
pub async fn page_of_notes(
    list: List,
    request: &PageRequest<Moment>,
    notes: Slice<Moment>,
    call: Call<'_>,
) -> ApiResult<Output> {
    page_of(list, request, notes.map(|place| (place, NoteId(place.id).into())), call).await
}

/// The argument of a list of notes for their order.
pub const NOTE_ORDER: &str = "\"The order of the notes.\" orderBy: NoteOrder! = NEWEST";

pub fn note_order() -> EnumType {
    EnumType {
        name: "NoteOrder",
        description: "The order of notes.",
        values: vec![
            (
                "HOT",
                "By their likes and collects of all time, in coarse steps, the most first; the newest first within a \
                 step. Moves while you read: drop ids that you show.",
            ),
            ("NEWEST", "By age, the youngest first."),
        ],
    }
}

/// Whether the notes are wanted by heat.
pub fn wants_hottest(call: &Call<'_>) -> bool {
    call.arguments.text("orderBy").as_deref() == Some("HOT")
}

/// A page of the hottest notes of an author or a group.
pub async fn page_of_hottest_notes(list: List, of: NotesOf, call: Call<'_>) -> ApiResult<Output> {
    let request = list.request(call.arguments, FIRST)?;
    let notes = notes::hottest_notes(call.scope.plaudit(), of, &request).await?;
    page_of(list, &request, notes.map(|place| (place, NoteId(place.id).into())), call).await
}

/// A page of users with an edge of this kind to the target.
pub async fn page_of_actors(list: List, kind: EdgeKind, target: Id, call: Call<'_>) -> ApiResult<Output> {
    let request = list.request(call.arguments, FIRST)?;
    let actors = lists::actors_of(call.scope.plaudit(), kind, target, &request).await?;
    Ok(list.page(&request, actors.map(|place| (place, UserId(place.id)))))
}

/// A page of what the user has an edge of this kind to.
pub async fn page_of_targets(list: List, kind: EdgeKind, actor: UserId, call: Call<'_>) -> ApiResult<Output> {
    let request: PageRequest<Moment> = list.request(call.arguments, FIRST)?;
    // Pending flips do not show whether their target was removed. Users never are.
    let call = Call { needs_rows: call.needs_rows || kind.target() != EntityKind::User, ..call };
    let (mut items, mut after) = (Vec::new(), request.after);
    loop {
        let part = PageRequest { after, ..request };
        let places = lists::targets_of(call.scope.plaudit(), actor, kind, &part).await?;
        let (last, has_more) = (places.items.last().copied(), places.has_more);
        let targets = places.items.into_iter().map(|place| (place, Entity::new(kind.target(), place.id)));
        items.extend(existing(targets.collect(), call).await?);
        // Removed targets leave room.
        if items.len() >= request.first || !has_more {
            let has_more = has_more || items.len() > request.first;
            items.truncate(request.first);
            return Ok(list.page(&request, Slice { items, has_more }));
        }
        after = last;
    }
}
