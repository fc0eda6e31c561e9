//! Model of the sharing of shards among the processes of the pipeline (`src/counting/ownership/share.rs`): who
//! joins, looks, takes, releases, leaves, is killed, or loses its leases while it lives on.
//!
//! A look reads the table of processes and the leases in one statement; what it decides happens later, step by
//! step. Leases with fencing tokens decide who owns a shard, so two processes never own one; the model is about
//! who gets it.

use stateright::{Model, Property};

use crate::variants::variants;

pub const SHARDS: usize = 4;
pub const PROCESSES: usize = 3;
/// Bits of all shards.
const ALL: u8 = (1 << SHARDS) - 1;

variants! {
    /// A rule that the others rely on.
    Guard {
        /// Shares are rounded up for some and down for others, so that they add up to the number of shards.
        SharesAddUp,
        /// A process takes no more than its share.
        TakesItsShare,
        /// A process releases what it has above its share.
        GivesUpSurplus,
        /// A process whose shard was taken stops to lead it.
        NoticesLoss,
    }
}

/// The model, for one run.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// How many times a process comes, leaves, is killed or loses its leases.
    pub events: u8,
    /// Guards that are omitted.
    pub without: Vec<Guard>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    processes: [Process; PROCESSES],
    leases: [Lease; SHARDS],
    events_left: u8,
    /// Shards released since the last event.
    moves: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Process {
    is_alive: bool,
    /// It looks no more, and ends when it has released its shards.
    is_stopping: bool,
    /// The others count it.
    is_member: bool,
    /// Shards that it leads or is about to take.
    held: u8,
    /// Of these, those that it is about to take.
    taking: u8,
    /// Shards that it is about to release.
    leaving: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Lease {
    Free,
    /// Its owner has not renewed it.
    Expired(usize),
    Owned(usize),
}

/// A step of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Comes(usize),
    Looks(usize),
    Takes(usize, usize),
    Releases(usize, usize),
    Renews(usize, usize),
    NoticesLoss(usize, usize),
    Stops(usize),
    Ends(usize),
    IsKilled(usize),
    /// Its row and its leases expire: it was killed, or did not reach the stores for a while.
    Expires(usize),
}

impl Sharing {
    fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }

    fn share(&self, state: &State, process: usize) -> usize {
        let is_counted = |other: &usize| *other == process || state.processes[*other].is_member;
        let members = (0..PROCESSES).filter(is_counted).count();
        let rank = (0..process).filter(is_counted).count();
        let rounds_up = if self.has(Guard::SharesAddUp) {
            rank < SHARDS % members
        } else {
            !SHARDS.is_multiple_of(members)
        };
        SHARDS / members + usize::from(rounds_up)
    }

    fn looks(&self, state: &State, p: usize) -> State {
        let mut next = *state;
        let share = self.share(state, p);
        let process = &mut next.processes[p];
        let may_take = |shard: &usize| match state.leases[*shard] {
            Lease::Free => true,
            Lease::Expired(_) => state.processes[p].is_member,
            Lease::Owned(owner) => owner == p,
        };
        process.is_member = true;
        let is_new = |shard: &usize| (process.held | process.leaving) & 1 << shard == 0;
        let free: Vec<usize> = (0..SHARDS).filter(may_take).filter(is_new).collect();
        let held = process.held.count_ones() as usize;
        let most = if self.has(Guard::TakesItsShare) { share.saturating_sub(held) } else { SHARDS };
        let taken: u8 = free.iter().take(most).map(|shard| 1 << shard).sum();
        process.held |= taken;
        process.taking |= taken;
        if self.has(Guard::GivesUpSurplus) {
            let led = (0..SHARDS).rev().filter(|shard| process.held & 1 << shard != 0);
            let given: u8 = led.take(held.saturating_sub(share)).map(|shard| 1 << shard).sum();
            process.held &= !given;
            process.leaving |= given;
        }
        next
    }

    fn step(&self, state: &State, action: Action) -> Option<State> {
        let mut next = *state;
        match action {
            Action::Comes(p) => {
                let is_new = state.processes[p] == Process::default();
                is_new.then(|| event(&mut next, |s| s.processes[p].is_alive = true))?;
            }
            Action::Looks(p) => {
                let process = &state.processes[p];
                return (process.is_alive && !process.is_stopping).then(|| self.looks(state, p));
            }
            Action::Takes(p, shard) => {
                let (process, bit) = (&mut next.processes[p], 1 << shard);
                (process.taking & bit != 0).then_some(())?;
                process.taking &= !bit;
                if matches!(state.leases[shard], Lease::Owned(owner) if owner != p) {
                    process.held &= !bit;
                    process.leaving &= !bit;
                } else {
                    next.leases[shard] = Lease::Owned(p);
                }
            }
            Action::Releases(p, shard) => {
                let (process, bit) = (&mut next.processes[p], 1 << shard);
                (process.leaving & bit != 0 && process.taking & bit == 0).then_some(())?;
                process.leaving &= !bit;
                if state.leases[shard] == Lease::Owned(p) {
                    next.leases[shard] = Lease::Free;
                    next.moves = next.moves.saturating_add(1);
                }
            }
            Action::Renews(p, shard) => {
                let is_own = state.leases[shard] == Lease::Expired(p);
                (is_own && state.processes[p].leads(shard)).then_some(())?;
                next.leases[shard] = Lease::Owned(p);
            }
            Action::NoticesLoss(p, shard) => {
                let (process, bit) = (&mut next.processes[p], 1 << shard);
                let is_own = [Lease::Owned(p), Lease::Expired(p)].contains(&state.leases[shard]);
                (process.leads(shard) && !is_own && self.has(Guard::NoticesLoss)).then_some(())?;
                process.held &= !bit;
                process.leaving &= !bit;
            }
            Action::Stops(p) => {
                let process = state.processes[p];
                (process.is_alive && !process.is_stopping).then_some(())?;
                event(&mut next, |s| {
                    let leaving = process.held | process.leaving;
                    s.processes[p] =
                        Process { is_stopping: true, is_member: false, held: 0, leaving, ..process };
                })?;
            }
            Action::Ends(p) => {
                let process = &mut next.processes[p];
                (process.is_stopping && process.leaving == 0 && process.taking == 0).then_some(())?;
                *process = Process::default();
            }
            Action::IsKilled(p) => {
                let process = state.processes[p];
                process.is_alive.then_some(())?;
                let is_member = process.is_member;
                event(&mut next, |s| s.processes[p] = Process { is_member, ..Process::default() })?;
            }
            Action::Expires(p) => {
                let process = state.processes[p];
                // A dead process' rows expire in any case; those of a living one are an event.
                if process.is_alive {
                    event(&mut next, |_| ())?;
                }
                next.processes[p].is_member = false;
                for lease in next.leases.iter_mut().filter(|lease| **lease == Lease::Owned(p)) {
                    *lease = Lease::Expired(p);
                }
            }
        }
        Some(next)
    }
}

/// Something happens, if there is an event left.
fn event(state: &mut State, happens: impl FnOnce(&mut State)) -> Option<()> {
    state.events_left = state.events_left.checked_sub(1)?;
    state.moves = 0;
    happens(state);
    Some(())
}

impl Process {
    const fn leads(&self, shard: usize) -> bool {
        (self.held | self.leaving) & !self.taking & 1 << shard != 0
    }
}

impl State {
    /// No process has anything to do, and everything of the dead has expired.
    fn is_at_rest(&self, model: &Sharing) -> bool {
        (0..PROCESSES).all(|p| {
            let process = &self.processes[p];
            let may_act = |action: fn(usize, usize) -> Action| {
                (0..SHARDS).any(|shard| model.step(self, action(p, shard)).is_some())
            };
            if process.is_alive {
                let is_idle = process.taking == 0 && process.leaving == 0 && !process.is_stopping;
                let acts = may_act(Action::Renews) || may_act(Action::NoticesLoss);
                is_idle && !acts && model.looks(self, p) == *self
            } else {
                !process.is_member && !self.leases.contains(&Lease::Owned(p))
            }
        })
    }

    /// Each shard is led by its owner, and by nobody else, and no process leads two more than another.
    fn is_even(&self) -> bool {
        let alive = self.processes.iter().filter(|process| process.is_alive);
        let counts: Vec<u32> = alive.map(|process| process.held.count_ones()).collect();
        let Some((least, most)) = counts.iter().min().zip(counts.iter().max()) else { return true };
        let owned = (0..SHARDS).filter(|shard| {
            matches!(self.leases[*shard], Lease::Owned(owner) if self.processes[owner].held & 1 << shard != 0)
        });
        most - least <= 1 && counts.iter().sum::<u32>() == ALL.count_ones() && owned.count() == SHARDS
    }
}

impl Model for Sharing {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            processes: [Process::default(); PROCESSES],
            leases: [Lease::Free; SHARDS],
            events_left: self.events,
            moves: 0,
        }]
    }

    fn actions(&self, _: &State, actions: &mut Vec<Action>) {
        for p in 0..PROCESSES {
            let once = [Action::Comes, Action::Looks, Action::Stops, Action::Ends, Action::IsKilled];
            actions.extend(once.map(|action| action(p)));
            actions.push(Action::Expires(p));
            for action in [Action::Takes, Action::Releases, Action::Renews, Action::NoticesLoss] {
                actions.extend((0..SHARDS).map(|shard| action(p, shard)));
            }
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        self.step(state, action).filter(|next| next != state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("shards are shared evenly at rest", |model: &Self, state: &State| {
                !state.is_at_rest(model) || state.is_even()
            }),
            Property::always("shards do not go back and forth", |_, state: &State| {
                usize::from(state.moves) <= SHARDS
            }),
        ]
    }
}
