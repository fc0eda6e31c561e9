//! History of a note's likes or collects.

use async_graphql::{Context, Enum, ID, InputType, Object, ScalarType, SimpleObject, Value};
use chrono::Utc;
use plaudit_token_auth::Role;

use crate::{
    domain::{self, ActivityRequest, MAX_POINTS},
    graphql::{
        errors::ApiResult,
        reading::{guards::ByTable, scope::Scope},
        request::{
            ids::parse_as,
            scalars::{Count, DateTime},
        },
    },
};

/// What the history counts.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "domain::HistoryCounter")]
enum ActivityKind {
    /// Likes given and taken back.
    Likes,
    /// Collects added and taken back.
    Collects,
}

/// How long a step is.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "domain::StepLength")]
enum ActivityStep {
    /// Begins at a full hour.
    Hour,
    /// Begins at midnight, in UTC.
    Day,
}

/// One step of a history.
#[derive(SimpleObject)]
struct ActivityPoint {
    /// When the step begins.
    at: DateTime,
    /// The number added in the step.
    gained: Count,
    /// The number taken back in the step.
    lost: Count,
    /// The total at the end of the step.
    total: Count,
}

impl From<domain::HistoryPoint> for ActivityPoint {
    fn from(point: domain::HistoryPoint) -> Self {
        Self {
            at: point.at.into(),
            gained: point.gained.into(),
            lost: point.lost.into(),
            total: point.total.into(),
        }
    }
}

#[derive(Default)]
pub struct HistoryQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl HistoryQueries {
    /// The history of a note's likes or collects, for its author and for moderators: one point per step,
    /// oldest first, including steps without changes. At most 744 points. Before the oldest event that is
    /// stored, the total is the one before that event.
    async fn note_activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The note.")] note_id: ID,
        #[graphql(default_with = "ActivityKind::Likes", desc = "What is counted.")] of: ActivityKind,
        #[graphql(default_with = "ActivityStep::Day", desc = "How long a step is.")] per: ActivityStep,
        #[graphql(desc = "The first step contains this time.")] since: DateTime,
        #[graphql(desc = "The last step ends before this time. By default, and at the latest, now.")]
        until: Option<DateTime>,
    ) -> ApiResult<Option<Vec<ActivityPoint>>> {
        let scope = Scope::of(ctx);
        let request = ActivityRequest {
            note: parse_as("noteId", &note_id)?,
            of: of.into(),
            per: per.into(),
            since: since.into(),
            until: until.map(Into::into),
        };
        let asker = scope.viewer().user(scope.plaudit()).await?;
        let is_moderator = scope.viewer().has_role(Role::Moderator);
        let points = scope.plaudit().note_activity(asker, is_moderator, &request).await?;
        Ok(Some(points.into_iter().map(Into::into).collect()))
    }
}

/// How many points a history with these arguments has. Invalid arguments are refused later; until then they
/// count as the longest history.
pub fn steps(per: Option<Value>, since: Option<Value>, until: Option<Value>) -> usize {
    let per = per.map_or(Ok(ActivityStep::Day), |per| ActivityStep::parse(Some(per)).map_err(drop));
    let moment = |value: Value| <DateTime as ScalarType>::parse(value).map(Into::into).map_err(drop);
    let until = until.filter(|until| *until != Value::Null).map_or_else(|| Ok(Utc::now()), moment);
    let points = match (per, since.map(moment), until) {
        (Ok(per), Some(Ok(since)), Ok(until)) => domain::StepLength::from(per).count(since, until),
        _ => MAX_POINTS,
    };
    points.clamp(1, MAX_POINTS) as usize
}
