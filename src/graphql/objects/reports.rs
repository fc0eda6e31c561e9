//! Reports of notes and comments.

use futures_util::FutureExt;

use super::pending_edits::text;
use crate::{
    definition::{
        list_size::ListSize,
        pages::{self, FIRST, List},
        resolve::{Call, Resolve},
        types::{EnumType, ObjectType},
        values::{Object, Output, Scalar},
    },
    errors::ApiResult,
};
use plaudit_catalogue::{
    Entity,
    primitives::{Id, UserId},
};
use plaudit_domain::{ModerationState, PendingEdit, ReportReason, ReviewItem, moderation::reports};

const REPORTS: List = List("reports");

/// The part of an item that is no field: the number of its case.
const CASE: &str = "case";

pub fn report_reason() -> EnumType {
    EnumType {
        name: "ReportReason",
        description: "Why something is reported.",
        values: REASONS.iter().map(|(_, name, description)| (*name, *description)).collect(),
    }
}

const REASONS: [(ReportReason, &str, &str); 8] = [
    (ReportReason::Spam, "SPAM", "Advertising, or the same again and again."),
    (ReportReason::Harassment, "HARASSMENT", "It attacks or exposes a person."),
    (ReportReason::Hate, "HATE", "It attacks a group of people."),
    (ReportReason::Violence, "VIOLENCE", "It threatens, shows or praises violence."),
    (ReportReason::Sexual, "SEXUAL", "Sexual content."),
    (ReportReason::SelfHarm, "SELF_HARM", "Suicide or self-harm: somebody may need help."),
    (ReportReason::FalseInformation, "FALSE_INFORMATION", "It is not true, and may do harm."),
    (ReportReason::Other, "OTHER", "Anything else; `text` says what."),
];

/// The reason of this name; the schema has no other ones.
pub fn reason_named(name: &str) -> ReportReason {
    REASONS.iter().find(|reason| reason.1 == name).map_or(ReportReason::Other, |reason| reason.0)
}

fn reason_name(reason: ReportReason) -> Output {
    let named = REASONS.iter().find(|known| known.0 == reason);
    named.map(|reason| Scalar::Name(reason.1).into()).into()
}

pub fn review_item_type() -> ObjectType {
    ObjectType::new("ReviewItem", "A note or comment in the review queue.")
        .parts([
            (
                "about: Node",
                "The note or comment. Null if it was removed meanwhile. Of one that others do not see yet, services see no \
                 more than the id here; `text` has what is judged.",
            ),
            ("author: User", "Its author. Null if it was removed meanwhile, or if the user no longer exists."),
            (
                "text: WrittenText",
                "The text to decide about: the one that waits, which is the edit if there is one; of what was reported, the \
                 one that everybody sees. Null if it was removed meanwhile.",
            ),
            (
                "queuedAt: DateTime!",
                "When its text was written, or when it was reported first since the last decision.",
            ),
            ("reason: String", "Why its text waits for a person. Null if it does not."),
            ("reportCount: Count!", "The number of users who reported it; 0 in a list of texts that wait."),
            ("reasons: [ReportReasonCount!]!", "The reasons that they gave, and how often."),
            (
                "lastReportedAt: DateTime",
                "When a report of it was made or changed last. Null without reports.",
            ),
        ])
        .field(
            &format!("reports{}: ReportConnection", pages::arguments(FIRST)),
            "The reports, the latest first. Null without reports.",
            Resolve::Call(|call| reports(call).boxed()),
        )
        .sized("reasons", ListSize::Fixed(8))
}

pub fn reason_count() -> ObjectType {
    ObjectType::new("ReportReasonCount", "How often a reason was given.").parts([
        ("reason: ReportReason!", "The reason."),
        ("reportCount: Count!", "The number of reports with this reason."),
    ])
}

pub fn report() -> ObjectType {
    ObjectType::new("Report", "A user's report of a note or comment.").parts([
        ("reporter: User", "The user who reported it. Null if the user no longer exists."),
        ("reason: ReportReason!", "Why."),
        ("text: String", "In the user's words. Null if the user wrote none."),
        ("reportedAt: DateTime!", "When."),
    ])
}

/// A note or comment that is reviewed.
pub struct Reviewed {
    pub about: Entity,
    pub author: UserId,
    pub state: ModerationState,
    /// What everybody sees once it is approved.
    pub shown: PendingEdit,
    pub edit: Option<PendingEdit>,
}

impl Reviewed {
    fn text(self, is_reported: bool) -> Object {
        match self.edit.filter(|edit| !is_reported && edit.rejected_because.is_none()) {
            Some(edit) => text(edit, ModerationState::Pending),
            None => text(self.shown, self.state),
        }
    }
}

pub fn review_item(of: Option<Reviewed>, item: ReviewItem) -> Object {
    let reasons: Vec<Object> = ReportReason::given(&item)
        .map(|(reason, count)| {
            Object::record([("reason", reason_name(reason)), ("reportCount", count.into())])
        })
        .collect();
    Object::record([
        (CASE, item.last_reported_at.map(|_| item.id.get().into()).into()),
        ("about", of.as_ref().map(|of| of.about.into()).into()),
        ("author", of.as_ref().map(|of| Object::sought(of.author).into()).into()),
        ("text", of.map(|of| of.text(item.last_reported_at.is_some()).into()).into()),
        ("queuedAt", item.queued_at.into()),
        ("reason", item.undecided_why.map(Output::from).into()),
        ("reportCount", item.reports.into()),
        ("reasons", Output::list(reasons)),
        ("lastReportedAt", item.last_reported_at.map(Output::from).into()),
    ])
}

async fn reports(call: Call<'_>) -> ApiResult<Output> {
    let request = REPORTS.request(call.arguments, FIRST)?;
    let case = match call.part(CASE) {
        Some(Output::Scalar(Scalar::Int(case))) => Id::try_from(*case).ok(),
        _ => None,
    };
    let Some(case) = case else { return Ok(Output::NULL) };
    let reports = reports::reports_of(call.scope.plaudit(), case, &request).await?;
    let reports = reports.map(|report| {
        let parts = [
            ("reporter", Object::sought(UserId(report.place.id)).into()),
            ("reason", reason_name(ReportReason::of(&report))),
            ("text", report.text.map(Output::from).into()),
            ("reportedAt", pages::ListKey::at(&report.place).unwrap_or_default().into()),
        ];
        (report.place, Object::record(parts))
    });
    Ok(REPORTS.page(&request, reports))
}
