//! Decisions about notes and comments.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{
        resolve::Call,
        types::EnumType,
        values::{Object, Output},
    },
    errors::{ApiError, ApiResult},
    request::{
        access::Who,
        ids::{global_id, parse_any},
    },
};
use plaudit_domain::{DECISION_REASON, Judged, ReviewDecision, moderation::decisions};

pub const MUTATIONS: &[Mutation] = &[Mutation {
    name: "decide",
    permission: Permission::Write(Who::ModeratorOrService),
    description: "Decides about a note or comment: about its text that waits, also while the configured moderator has it, or about all reports of it. If `pendingEdit` waits, it decides that. A decision about a text is final; reports that come later are another decision. For moderators and services.",
    input: &[
        ("aboutId: ID!", "The note or comment."),
        ("decision: ReviewDecision!", "What happens to it."),
        (
            "reason: String",
            "Why: 1 to 200 characters on one line. With `REJECT` it is needed and shown to the author; else it is for other moderators.",
        ),
    ],
    unchanged: Some("False when it was decided so already, or is removed and was to be removed."),
    payload: &[
        ("decidedId: ID!", "The id of the note or comment; evict it from your cache if it was removed."),
        ("about: Node", "The note or comment. Null if it was removed, or if you may not see it any more."),
    ],
    act: |call| decide(call).boxed(),
}];

const DECISIONS: [(ReviewDecision, &str, &str); 4] = [
    (ReviewDecision::Approve, "APPROVE", "Its text waits: everybody sees it."),
    (ReviewDecision::Reject, "REJECT", "Its text waits: only its author and moderators see it."),
    (ReviewDecision::Keep, "KEEP", "It was reported: it stays."),
    (
        ReviewDecision::Remove,
        "REMOVE",
        "It was reported: it is removed, as `deleteNote` and `deleteComment` do.",
    ),
];

pub fn review_decision() -> EnumType {
    EnumType {
        name: "ReviewDecision",
        description: "What happens to a note or comment.",
        values: DECISIONS.iter().map(|(_, name, description)| (*name, *description)).collect(),
    }
}

async fn decide(call: Call<'_>) -> ApiResult<Output> {
    const ABOUT: &str = "aboutId";
    let action = Action::begin(call)?;
    let about = parse_any(ABOUT, &action.input.text(ABOUT).unwrap_or_default())?;
    let kind = Judged::of(about.kind).ok_or_else(|| {
        let message = format!("{ABOUT}: pass the id of a note or a comment, not of a {}", about.kind.name());
        ApiError::bad_input(ABOUT, message)
    })?;
    let decision = action.input.text("decision").unwrap_or_default();
    let decision = DECISIONS.iter().find(|known| known.1 == decision).ok_or_else(ApiError::internal)?.0;
    let reason = action.optional_text(&DECISION_REASON)?;
    let moderator = action.actor().await?;
    let target = (kind, about.id);
    let changed =
        decisions::decide(action.plaudit(), moderator, target, decision, reason.as_ref(), action.key())
            .await?;
    let parts = [("decidedId", global_id(about).0.into()), ("about", Object::sought(about).into())];
    Ok(payload(changed, parts))
}
