//! Signals of a topic: that there may be a new message.

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::definition::watch::Subject;
use plaudit_catalogue::{Counter, Entity};
use plaudit_counting::hub::{CountsAt, CountsWatch};
use plaudit_domain::{LOOK_EVERY, Plaudit, content::changes};

/// A signal of a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signal {
    /// Of the subject's entity, if it has one.
    pub counted: Option<CountsAt>,
    /// Orders the signals of one topic.
    order: u64,
    /// Signals with equal marks are about the same state of the subject.
    mark: i64,
}

impl Signal {
    pub const fn is_newer_than(&self, other: &Self) -> bool {
        self.order > other.order
    }

    /// Whether there may be a message that there was not at the time of the other.
    pub const fn differs_from(&self, other: &Self) -> bool {
        self.mark != other.mark
    }
}

/// The signals of one topic; only the latest waits to be read.
pub struct Signals {
    plaudit: Plaudit,
    subject: Subject,
    source: SignalOrigin,
}

enum SignalOrigin {
    Counts(Entity, CountsWatch),
    Numbers(watch::Receiver<u64>),
    /// A source that is polled: the number of the last poll, and when the next one is due.
    Looks(u64, Instant),
}

impl Signals {
    pub fn of(plaudit: &Plaudit, subject: Subject) -> Self {
        let source = match (subject.entity(), subject) {
            (Some(entity), _) => SignalOrigin::Counts(entity, plaudit.hub().watch(entity)),
            (None, Subject::Events(_) | Subject::ReviewQueue) => {
                SignalOrigin::Looks(0, Instant::now() + LOOK_EVERY)
            }
            (None, _) => SignalOrigin::Numbers(changes::watch_notes(plaudit)),
        };
        Self { plaudit: plaudit.clone(), subject, source }
    }

    /// The present signal, as soon as there is one: without counts there is no message.
    pub async fn first(&mut self) -> Signal {
        match &mut self.source {
            SignalOrigin::Counts(_, counts) => of_counts(self.subject, counts.next().await),
            SignalOrigin::Numbers(numbers) => of_number(*numbers.borrow_and_update()),
            SignalOrigin::Looks(number, _) => of_number(*number),
        }
    }

    /// The latest signal, if there is one that was not read.
    pub fn try_next(&mut self) -> Option<Signal> {
        match &mut self.source {
            SignalOrigin::Counts(_, counts) => Some(of_counts(self.subject, counts.try_next()?)),
            SignalOrigin::Numbers(numbers) if numbers.has_changed().unwrap_or(false) => {
                Some(of_number(*numbers.borrow_and_update()))
            }
            SignalOrigin::Looks(number, due) if *due <= Instant::now() => {
                (*number, *due) = (*number + 1, Instant::now() + LOOK_EVERY);
                Some(of_number(*number))
            }
            SignalOrigin::Numbers(_) | SignalOrigin::Looks(..) => None,
        }
    }

    /// The signal that a query would get now.
    pub async fn read(&self) -> Option<Signal> {
        match &self.source {
            SignalOrigin::Counts(entity, _) => {
                let counted = self.plaudit.hub().counts(&[*entity]).await.0[0];
                counted.map(|counted| of_counts(self.subject, counted))
            }
            SignalOrigin::Numbers(_) | SignalOrigin::Looks(..) => None,
        }
    }

    /// Waits until there is a signal that was not read.
    pub async fn changed(&mut self) {
        match &mut self.source {
            SignalOrigin::Counts(_, counts) => counts.changed().await,
            SignalOrigin::Numbers(numbers) => match numbers.changed().await {
                Ok(()) => numbers.mark_changed(),
                // The sender lives as long as the process.
                Err(_) => std::future::pending().await,
            },
            SignalOrigin::Looks(_, due) => sleep_until(*due).await,
        }
    }
}

fn of_counts(subject: Subject, counted: CountsAt) -> Signal {
    let mark = match subject {
        // Most changes of the note are of other counts.
        Subject::CommentsOf(_) => counted.counts.get(Counter::NoteCommentPosition),
        _ => counted.version.get() as i64,
    };
    Signal { counted: Some(counted), order: counted.version.get(), mark }
}

const fn of_number(number: u64) -> Signal {
    Signal { counted: None, order: number, mark: number as i64 }
}
