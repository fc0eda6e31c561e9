//! Reporting notes and comments, and deciding about reports.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{
        resolve::Call,
        types::EnumType,
        values::{Object, Output},
    },
    errors::ApiResult,
    objects::reports::reason_named,
    request::{
        access::Who,
        ids::{global_id, parse_any},
    },
};
use plaudit_catalogue::primitives::{CommentId, NoteId};
use plaudit_domain::{
    DECISION_REASON, NewReport, REPORT_TEXT, ReportDecision, ReportTarget, moderation::reports,
};

const TEXT: (&str, &str) = ("text: String", "More about it, for moderators: 1 to 1000 characters.");
const REASON: (&str, &str) = ("reason: ReportReason!", "Why you report it.");

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "reportNote",
        permission: Permission::Create(Who::SignedIn),
        description: "Reports somebody else's note to the moderators. Its author does not learn of it. Until a moderator decides, you have one report of a note: another one replaces its reason and text.",
        input: &[("noteId: ID!", "The note to report."), REASON, TEXT],
        unchanged: Some("False when you had reported it with this reason and text already."),
        payload: &[("note: Note!", "The note.")],
        act: |call| report_note(call).boxed(),
    },
    Mutation {
        name: "reportComment",
        permission: Permission::Create(Who::SignedIn),
        description: "Reports somebody else's comment to the moderators. Its author does not learn of it. Until a moderator decides, you have one report of a comment: another one replaces its reason and text.",
        input: &[("commentId: ID!", "The comment to report."), REASON, TEXT],
        unchanged: Some("False when you had reported it with this reason and text already."),
        payload: &[("comment: Comment!", "The comment.")],
        act: |call| report_comment(call).boxed(),
    },
    Mutation {
        name: "decideReports",
        permission: Permission::Write(Who::Moderator),
        description: "Decides about all reports of a note or comment: keeps it or removes it, as `deleteNote` and `deleteComment` do. Reports that come later are another decision. For moderators.",
        input: &[
            ("reportedId: ID!", "The reported note or comment."),
            ("decision: ReportDecision!", "What happens to it."),
            ("reason: String", "Why, for other moderators: 1 to 200 characters on one line."),
        ],
        unchanged: Some("False when it was decided so already, or is removed and was to be removed."),
        payload: &[(
            "decidedId: ID!",
            "The id of the note or comment; evict it from your cache if it was removed.",
        )],
        act: |call| decide(call).boxed(),
    },
];

pub fn report_decision() -> EnumType {
    EnumType {
        name: "ReportDecision",
        description: "What happens to a reported note or comment.",
        values: vec![("KEEP", "It stays."), ("REMOVE", "It is removed.")],
    }
}

async fn report_note(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let note: NoteId = action.input.id("noteId")?;
    let changed = report(&action, ReportTarget::Note(note)).await?;
    Ok(payload(changed, [("note", Object::of(note).into())]))
}

async fn report_comment(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let comment: CommentId = action.input.id("commentId")?;
    let changed = report(&action, ReportTarget::Comment(comment)).await?;
    Ok(payload(changed, [("comment", Object::of(comment).into())]))
}

async fn report(action: &Action<'_>, target: ReportTarget) -> ApiResult<bool> {
    let reason = reason_named(&action.input.text("reason").unwrap_or_default());
    let report = NewReport { reason, text: action.optional_text(&REPORT_TEXT)? };
    let reporter = action.actor().await?;
    Ok(reports::report(action.plaudit(), reporter, target, &report, action.key()).await?)
}

async fn decide(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let id = parse_any("reportedId", &action.input.text("reportedId").unwrap_or_default())?;
    let target = ReportTarget::parse("reportedId", id)?;
    let decision = match action.input.text("decision").as_deref() {
        Some("REMOVE") => ReportDecision::Remove,
        _ => ReportDecision::Keep,
    };
    let reason = action.optional_text(&DECISION_REASON)?;
    let moderator = action.actor().await?;
    let changed =
        reports::decide_reports(action.plaudit(), moderator, target, decision, reason.as_ref(), action.key())
            .await?;
    Ok(payload(changed, [("decidedId", global_id(id).0.into())]))
}
