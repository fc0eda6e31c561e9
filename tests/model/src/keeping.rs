//! Model of a process that keeps what it has read, unless that changed meanwhile (`src/domain/entity_cache/kept.rs`):
//! one value that transactions change, two fetches, and the messages that announce changes.
//!
//! A change is committed, then announced. Its message arrives late, or is lost when the subscription ends; a process
//! that subscribes again does not know what it has missed. A fetch takes some time between its beginning, its
//! reading and its end, and callers who want the same join it.

use stateright::{Model, Property};

use crate::variants::variants;

const FETCHES: usize = 2;

variants! {
    /// A rule that the others rely on.
    Guard {
        /// A fetch notes how many changes were heard before it reads, and not after.
        NotesFirst,
        /// Between the look whether something changed meanwhile and the insertion no change is heard.
        LooksAndInsertsAtOnce,
        /// A change counts, so that what is being fetched is not kept.
        CountsChanges,
        /// A change removes what is kept.
        RemovesWhatIsKept,
        /// A caller after a change does not join a fetch that began before it.
        LeavesFetches,
        /// A new subscription counts as a change of everything.
        SubscriptionIsAChange,
        /// What is kept is not shown while there is no subscription.
        ShowsOnlyWhileItHears,
    }
}

/// The model, for one run.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// How often the value changes.
    pub changes: u8,
    /// How often the subscription ends.
    pub interruptions: u8,
    /// Guards that are omitted.
    pub without: Vec<Guard>,
}

/// Values are numbered by the changes that made them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    committed: u8,
    announced: u8,
    /// The newest change whose message has arrived, or that was announced before the subscription began.
    heard: u8,
    /// The newest change whose message has arrived or was lost.
    past: u8,
    is_subscribed: bool,
    /// It has subscribed, and has forgotten everything.
    hears: bool,
    /// Changes that were counted.
    counted: u8,
    kept: Option<u8>,
    fetches: [Fetch; FETCHES],
    interruptions_left: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Fetch {
    step: Step,
    /// Changes that were counted when it began.
    noted: u8,
    read: u8,
    /// A caller may join it.
    is_open: bool,
    /// The newest change that was heard before one of its callers asked.
    wanted: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Step {
    #[default]
    Idle,
    Began,
    HasRead,
    /// Only without [`Guard::LooksAndInsertsAtOnce`].
    HasLooked,
}

/// A step of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Commits,
    Announces,
    Hears,
    /// The subscription ends, and messages under way are lost.
    IsInterrupted,
    Subscribes,
    /// The process relies on its new subscription.
    Resumes,
    Begins(usize),
    Joins(usize),
    Reads(usize),
    Looks(usize),
    Inserts(usize),
}

impl Keeping {
    fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }

    /// Changes up to `change` are heard.
    fn hears(&self, state: &mut State, change: u8) {
        state.heard = change;
        state.past = state.past.max(change);
        state.counted += u8::from(self.has(Guard::CountsChanges));
        if self.has(Guard::RemovesWhatIsKept) {
            state.kept = None;
        }
        if self.has(Guard::LeavesFetches) {
            state.fetches.iter_mut().for_each(|fetch| fetch.is_open = false);
        }
    }

    fn step(&self, state: &State, action: Action) -> Option<State> {
        let mut next = *state;
        let at_once = self.has(Guard::LooksAndInsertsAtOnce);
        match action {
            Action::Commits => {
                (state.committed < self.changes).then_some(())?;
                next.committed += 1;
            }
            Action::Announces => {
                (state.announced < state.committed).then_some(())?;
                next.announced = state.committed;
                if !state.is_subscribed {
                    next.past = state.committed;
                }
            }
            Action::Hears => {
                (state.hears && state.heard < state.announced).then_some(())?;
                self.hears(&mut next, state.heard + 1);
            }
            Action::IsInterrupted => {
                (state.is_subscribed && state.interruptions_left > 0).then_some(())?;
                next.interruptions_left -= 1;
                next.past = state.announced;
                (next.is_subscribed, next.hears) = (false, false);
            }
            Action::Subscribes => {
                (!state.is_subscribed).then_some(())?;
                next.is_subscribed = true;
            }
            Action::Resumes => {
                (state.is_subscribed && !state.hears).then_some(())?;
                (next.hears, next.heard) = (true, state.past);
                if self.has(Guard::SubscriptionIsAChange) {
                    self.hears(&mut next, state.past);
                }
            }
            Action::Begins(f) => {
                (state.fetches[f].step == Step::Idle).then_some(())?;
                let (noted, read, wanted) = (state.counted, state.committed, state.heard);
                next.fetches[f] = Fetch { step: Step::Began, noted, read, is_open: true, wanted };
            }
            Action::Joins(f) => {
                let fetch = &mut next.fetches[f];
                (fetch.step != Step::Idle && fetch.is_open).then_some(())?;
                fetch.wanted = state.heard;
            }
            Action::Reads(f) => {
                let fetch = &mut next.fetches[f];
                (fetch.step == Step::Began).then_some(())?;
                fetch.step = Step::HasRead;
                if self.has(Guard::NotesFirst) {
                    fetch.read = state.committed;
                } else {
                    fetch.noted = state.counted;
                }
            }
            Action::Looks(f) => {
                (!at_once && state.fetches[f].may_be_kept(state)).then_some(())?;
                next.fetches[f].step = Step::HasLooked;
            }
            Action::Inserts(f) => {
                let fetch = state.fetches[f];
                let due = if at_once { Step::HasRead } else { Step::HasLooked };
                (fetch.step == due).then_some(())?;
                if !at_once || fetch.may_be_kept(state) {
                    next.kept = Some(fetch.read);
                }
                next.fetches[f] = Fetch::default();
            }
        }
        Some(next)
    }
}

impl Fetch {
    fn may_be_kept(&self, state: &State) -> bool {
        self.step == Step::HasRead && self.noted == state.counted
    }

    fn is_outdated(&self) -> bool {
        matches!(self.step, Step::HasRead | Step::HasLooked) && self.read < self.wanted
    }
}

impl Model for Keeping {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            committed: 0,
            announced: 0,
            heard: 0,
            past: 0,
            is_subscribed: true,
            hears: true,
            counted: 0,
            kept: None,
            fetches: [Fetch::default(); FETCHES],
            interruptions_left: self.interruptions,
        }]
    }

    fn actions(&self, _: &State, actions: &mut Vec<Action>) {
        use Action::{Announces, Commits, Hears, IsInterrupted, Resumes, Subscribes};
        actions.extend([Commits, Announces, Hears, IsInterrupted, Subscribes, Resumes]);
        for f in 0..FETCHES {
            let of_fetch = [Action::Begins, Action::Joins, Action::Reads, Action::Looks, Action::Inserts];
            actions.extend(of_fetch.map(|action| action(f)));
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        self.step(state, action).filter(|next| next != state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "nothing is shown from before a change that was heard or missed",
                |model: &Self, state: &State| {
                    let is_shown = state.hears || !model.has(Guard::ShowsOnlyWhileItHears);
                    !is_shown || state.kept.is_none_or(|kept| kept >= state.past)
                },
            ),
            Property::always("no caller gets what is older than what it had heard of", |_, state: &State| {
                !state.fetches.iter().any(Fetch::is_outdated)
            }),
        ]
    }
}
