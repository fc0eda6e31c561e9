//! Notes and comments that users reported.

use futures_util::FutureExt;

use crate::{
    definition::{
        pages::{self, FIRST, List},
        resolve::{Call, Resolve},
        types::{EnumType, ObjectType},
        values::Output,
    },
    errors::ApiResult,
    objects::reports::object,
    request::access::Who,
};
use plaudit_domain::{ReportOrder, moderation::reports};

pub fn reports(query: ObjectType) -> ObjectType {
    query.field(
        &format!(
            "reportedObjects(\"Their order.\" orderBy: ReportOrder! = REPORTS, {}: ReportedObjectConnection",
            &pages::arguments(FIRST)[1..]
        ),
        "Notes and comments that users reported and no moderator has decided about. For moderators.",
        Resolve::Call(|call| reported_objects(call).boxed()),
    )
    .who(Who::Moderator)
}

pub fn report_order() -> EnumType {
    EnumType {
        name: "ReportOrder",
        description: "The order of reported objects.",
        values: vec![
            (
                "REPORTS",
                "By the number of reports, the most first; of equal ones, first what was reported by users with few open reports, so nobody fills the list alone. Moves while you read: drop ids that you show.",
            ),
            ("OLDEST", "By their first report, the oldest first."),
        ],
    }
}

/// Each order is a list of its own, so that its cursors are refused by the other.
const fn list(order: ReportOrder) -> List {
    match order {
        ReportOrder::Reports => List("mostReported"),
        ReportOrder::Oldest => List("longestReported"),
    }
}

async fn reported_objects(call: Call<'_>) -> ApiResult<Output> {
    let is_oldest = call.arguments.text("orderBy").as_deref() == Some("OLDEST");
    let order = if is_oldest { ReportOrder::Oldest } else { ReportOrder::Reports };
    let request = list(order).request(call.arguments, FIRST)?;
    let objects = reports::reported_objects(call.scope.plaudit(), order, &request).await?;
    Ok(list(order).page(&request, objects.map(|reported| (reported.case.place(), object(reported)))))
}
