//! Texts of comments and notes as their authors wrote them: those that wait, and the next ones of what is approved.

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
use plaudit_domain::{COMMENT_BODY, ModerationState, PendingEdit};

pub fn written_text() -> ObjectType {
    ObjectType::new("WrittenText", "A text of a note or comment, as its author wrote it.")
        .parts([
            ("title: String", "The title. Null for a comment, and for a note without one."),
            ("body: String!", "The text. Empty if there is none."),
            ("images: [URL!]!", "Addresses of images (https). None for a note."),
            ("mentions: [User!]!", "Users whom the author mentions. None for a note."),
            ("state: ModerationState!", "Whether it waits, or how it was decided."),
            ("rejectionReason: String", "Why it was rejected. Null if it was not."),
            ("createdAt: DateTime!", "When it was written."),
        ])
        .sized("images", ListSize::Fixed(9))
        .sized("mentions", ListSize::Fixed(10))
        .long_text("body", COMMENT_BODY.max_bytes())
}

/// The edit of the note or comment, if there is one and the viewer may see it.
pub async fn pending_edit(call: Call<'_>) -> ApiResult<Output> {
    let (author, edit) = match call.scope.row(call.entity()?).await? {
        Some(Row::Note(note)) => (note.author, note.edit.clone()),
        Some(Row::Comment(comment)) => (comment.author, comment.edit.clone()),
        _ => return Ok(Output::NULL),
    };
    let Some(edit) = edit else { return Ok(Output::NULL) };
    if !call.scope.reader().is_user_or_moderator(author).await? {
        return Ok(Output::NULL);
    }
    let is_rejected = edit.rejected_because.is_some();
    let decided = if is_rejected { ModerationState::Rejected } else { ModerationState::Pending };
    Ok(text(edit, decided).into())
}

pub fn text(PendingEdit { text, rejected_because, created_at }: PendingEdit, of: ModerationState) -> Object {
    let images = text.images.into_iter().map(|image| Scalar::Text(image.into())).collect();
    Object::record([
        ("title", text.title.filter(|title| !title.is_empty()).map(Output::from).into()),
        ("body", text.body.into()),
        ("images", Scalar::List(images).into()),
        ("mentions", Output::list(text.mentions)),
        ("state", Scalar::Name(state(of)).into()),
        ("rejectionReason", rejected_because.map(Output::from).into()),
        ("createdAt", created_at.into()),
    ])
}
