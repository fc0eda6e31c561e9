//! Activity of a note: its likes or collects.

use async_graphql::Value;
use chrono::{DateTime, Utc};
use plaudit_token_auth::Role;

use crate::{
    definition::{
        list_size::ArgumentValues,
        resolve::Call,
        types::{EnumType, ObjectType},
        values::{Object, Output},
    },
    errors::ApiResult,
    request::scalars::time,
};
use plaudit_catalogue::primitives::NoteId;
use plaudit_domain::{
    ActivityCounter, ActivityPoint, ActivityRequest, MAX_POINTS, StepLength, content::activity,
};

/// The field of a note.
pub const ACTIVITY: &str = "activity(
    \"What is counted.\" kind: ActivityKind! = LIKES,
    \"How long a step is.\" step: ActivityStep! = DAY,
    \"The first step contains this time.\" from: DateTime!,
    \"The last step ends before this time. By default, and at the latest, now.\" to: DateTime
): [ActivityPoint!]";

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

fn point(of: ActivityPoint) -> Object {
    Object::record([
        ("at", of.at.into()),
        ("gained", of.gained.max(0).into()),
        ("lost", of.lost.max(0).into()),
        ("total", of.total.max(0).into()),
    ])
}

pub async fn activity_of(call: Call<'_>) -> ApiResult<Output> {
    let arguments = call.arguments;
    let is_collects = arguments.text("kind").as_deref() == Some("COLLECTS");
    let request = ActivityRequest {
        note: NoteId(call.entity()?.id),
        of: if is_collects { ActivityCounter::Collects } else { ActivityCounter::Likes },
        step: step(arguments.text("step").as_deref()).unwrap_or(StepLength::Day),
        from: arguments.time("from").unwrap_or_default(),
        to: arguments.time("to"),
    };
    let (viewer, plaudit) = (call.scope.viewer(), call.scope.plaudit());
    let asker = viewer.user(plaudit).await?;
    let points = activity::note_activity(plaudit, asker, viewer.has_role(Role::Moderator), &request).await?;
    Ok(Output::list(points.into_iter().map(point)))
}

fn step(name: Option<&str>) -> Option<StepLength> {
    match name {
        None | Some("DAY") => Some(StepLength::Day),
        Some("HOUR") => Some(StepLength::Hour),
        Some(_) => None,
    }
}

/// How many points the activity has with these arguments. Invalid arguments are refused later; until then they count as
/// the longest one.
pub fn steps(argument: &ArgumentValues<'_>) -> u64 {
    let (length, from, to) = (argument("step"), argument("from"), argument("to"));
    let length = match &length {
        None => step(None),
        Some(Value::Enum(name)) => step(Some(name)),
        Some(Value::String(name)) => step(Some(name)),
        Some(_) => None,
    };
    let to: Option<DateTime<Utc>> = match to.filter(|to| *to != Value::Null) {
        Some(to) => time(&to),
        None => Some(Utc::now()),
    };
    let points = match (length, from.as_ref().and_then(time), to) {
        (Some(length), Some(from), Some(to)) => length.count(from, to),
        _ => MAX_POINTS,
    };
    points.clamp(1, MAX_POINTS) as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::definition::list_size::{ListSize, tests::size};

    #[test]
    fn a_history_has_as_many_items_as_steps() {
        let steps = |field: &str, variables| size(ListSize::Computed(steps), field, variables);
        let day = "from: \"2026-01-01T00:00:00Z\", to: \"2026-01-02T00:00:00Z\"";
        assert_eq!(steps(&format!("a(step: HOUR, {day})"), json!({})), 24);
        assert_eq!(steps(&format!("a(step: $step, {day})"), json!({ "step": "HOUR" })), 24);
        assert_eq!(steps(&format!("a({day})"), json!({})), 1);
        assert_eq!(steps("a(from: \"x\")", json!({})), 744);
    }
}
