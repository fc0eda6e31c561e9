//! The next texts of comments and notes, which their authors and moderators see.

use super::moderation_states::state;
use crate::{
    definition::{
        list_size::ListSize,
        resolve::Call,
        types::ObjectType,
        values::{Object, Output, Scalar},
    },
    errors::ApiResult,
    reading::facts::Row,
};
use plaudit_domain::{COMMENT_BODY, ModerationState, PendingEdit, PendingNoteEdit};

const STATE: (&str, &str) =
    ("state: ModerationState!", "`PENDING` while it waits, `REJECTED` once it was rejected.");
const REASON: (&str, &str) = ("rejectionReason: String", "Why it was rejected. Null while it waits.");

pub fn comment_edit() -> ObjectType {
    ObjectType::new(
        "CommentEdit",
        "The next text of an approved comment. Others see it once it is approved; then it takes the place of the old one.",
    )
    .parts([
        ("body: String!", "The text."),
        ("images: [URL!]!", "Addresses of images (https)."),
        ("mentions: [User!]!", "Users whom the author mentions."),
        STATE,
        REASON,
        ("createdAt: DateTime!", "When it was written."),
    ])
    .sized("images", ListSize::Fixed(9))
    .sized("mentions", ListSize::Fixed(10))
    .long_text("body", COMMENT_BODY.max_bytes())
}

/// The edit of the comment, if there is one and the viewer may see it.
pub async fn pending_edit(call: Call<'_>) -> ApiResult<Output> {
    let Some(Row::Comment(comment)) = call.scope.row(call.entity()?).await? else { return Ok(Output::NULL) };
    let Some(edit) = &comment.edit else { return Ok(Output::NULL) };
    let may_see = call.scope.reader().is_user_or_moderator(comment.author).await?;
    Ok(if may_see { object(edit).into() } else { Output::NULL })
}

fn object(PendingEdit { text, rejected_because, created_at }: &PendingEdit) -> Object {
    let images = text.images.iter().map(|image| Scalar::Text(image.clone().into())).collect();
    Object::record([
        ("body", text.body.clone().into()),
        ("images", Scalar::List(images).into()),
        ("mentions", Output::list(text.mentions.iter().copied())),
        ("state", state_of(rejected_because)),
        ("rejectionReason", rejected_because.clone().map(Output::from).into()),
        ("createdAt", (*created_at).into()),
    ])
}

pub fn note_edit() -> ObjectType {
    ObjectType::new(
        "NoteEdit",
        "The next texts of an approved note. Others see them once they are approved; then they take the place of the old \
         ones.",
    )
    .parts([
        ("title: String!", "The title."),
        ("body: String!", "The text."),
        STATE,
        REASON,
        ("createdAt: DateTime!", "When it was written."),
    ])
}

/// The edit of the note, if there is one and the viewer may see it.
pub async fn pending_note_edit(call: Call<'_>) -> ApiResult<Output> {
    let Some(Row::Note(note)) = call.scope.row(call.entity()?).await? else { return Ok(Output::NULL) };
    let Some(PendingNoteEdit { text, rejected_because, created_at }) = &note.edit else {
        return Ok(Output::NULL);
    };
    if !call.scope.reader().is_user_or_moderator(note.author).await? {
        return Ok(Output::NULL);
    }
    Ok(Object::record([
        ("title", text.title.clone().into()),
        ("body", text.body.clone().into()),
        ("state", state_of(rejected_because)),
        ("rejectionReason", rejected_because.clone().map(Output::from).into()),
        ("createdAt", (*created_at).into()),
    ])
    .into())
}

/// Of an edit that waits, or was rejected.
fn state_of(rejected_because: &Option<String>) -> Output {
    let is_rejected = rejected_because.is_some();
    let decided = if is_rejected { ModerationState::Rejected } else { ModerationState::Pending };
    Scalar::Name(state(decided)).into()
}
