//! Fail points: named points on the path of an event at which tests kill the process, fail a step, or make a task panic
//! or a thread stall.
//!
//! They are points of the crate `fail`. Its feature `failpoints` is on only where tests are built; without it
//! the macro is empty, [`due`] is always `None`, and the program contains no fail point.
//!
//! The variable `FAILPOINTS` or `fail::cfg` sets what a point does, in the grammar of `fail`:
//! `commit.after=3*off->1*return(die)` kills the process at the fourth commit. `sleep(ms)` stalls the thread, as
//! a stopped process would. Besides:
//!
//! | `return(…)` | |
//! |---|---|
//! | `die` | the process ends at once, as by `kill -9` |
//! | `fail` | the step fails, and its outcome is unknown |
//! | anything else | the task panics with these words |
//!
//! [`period`] names periods that a test makes short.

use std::time::Duration;

/// Declares the points, a line each, with the store that the failing step calls.
macro_rules! points {
    ($($(#[$doc:meta])* $point:ident $store:ident $name:literal)+) => {
        /// A fail point.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Point { $($(#[$doc])* $point),+ }

        impl Point {
            pub const ALL: &'static [Self] = &[$(Self::$point),+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$point => $name),+ }
            }

            /// The store whose call fails when the step fails.
            pub const fn store(self) -> FailingStore {
                match self { $(Self::$point => FailingStore::$store),+ }
            }
        }
    };
}

points! {
    /// Before the action script.
    BeforeAction Redis "action.before"
    /// The event is in the log, the caller has no reply.
    AfterAction Redis "action.after"
    /// A batch was read and summed.
    BeforeFold Redis "fold.before"
    /// One target shard has the batch, the others do not.
    BetweenFolds Redis "fold.between"
    AfterFold Redis "fold.after"
    /// All statements of the persister's transaction are done.
    BeforeCommit PostgreSql "commit.before"
    /// The transaction is committed. A failure here is a commit of unknown outcome.
    AfterCommit PostgreSql "commit.after"
    BeforeRetire Redis "retire.before"
    /// Everything is retired, but the offset is not written.
    AfterRetire Redis "retire.after"
    BeforeTrim Redis "trim.before"
    /// Totals were read from PostgreSQL and are not yet installed.
    WhileLoading Redis "load.install"
    /// The lease is taken, nothing else is done.
    AtTakeover PostgreSql "takeover.begin"
    /// The Redis that had the shard before was asked whether this one has everything; the answer has had no effect.
    DuringHandover Redis "handover.asked"
    /// The log is recovered and the counters are reset, but the shard is not yet marked as recovered.
    BeforeRecovered Redis "takeover.recovered"
    /// The shard is led no more, but the lease is not released.
    BeforeRelease PostgreSql "release.before"
    /// PostgreSQL has the next generation, the log has not.
    BeforeGenesis Redis "takeover.genesis"
    /// Redis has dropped what an invalidation names; the invalidation is not yet deleted.
    AfterInvalidation PostgreSql "invalidation.after"
    BeforeChange PostgreSql "change.before"
    /// A direct change is committed, nothing is invalidated in Redis.
    AfterChange Redis "change.after"
    /// All statements of a page of a backfill are done.
    BeforePage PostgreSql "page.before"
    /// A page of a backfill is committed.
    AfterPage PostgreSql "page.after"
    /// All statements of a transaction of an import are done.
    BeforeImported PostgreSql "import.before"
    /// A transaction of an import is committed.
    AfterImported PostgreSql "import.after"
    /// A reshard has taken all leases, and closed no shard.
    ReshardBegun Redis "reshard.begun"
    /// A shard is closed, the next one is not.
    ReshardSealed Redis "reshard.sealed"
    /// The log of a shard is persisted, the log of the next one is not.
    ReshardPersisted PostgreSql "reshard.persisted"
    /// Idempotency keys are copied, the next layout has not begun.
    ReshardCopied PostgreSql "reshard.copied"
    /// The next layout has begun, Redis still has the keys of the former one.
    ReshardOpened Redis "reshard.opened"
    /// Redis has no keys of the former layout, PostgreSQL does not know yet.
    ReshardDeleted PostgreSql "reshard.deleted"
}

/// The store that does not answer when a step fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailingStore {
    Redis,
    PostgreSql,
}

/// The error of a step that a test makes fail.
#[derive(Debug, thiserror::Error)]
#[error("made to fail at {}", .0.name())]
pub struct Injected(Point);

impl Injected {
    pub const fn store(&self) -> FailingStore {
        self.0.store()
    }
}

/// The configured effect of a point.
#[derive(Debug)]
pub struct Fault {
    point: Point,
    what: String,
}

impl Fault {
    /// # Errors
    /// [`Injected`] if the step must fail. Does not return otherwise.
    pub fn strike(self) -> Result<(), Injected> {
        match self.what.as_str() {
            "die" => std::process::abort(),
            "fail" => Err(Injected(self.point)),
            words => panic!("{} at {}", words, self.point.name()),
        }
    }
}

/// The effect that a test has configured for this point, if any. A stall happens within this call.
pub fn due(point: Point) -> Option<Fault> {
    fail::fail_point!(point.name(), |what| Some(Fault { point, what: what.unwrap_or_default() }));
    let _ = point; // otherwise unused outside of tests
    None
}

/// Executes the effect that a test has configured for this point.
///
/// # Errors
/// [`Injected`] if the step must fail.
pub fn reached(point: Point) -> Result<(), Injected> {
    due(point).map_or(Ok(()), Fault::strike)
}

/// A period, such as one of the caches; `usual`, unless a test has set another one in ms: `cache.fresh=return(200)`.
pub fn period(name: &'static str, usual: Duration) -> Duration {
    fail::fail_point!(name, |millis| {
        millis.and_then(|millis| millis.parse().ok()).map_or(usual, Duration::from_millis)
    });
    let _ = name; // otherwise unused outside of tests
    usual
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because points are the same for the whole process.
    #[test]
    fn a_point_does_what_is_set_as_often_as_it_is_set() {
        let point = Point::BeforeTrim; // no other unit test comes there
        assert!(reached(point).is_ok());
        fail::cfg(point.name(), "1*off->1*return(fail)").unwrap();
        let outcomes: Vec<bool> = (0..3).map(|_| reached(point).is_ok()).collect();
        assert_eq!(outcomes, [true, false, true]);
        fail::cfg(point.name(), "1*return(killed)").unwrap();
        let panic = std::panic::catch_unwind(|| reached(point)).unwrap_err();
        assert_eq!(panic.downcast_ref::<String>().unwrap(), "killed at trim.before");
        fail::remove(point.name());
    }
}
