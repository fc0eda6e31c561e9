//! Named points on the way of an event, at which tests let a process die, a task panic, a step fail, or a
//! thread stall.
//!
//! They are points of the crate `fail`. Its feature `failpoints` is on only where tests are built; without it
//! the macro is empty, [`due`] is always `None`, and nothing of this is left in the program.
//!
//! What a point does is said by `fail`'s own grammar, in the variable `FAILPOINTS` or by `fail::cfg`:
//! `commit.after=3*off->1*return(die)` kills the process at the fourth commit. `sleep(ms)` stalls the thread, as
//! a stopped process would. Beside that:
//!
//! | `return(…)` | |
//! |---|---|
//! | `die` | the process ends at once, as by `kill -9` |
//! | `fail` | the step fails, and nobody knows whether it was done |
//! | anything else | the task panics with these words |

/// Declares the points, a line each.
macro_rules! points {
    ($($(#[$doc:meta])* $point:ident $name:literal)+) => {
        /// Where something may happen.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Point { $($(#[$doc])* $point),+ }

        impl Point {
            pub const ALL: &'static [Self] = &[$(Self::$point),+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$point => $name),+ }
            }
        }
    };
}

points! {
    /// Before the action script.
    BeforeAction "action.before"
    /// The event is in the log, nobody has been told.
    AfterAction "action.after"
    /// A batch was read and summed up.
    BeforeFold "fold.before"
    /// One target shard has the batch, the others do not.
    BetweenFolds "fold.between"
    AfterFold "fold.after"
    /// All statements of the persister's transaction are done.
    BeforeCommit "commit.before"
    /// It is committed; a failure here is a commit of unknown outcome.
    AfterCommit "commit.after"
    BeforeRetire "retire.before"
    /// One target shard has retired the batch, the others have not.
    BetweenRetires "retire.between"
    /// Counters have retired the batch, members have not.
    BeforeRetireMembers "retire.members"
    /// Everything is retired, but the offset is not written.
    AfterRetireMembers "retire.after"
    BeforeTrim "trim.before"
    /// Totals were read from PostgreSQL and are not yet installed.
    WhileLoading "load.install"
    /// The lease is taken, nothing else is done.
    AtTakeover "takeover.begin"
    /// The log is recovered and the counters are reset, but the shard is not yet marked as recovered.
    BeforeRecovered "takeover.recovered"
    /// PostgreSQL has the next generation, the log has not.
    BeforeGenesis "takeover.genesis"
    /// Redis has dropped what an invalidation names; the invalidation is not yet deleted.
    AfterInvalidation "invalidation.after"
    BeforeChange "change.before"
    /// A direct change is committed, Redis is not corrected.
    AfterChange "change.after"
}

/// A step did not do, or did not see, what it should.
#[derive(Debug, thiserror::Error)]
#[error("made to fail at {0}")]
pub struct Injected(&'static str);

/// What is to happen at a point.
#[derive(Debug)]
pub struct Fault {
    point: Point,
    what: String,
}

impl Fault {
    /// # Errors
    /// [`Injected`] if the step is to fail. In all other cases this does not return.
    pub fn strike(self) -> Result<(), Injected> {
        match self.what.as_str() {
            "die" => std::process::abort(),
            "fail" => Err(Injected(self.point.name())),
            words => panic!("{} at {}", words, self.point.name()),
        }
    }
}

/// What is to happen at this point now, if anything is. Stalls by itself.
pub fn due(point: Point) -> Option<Fault> {
    fail::fail_point!(point.name(), |what| Some(Fault { point, what: what.unwrap_or_default() }));
    let _ = point; // all that is left of it outside of tests
    None
}

/// Lets happen what is to happen at this point.
///
/// # Errors
/// [`Injected`] if the step is to fail.
pub fn reached(point: Point) -> Result<(), Injected> {
    due(point).map_or(Ok(()), Fault::strike)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because points are the same for the whole process.
    #[test]
    fn a_point_does_what_it_is_told_as_often_as_it_is_told() {
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
