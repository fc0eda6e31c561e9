//! The next text of a comment, which its author and moderators see.

use super::comment_states::state;
use crate::{
    domain::{CommentState, PendingEdit},
    graphql::{
        definition::{
            types::{Call, ObjectType},
            values::{Object, Output, Scalar},
        },
        errors::ApiResult,
        reading::facts::Row,
    },
};

pub fn comment_edit() -> ObjectType {
    ObjectType::new(
        "CommentEdit",
        "The next text of an approved comment. Others see it once it is approved; then it takes the place of the old one.",
    )
    .parts([
        ("body: String!", "The text."),
        ("images: [URL!]!", "Addresses of images (https)."),
        ("mentions: [User!]!", "Users whom the author mentions."),
        ("state: CommentState!", "`PENDING` while it waits, `REJECTED` once it was rejected."),
        ("rejectionReason: String", "Why it was rejected. Null while it waits."),
        ("createdAt: DateTime!", "When it was written."),
    ])
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
    let is_rejected = rejected_because.is_some();
    let decided = if is_rejected { CommentState::Rejected } else { CommentState::Pending };
    Object::record([
        ("body", text.body.clone().into()),
        ("images", Scalar::List(images).into()),
        ("mentions", Output::list(text.mentions.iter().copied())),
        ("state", Scalar::Name(state(decided)).into()),
        ("rejectionReason", rejected_because.clone().map(Output::from).into()),
        ("createdAt", (*created_at).into()),
    ])
}
