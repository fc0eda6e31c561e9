//! Reports of notes and comments.

use futures_util::FutureExt;

use crate::{
    definition::{
        list_size::ListSize,
        pages::{self, FIRST, List},
        resolve::{Call, Resolve},
        types::{EnumType, ObjectType},
        values::{Object, Output, Scalar},
    },
    errors::{ApiError, ApiResult},
};
use plaudit_catalogue::primitives::{Id, UserId};
use plaudit_domain::{Report, ReportReason, ReportedObject, moderation::reports};

const REPORTS: List = List("reports");

/// The part of a reported object that is no field: the number of its case.
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

pub fn reported_object() -> ObjectType {
    ObjectType::new(
        "ReportedObject",
        "A note or comment that users reported, and that no moderator has decided about since.",
    )
    .parts([
        ("about: Node", "The note or comment. Null if it was removed meanwhile."),
        ("reportCount: Count!", "The number of users who reported it."),
        ("reasons: [ReportReasonCount!]!", "The reasons that they gave, and how often."),
        ("firstReportedAt: DateTime!", "When it was reported first since the last decision."),
        ("lastReportedAt: DateTime!", "When a report of it was made or changed last."),
    ])
    .field(
        &format!("reports{}: ReportConnection", pages::arguments(FIRST)),
        "The reports, the latest first.",
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

pub fn object(ReportedObject { case, reasons }: ReportedObject) -> Object {
    let reasons = reasons.into_iter().map(|(reason, count)| {
        Object::record([("reason", reason_name(reason)), ("reportCount", count.into())])
    });
    Object::record([
        (CASE, case.id.get().into()),
        ("about", Object::sought(case.about).into()),
        ("reportCount", case.reports.into()),
        ("reasons", Output::list(reasons)),
        ("firstReportedAt", case.first_reported_at.into()),
        ("lastReportedAt", case.last_reported_at.into()),
    ])
}

async fn reports(call: Call<'_>) -> ApiResult<Output> {
    let request = REPORTS.request(call.arguments, FIRST)?;
    let case = match call.part(CASE) {
        Some(Output::Scalar(Scalar::Int(case))) => Id::try_from(*case).ok(),
        _ => None,
    };
    let reports =
        reports::reports_of(call.scope.plaudit(), case.ok_or_else(ApiError::internal)?, &request).await?;
    let reports = reports.map(|Report { place, reason, text }| {
        let parts = [
            ("reporter", Object::sought(UserId(place.id)).into()),
            ("reason", reason_name(reason)),
            ("text", text.map(Output::from).into()),
            ("reportedAt", pages::ListKey::at(&place).unwrap_or_default().into()),
        ];
        (place, Object::record(parts))
    });
    Ok(REPORTS.page(&request, reports))
}
