//! Activity of a note: its likes or collects per hour or per day, ready for a chart.

use chrono::{DateTime, Utc};

use crate::{DomainError, DomainResult, Plaudit};
use plaudit_catalogue::{
    EdgeKind, UnixMillis,
    primitives::{NoteId, UserId, now},
};
use plaudit_store::sql::{
    Db,
    connection::replica,
    counting::activity::{self, Activity, ActivityQuery},
};

/// Most points of one response: a month of hours, or two years of days.
pub const MAX_POINTS: i64 = 744;

/// Which counter is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActivityCounter {
    Likes,
    Collects,
}

/// Length of a step. Steps begin at full hours, or at midnight, in UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepLength {
    Hour,
    Day,
}

/// A query of a note's activity.
#[derive(Clone, Copy, Debug)]
pub struct ActivityRequest {
    pub note: NoteId,
    pub of: ActivityCounter,
    pub step: StepLength,
    /// The first step contains this time.
    pub from: DateTime<Utc>,
    /// Exclusive end of the last step; now, if it is `None` or in the future.
    pub to: Option<DateTime<Utc>>,
}

/// One step of the activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActivityPoint {
    /// When the step begins.
    pub at: DateTime<Utc>,
    pub gained: i64,
    pub lost: i64,
    /// At the end of the step.
    pub total: i64,
}

impl ActivityCounter {
    /// The edge of notes whose flips move it.
    const fn of_notes(self) -> EdgeKind {
        match self {
            Self::Likes => EdgeKind::NoteLike,
            Self::Collects => EdgeKind::NoteCollect,
        }
    }
}

impl StepLength {
    const fn millis(self) -> i64 {
        match self {
            Self::Hour => 60 * 60 * 1_000,
            Self::Day => 24 * Self::Hour.millis(),
        }
    }

    /// Number of steps from the one that contains `from` to the one before `to`.
    pub const fn count(self, from: DateTime<Utc>, to: DateTime<Utc>) -> i64 {
        let first = from.timestamp_millis().div_euclid(self.millis());
        (to.timestamp_millis() - 1).div_euclid(self.millis()) - first + 1
    }
}

/// Every step of the window; a step without events has the total of the step before. The total before the
/// window's first event is the total after the newest older event; without one, the total before the
/// oldest event; without any event, the present total. Events older than the retention are deleted.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown or removed note; [`DomainError::Forbidden`] if the viewer is
/// neither its author nor a moderator; [`DomainError::BadInput`] for a window that is empty or too long.
pub async fn note_activity(
    plaudit: &Plaudit,
    viewer: Option<UserId>,
    is_moderator: bool,
    request: &ActivityRequest,
) -> DomainResult<Vec<ActivityPoint>> {
    let note = plaudit.notes().get(request.note).await?;
    if !is_moderator && viewer != Some(note.author) {
        return Err(DomainError::Forbidden("only the author and moderators see the history of a note"));
    }
    let window = Window::of(request, now())?;
    let query = ActivityQuery {
        kind: request.of.of_notes(),
        target: note.id.0,
        from: window.from,
        to: window.to(),
        step: window.step,
    };
    let (db, query) = (&plaudit.inner.db, &query);
    let read = |db: Db| async move { activity::activity(&db, query).await };
    // A replica may not have the note yet.
    let activity =
        replica::from_replica(db, read, Option::is_some).await?.ok_or(DomainError::NotFound("note"))?;
    Ok(window.points(&activity))
}

/// A time window of whole steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Window {
    from: UnixMillis,
    /// Milliseconds.
    step: i64,
    steps: i64,
}

impl Window {
    fn of(request: &ActivityRequest, now: UnixMillis) -> DomainResult<Self> {
        let now = DateTime::from_timestamp_millis(now).unwrap_or_default();
        let (from, to) = (request.from, request.to.map_or(now, |to| to.min(now)));
        if from < DateTime::UNIX_EPOCH || from >= now {
            let message = "from: must be in the past, and not before 1970";
            return Err(DomainError::bad_input("from", message));
        }
        if to <= from {
            return Err(DomainError::bad_input("to", "to: must be later than from"));
        }
        let (step, steps) = (request.step.millis(), request.step.count(from, to));
        if steps > MAX_POINTS {
            return Err(too_many(request.step, steps));
        }
        Ok(Self { from: from.timestamp_millis() / step * step, step, steps })
    }

    /// End of the last step.
    const fn to(&self) -> UnixMillis {
        self.from + self.steps * self.step
    }

    fn points(&self, activity: &Activity) -> Vec<ActivityPoint> {
        let mut total = activity.before;
        let mut moved = activity.steps.iter().peekable();
        let starts = (0..self.steps).map(|step| self.from + step * self.step);
        let point = |start| {
            let (mut gained, mut lost) = (0, 0);
            if let Some(step) = moved.next_if(|step| step.start == start) {
                (gained, lost, total) = (step.gained, step.lost, step.total);
            }
            let at = DateTime::from_timestamp_millis(start).unwrap_or_default();
            ActivityPoint { at, gained, lost, total }
        };
        starts.map(point).collect()
    }
}

fn too_many(length: StepLength, steps: i64) -> DomainError {
    match length {
        StepLength::Hour => DomainError::bad_input(
            "step",
            format!(
                "step: the window has {steps} hours, the maximum is {MAX_POINTS}; choose DAY or a shorter window"
            ),
        ),
        StepLength::Day => DomainError::bad_input(
            "from",
            format!("from: the window has {steps} days, the maximum is {MAX_POINTS}; choose a later time"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::primitives::Id;
    use plaudit_store::sql::counting::activity::ActivityStep;

    const NOW: &str = "2026-11-21T09:30:00Z";

    fn moment(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn window(step: StepLength, from: &str, to: Option<&str>) -> Result<Window, &'static str> {
        let note = NoteId(Id::try_from(1).unwrap());
        let (from, to) = (moment(from), to.map(moment));
        let request = ActivityRequest { note, of: ActivityCounter::Likes, step, from, to };
        Window::of(&request, moment(NOW).timestamp_millis()).map_err(|error| match error {
            DomainError::BadInput { argument, .. } => argument,
            other => panic!("{other}"),
        })
    }

    #[test]
    fn a_window_includes_the_steps_at_both_ends_and_ends_now() {
        let hours = window(StepLength::Hour, "2026-11-21T06:59:59Z", None).unwrap();
        assert_eq!((hours.from, hours.steps), (moment("2026-11-21T06:00:00Z").timestamp_millis(), 4));
        let full = window(StepLength::Hour, "2026-11-21T06:00:00Z", Some("2026-11-21T08:00:00Z")).unwrap();
        assert_eq!(full.steps, 2);
        let days = window(StepLength::Day, "2026-11-20T23:00:00Z", Some("2030-01-01T00:00:00Z")).unwrap();
        assert_eq!((days.from, days.steps), (moment("2026-11-20T00:00:00Z").timestamp_millis(), 2));
    }

    #[test]
    fn an_empty_or_too_long_window_names_the_argument_to_correct() {
        let longest = window(StepLength::Hour, "2026-10-21T10:00:00Z", None).unwrap();
        assert_eq!(longest.steps, MAX_POINTS);
        for (step, from, to, argument) in [
            (StepLength::Hour, "2026-10-21T09:59:59Z", None, "step"),
            (StepLength::Day, "2020-01-01T00:00:00Z", None, "from"),
            (StepLength::Day, NOW, None, "from"),
            (StepLength::Day, "2030-01-01T00:00:00Z", Some("2030-01-02T00:00:00Z"), "from"),
            (StepLength::Day, "1969-12-31T00:00:00Z", Some("1970-01-02T00:00:00Z"), "from"),
            (StepLength::Day, "2026-11-20T00:00:00Z", Some("2026-11-20T00:00:00Z"), "to"),
        ] {
            assert_eq!(window(step, from, to), Err(argument), "{from}");
        }
    }

    #[test]
    fn every_step_has_a_point_and_totals_are_carried_forward() {
        let window = Window { from: 0, step: 10, steps: 5 };
        let step = |start, gained, lost, total| ActivityStep { start, gained, lost, total };
        let activity = Activity { before: 4, steps: vec![step(10, 3, 1, 6), step(30, 0, 2, 4)] };
        let points: Vec<_> = window.points(&activity).iter().map(|p| (p.gained, p.lost, p.total)).collect();
        assert_eq!(points, [(0, 0, 4), (3, 1, 6), (0, 0, 6), (0, 2, 4), (0, 0, 4)]);
    }
}
