//! Likes.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::{errors::ApiResult, ids::parse_as, notes::Note, prefetch::Selection, scope::Scope};
use crate::domain::IdempotencyKey;

#[derive(InputObject)]
struct LikeNoteInput {
    /// The note to like.
    note_id: ID,
    /// Any text of at most 64 bytes. The same key within 24 hours gives the first result again and acts no
    /// second time.
    idempotency_key: Option<String>,
}

#[derive(InputObject)]
struct UnlikeNoteInput {
    /// The note whose like is taken back.
    note_id: ID,
    /// Any text of at most 64 bytes. The same key within 24 hours gives the first result again and acts no
    /// second time.
    idempotency_key: Option<String>,
}

#[derive(SimpleObject)]
struct LikeNotePayload {
    /// False when you liked it already.
    changed: bool,
    /// The note, with its new counts.
    note: Note,
}

#[derive(SimpleObject)]
struct UnlikeNotePayload {
    /// False when you did not like it.
    changed: bool,
    /// The note, with its new counts.
    note: Note,
}

#[derive(Default)]
pub struct LikeMutations;

#[Object]
impl LikeMutations {
    /// Likes a note. Liking it again changes nothing.
    async fn like_note(&self, ctx: &Context<'_>, input: LikeNoteInput) -> ApiResult<Option<LikeNotePayload>> {
        let (note, changed) = set_like(ctx, &input.note_id, input.idempotency_key, true).await?;
        Ok(Some(LikeNotePayload { changed, note }))
    }

    /// Takes the like of a note back.
    async fn unlike_note(
        &self,
        ctx: &Context<'_>,
        input: UnlikeNoteInput,
    ) -> ApiResult<Option<UnlikeNotePayload>> {
        let (note, changed) = set_like(ctx, &input.note_id, input.idempotency_key, false).await?;
        Ok(Some(UnlikeNotePayload { changed, note }))
    }
}

async fn set_like(ctx: &Context<'_>, note: &ID, key: Option<String>, on: bool) -> ApiResult<(Note, bool)> {
    let scope = Scope::of(ctx);
    scope.viewer().must_be_signed_in()?;
    let note = parse_as("noteId", note)?;
    let key = key.map(IdempotencyKey::parse).transpose()?;
    let actor = scope.viewer().actor(scope.plaudit()).await?;
    let (note, changed) = scope.plaudit().set_note_like(actor, note, on, key.as_ref()).await?;
    let note = Note::read_ahead(&note, &Selection::of(ctx).inside("note"), &scope.renewed()).await;
    Ok((note, changed))
}
