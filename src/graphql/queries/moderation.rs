//! Notes and comments that wait for a decision of a moderator.

use futures_util::FutureExt;

use crate::{
    definition::{
        pages::{self, FIRST, List},
        resolve::{Call, Resolve},
        types::ObjectType,
        values::{Object, Output},
    },
    errors::ApiResult,
    request::access::Who,
};
use plaudit_domain::{QueueState, moderation::texts};

const COMMENTS: List = List("undecidedComments");
const NOTES: List = List("undecidedNotes");

pub fn moderation(query: ObjectType) -> ObjectType {
    query
        .field(
            &format!("undecidedComments{}: UndecidedCommentConnection", pages::arguments(FIRST)),
            "Comments that wait for a person, the oldest first. For moderators.",
            Resolve::Call(|call| undecided_comments(call).boxed()),
        )
        .who(Who::Moderator)
        .field(
            &format!("undecidedNotes{}: UndecidedNoteConnection", pages::arguments(FIRST)),
            "Notes that wait for a person, the oldest first. For moderators.",
            Resolve::Call(|call| undecided_notes(call).boxed()),
        )
        .who(Who::Moderator)
        .field(
            "reviewQueue: ReviewQueue",
            "The queue of notes and comments that wait for a decision. For moderators.",
            Resolve::Call(|call| review_queue(call).boxed()),
        )
        .who(Who::Moderator)
}

pub fn undecided_comment() -> ObjectType {
    ObjectType::new("UndecidedComment", "A comment that the configured moderator could not decide.")
        .parts([("comment: Comment!", "The comment."), ("reason: String!", "Why it waits for a person.")])
}

pub fn undecided_note() -> ObjectType {
    ObjectType::new("UndecidedNote", "A note that the configured moderator could not decide.")
        .parts([("note: Note!", "The note."), ("reason: String!", "Why it waits for a person.")])
}

pub fn queue() -> ObjectType {
    ObjectType::new(
        "ReviewQueue",
        "The queue of notes and comments that wait for a decision, and of edits of both. Notes wait if the setting \
         `moderate_notes` is on.",
    )
    .shared_parts([
        ("waitingCount: Count!", "Texts that wait for the configured moderator."),
        ("undecidedCount: Count!", "Texts that wait for a person."),
        ("oldestWaitingSeconds: Int!", "How long the oldest of `waitingCount` has waited, in seconds."),
    ])
}

async fn undecided_comments(call: Call<'_>) -> ApiResult<Output> {
    let request = COMMENTS.request(call.arguments, FIRST)?;
    let waiting = texts::undecided_comments(call.scope.plaudit(), &request).await?;
    let waiting = waiting.map(|(comment, why)| {
        let id = comment.id.0;
        (id, Object::record([("comment", comment.into()), ("reason", why.into())]))
    });
    Ok(COMMENTS.page(&request, waiting))
}

async fn undecided_notes(call: Call<'_>) -> ApiResult<Output> {
    let request = NOTES.request(call.arguments, FIRST)?;
    let waiting = texts::undecided_notes(call.scope.plaudit(), &request).await?;
    let waiting = waiting.map(|(note, why)| {
        let id = note.id.0;
        (id, Object::record([("note", note.into()), ("reason", why.into())]))
    });
    Ok(NOTES.page(&request, waiting))
}

async fn review_queue(call: Call<'_>) -> ApiResult<Output> {
    Ok(queue_state(&texts::review_queue(call.scope.plaudit()).await?).into())
}

pub fn queue_state(state: &QueueState) -> Object {
    Object::record([
        ("waitingCount", state.waiting.max(0).into()),
        ("undecidedCount", state.undecided.max(0).into()),
        ("oldestWaitingSeconds", (state.oldest.as_secs() as i64).into()),
    ])
}
