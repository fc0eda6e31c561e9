//! The timeline of the tables: it changes when a standby is promoted or a backup is restored, and both may lack
//! the last commits. What was read on another timeline may never have happened.
//!
//! A timeline is which database the tables are in, and PostgreSQL's own timeline. Each connection begins with
//! `begin_timeline` of `migrations/0006_pipeline.sql`. Connections of a pooler stay when the PostgreSQL behind them
//! changes, so there each transaction, and each statement that gives an id, begins with it. Requests that Redis
//! answers need no connection, so each API process asks for the timeline each second.

use std::{
    fmt,
    num::NonZeroU64,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use sqlx::{
    PgConnection,
    postgres::{PgDatabaseError, PgPoolOptions},
};

/// SQL for the timeline of the statement.
pub(crate) const TIMELINE: &str = "current_timeline()";

/// Before the first migration.
const UNDEFINED_FUNCTION: &str = "42883";

/// A timeline. Its text is the one that PostgreSQL gives: 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeline(NonZeroU64);

impl Timeline {
    pub fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().and_then(NonZeroU64::new).map(Self)
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

type OnChange = dyn Fn() + Send + Sync;

/// The timeline of the newest connection of a pool. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct TimelineWatch(Arc<Watch>);

#[derive(Default)]
struct Watch {
    /// 0 before the first connection.
    latest: AtomicU64,
    on_change: OnceLock<Box<OnChange>>,
}

impl TimelineWatch {
    pub fn latest(&self) -> Option<Timeline> {
        NonZeroU64::new(self.0.latest.load(Relaxed)).map(Timeline)
    }

    /// Only the first callback is kept.
    pub fn on_change(&self, callback: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.on_change.set(Box::new(callback));
    }

    /// Each new connection begins with `begin_timeline`, so that it gives no id that was given before.
    pub fn of_connections(&self, options: PgPoolOptions) -> PgPoolOptions {
        let watch = self.clone();
        options.after_connect(move |connection, _| {
            let watch = watch.clone();
            Box::pin(async move {
                if let Some(timeline) = begin_timeline(connection).await? {
                    watch.saw(timeline);
                }
                Ok(())
            })
        })
    }

    pub fn saw(&self, timeline: Timeline) {
        let before = self.0.latest.swap(timeline.0.get(), Relaxed);
        if before != 0
            && before != timeline.0.get()
            && let Some(callback) = self.0.on_change.get()
        {
            tracing::warn!(%timeline, "PostgreSQL is on another timeline: caches begin empty");
            callback();
        }
    }
}

/// `None` for a database without Plaudit's tables.
pub(crate) async fn begin_timeline(connection: &mut PgConnection) -> Result<Option<Timeline>, sqlx::Error> {
    let begun: Result<String, _> = sqlx::query_scalar("SELECT begin_timeline()").fetch_one(connection).await;
    match begun {
        Ok(timeline) => Ok(Timeline::parse(&timeline)),
        Err(sqlx::Error::Database(error))
            if error
                .try_downcast_ref::<PgDatabaseError>()
                .is_some_and(|error| error.code() == UNDEFINED_FUNCTION) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_has_the_text_that_postgresql_gives() {
        let text = "00e1a0f0c2b3d41f";
        assert_eq!(Timeline::parse(text).unwrap().to_string(), text);
        for bad in ["", "0000000000000000", "x", "10000000000000000"] {
            assert_eq!(Timeline::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn only_another_timeline_than_the_last_one_is_a_change() {
        let (watch, changes) = (TimelineWatch::default(), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&changes);
        watch.on_change(move || {
            counted.fetch_add(1, Relaxed);
        });
        let seen = ["00000001", "00000001", "00000002", "00000002"].map(|text| {
            watch.saw(Timeline::parse(text).unwrap());
            changes.load(Relaxed)
        });
        assert_eq!(seen, [0, 0, 1, 1]);
        assert_eq!(watch.latest(), Timeline::parse("00000002"));
    }
}
