//! History of a note's likes or collects.

use async_graphql::Value;
use chrono::{DateTime, Utc};
use futures_util::FutureExt;
use plaudit_token_auth::Role;

use crate::{
    domain::{ActivityRequest, HistoryCounter, HistoryPoint, MAX_POINTS, StepLength},
    graphql::{
        definition::{
            types::{Call, EnumType, ObjectType, Resolve},
            values::{Object, Output},
        },
        errors::ApiResult,
        request::scalars::time,
    },
};

pub fn history(query: ObjectType) -> ObjectType {
    query.field(
        "noteActivity(
            \"The note.\" noteId: ID!,
            \"What is counted.\" of: ActivityKind! = LIKES,
            \"How long a step is.\" per: ActivityStep! = DAY,
            \"The first step contains this time.\" since: DateTime!,
            \"The last step ends before this time. By default, and at the latest, now.\" until: DateTime
        ): [ActivityPoint!]",
        "The history of a note's likes or collects, for its author and for moderators: one point per step, oldest \
         first, including steps without changes. At most 744 points. Before the oldest event that is stored, the \
         total is the one before that event.",
        Resolve::Call(|call| note_activity(call).boxed()),
    )
}

pub fn activity_kind() -> EnumType {
    EnumType {
        name: "ActivityKind",
        description: "What the history counts.",
        values: vec![
            ("LIKES", "Likes given and taken back."),
            ("COLLECTS", "Collects added and taken back."),
        ],
    }
}

pub fn activity_step() -> EnumType {
    EnumType {
        name: "ActivityStep",
        description: "How long a step is.",
        values: vec![("HOUR", "Begins at a full hour."), ("DAY", "Begins at midnight, in UTC.")],
    }
}

pub fn activity_point() -> ObjectType {
    ObjectType::new("ActivityPoint", "One step of a history.").parts([
        ("at: DateTime!", "When the step begins."),
        ("gained: Count!", "The number added in the step."),
        ("lost: Count!", "The number taken back in the step."),
        ("total: Count!", "The total at the end of the step."),
    ])
}

fn point(of: HistoryPoint) -> Object {
    Object::record([
        ("at", of.at.into()),
        ("gained", of.gained.max(0).into()),
        ("lost", of.lost.max(0).into()),
        ("total", of.total.max(0).into()),
    ])
}

async fn note_activity(call: Call<'_>) -> ApiResult<Output> {
    let arguments = call.arguments;
    let is_collects = arguments.text("of").as_deref() == Some("COLLECTS");
    let request = ActivityRequest {
        note: arguments.id("noteId")?,
        of: if is_collects { HistoryCounter::Collects } else { HistoryCounter::Likes },
        per: step(arguments.text("per").as_deref()).unwrap_or(StepLength::Day),
        since: arguments.time("since").unwrap_or_default(),
        until: arguments.time("until"),
    };
    let (viewer, plaudit) = (call.scope.viewer(), call.scope.plaudit());
    let asker = viewer.user(plaudit).await?;
    let points = plaudit.note_activity(asker, viewer.has_role(Role::Moderator), &request).await?;
    Ok(Output::list(points.into_iter().map(point)))
}

fn step(name: Option<&str>) -> Option<StepLength> {
    match name {
        None | Some("DAY") => Some(StepLength::Day),
        Some("HOUR") => Some(StepLength::Hour),
        Some(_) => None,
    }
}

/// How many points a history with these arguments has. Invalid arguments are refused later; until then they count as
/// the longest history.
pub fn steps(per: Option<Value>, since: Option<Value>, until: Option<Value>) -> usize {
    let per = match &per {
        None => step(None),
        Some(Value::Enum(name)) => step(Some(name)),
        Some(Value::String(name)) => step(Some(name)),
        Some(_) => None,
    };
    let until: Option<DateTime<Utc>> = match until.filter(|until| *until != Value::Null) {
        Some(until) => time(&until),
        None => Some(Utc::now()),
    };
    let points = match (per, since.as_ref().and_then(time), until) {
        (Some(per), Some(since), Some(until)) => per.count(since, until),
        _ => MAX_POINTS,
    };
    points.clamp(1, MAX_POINTS) as usize
}
