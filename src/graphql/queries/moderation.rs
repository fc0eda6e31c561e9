//! The review queue: notes and comments that wait for a decision, and those that users reported.

use std::collections::HashMap;

use futures_util::FutureExt;

use crate::{
    definition::{
        pages::{self, FIRST, List},
        resolve::{Call, Resolve},
        types::{EnumType, ObjectType},
        values::{Object, Output},
    },
    errors::ApiResult,
    objects::reports::{Reviewed, review_item},
    reading::scope::Scope,
    request::access::Who,
};
use plaudit_catalogue::{
    Entity, EntityKind,
    primitives::{CommentId, NoteId},
};
use plaudit_domain::{
    Judged, PendingEdit, QueueState, ReviewItem, ReviewList, WrittenText, moderation::reports,
};

pub fn moderation(query: ObjectType) -> ObjectType {
    query
        .field(
            "reviewQueue: ReviewQueue",
            "Notes and comments that wait for a decision, and those that users reported. For moderators and services.",
            Resolve::Call(|call| review_queue(call).boxed()),
        )
        .who(Who::ModeratorOrService)
}

pub fn queue() -> ObjectType {
    let page = &pages::arguments(FIRST)[1..];
    ObjectType::new(
        "ReviewQueue",
        "Notes and comments that wait for a decision, with edits of both, and those that users reported. Notes wait if the \
         setting `moderate_notes` is on.",
    )
    .shared_parts([
        ("waitingCount: Count!", "Texts that wait for the configured moderator."),
        ("undecidedCount: Count!", "Texts that wait for a person."),
        ("reportedCount: Count!", "Notes and comments that users reported, 1,000 at most."),
        ("oldestWaitingSeconds: Int!", "How long the oldest of `waitingCount` has waited, in seconds."),
    ])
    .field(
        &format!(
            "items(\"Only of this kind.\" kind: ReviewKind, \"Which of the three lists.\" state: ReviewState! = UNDECIDED, \
             \"The order of what was reported; what waits is listed by age.\" orderBy: ReportOrder! = REPORTS, \
             {page}: ReviewItemConnection"
        ),
        "One of its lists, the oldest first if it is no list of what was reported.",
        Resolve::Call(|call| items(call).boxed()),
    )
}

pub fn enums() -> [EnumType; 3] {
    [
        EnumType {
            name: "ReviewKind",
            description: "What waits for a decision.",
            values: vec![("NOTE", "Notes."), ("COMMENT", "Comments.")],
        },
        EnumType {
            name: "ReviewState",
            description: "For what something is in the review queue.",
            values: vec![
                ("WAITING", "Its text waits for the configured moderator."),
                (
                    "UNDECIDED",
                    "Its text waits for a person, because the configured moderator could not decide.",
                ),
                ("REPORTED", "Users reported it, and nobody has decided about that since."),
            ],
        },
        EnumType {
            name: "ReportOrder",
            description: "The order of what was reported.",
            values: vec![
                (
                    "REPORTS",
                    "By the number of reports, the most first; of equal ones, first what was reported by users with few open reports, so nobody fills the list alone. Moves while you read: drop ids that you show.",
                ),
                ("OLDEST", "By their first report, the oldest first."),
            ],
        },
    ]
}

/// Each list has a name of its own, so that its cursors are refused by the others.
const fn named(list: ReviewList) -> List {
    List(match list {
        ReviewList::Waiting => "waiting",
        ReviewList::Undecided => "undecided",
        ReviewList::MostReported => "mostReported",
        ReviewList::LongestReported => "longestReported",
    })
}

async fn items(call: Call<'_>) -> ApiResult<Output> {
    let argument = |name| call.arguments.text(name).unwrap_or_default();
    let kind = match &*argument("kind") {
        "NOTE" => Some(Judged::Note),
        "COMMENT" => Some(Judged::Comment),
        _ => None,
    };
    let list = match (&*argument("state"), &*argument("orderBy")) {
        ("WAITING", _) => ReviewList::Waiting,
        ("REPORTED", "OLDEST") => ReviewList::LongestReported,
        ("REPORTED", _) => ReviewList::MostReported,
        _ => ReviewList::Undecided,
    };
    let request = named(list).request(call.arguments, FIRST)?;
    let items = reports::review_items(call.scope.plaudit(), list, kind, &request).await?;
    let mut found = found(call.scope, &items.items).await?;
    Ok(named(list)
        .page(&request, items.map(|item| (item.place(), review_item(found.remove(&item.about), item)))))
}

/// What the items are about, also what the viewer does not see elsewhere.
async fn found(scope: &Scope, items: &[ReviewItem]) -> ApiResult<HashMap<Entity, Reviewed>> {
    let of = |kind| items.iter().map(|item| item.about).filter(move |about| about.kind == kind);
    let notes: Vec<NoteId> = of(EntityKind::Note).map(|about| NoteId(about.id)).collect();
    let comments: Vec<CommentId> = of(EntityKind::Comment).map(|about| CommentId(about.id)).collect();
    let plaudit = scope.plaudit();
    let (notes, comments) =
        tokio::try_join!(plaudit.notes().get_many(&notes), plaudit.comments().get_many(&comments))?;
    let notes = notes.into_iter().flatten().map(|note| Reviewed {
        about: note.id.into(),
        author: note.author,
        state: note.state,
        shown: PendingEdit {
            text: WrittenText::of_note(&note.title, &note.body),
            rejected_because: note.rejected_because.clone(),
            created_at: note.created_at,
        },
        edit: note.edit.clone(),
    });
    let comments = comments.into_iter().flatten().filter(|comment| !comment.is_removed);
    let comments = comments.map(|comment| Reviewed {
        about: comment.id.into(),
        author: comment.author,
        state: comment.state,
        shown: PendingEdit {
            text: WrittenText {
                title: None,
                body: comment.body.clone(),
                images: comment.images.clone(),
                mentions: comment.mentions.clone(),
            },
            rejected_because: comment.rejected_because.clone(),
            created_at: comment.created_at,
        },
        edit: comment.edit.clone(),
    });
    Ok(notes.chain(comments).map(|of| (of.about, of)).collect())
}

async fn review_queue(call: Call<'_>) -> ApiResult<Output> {
    Ok(queue_state(&reports::queue_state(call.scope.plaudit()).await?).into())
}

pub fn queue_state(state: &QueueState) -> Object {
    Object::record([
        ("waitingCount", state.waiting.into()),
        ("undecidedCount", state.undecided.into()),
        ("reportedCount", state.reported.into()),
        ("oldestWaitingSeconds", (state.oldest().as_secs() as i64).into()),
    ])
}
