//! Model of membership, whether an edge is on. One actor, three targets, one kind of edge: pending flips, a set with
//! room for one target and so with a floor, the newest edges, rows, and an idempotency key.
//!
//! Shard and log are those of the actor. At the start two of the three targets are on, and the set has the higher one.

mod actions;
mod guards;
mod pipeline;
mod rest;
mod state;

use stateright::{Model, Property};

pub use guards::{Fault, Guard};
pub use state::State;

use state::{MOST_FLIPS, Rows, Set, Shard, Wrong};

/// The model, for one run.
#[derive(Clone, Debug)]
pub struct Membership {
    pub faults: &'static [Fault],
    /// Guards that are omitted.
    pub without: Vec<Guard>,
    /// Whether the switching off of what is off is in the log, too (`record_every_off`).
    pub records_off: bool,
    /// Number of events in the log.
    pub flips: u8,
    /// Number of loads of the set.
    pub loads: u8,
}

impl Membership {
    fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }
}

/// A step of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Flips { target: u8, on: bool, key: bool },
    AsksForRow { target: u8 },
    GivesUpRow,
    LoadReadsRows,
    LoadInstalls,
    InstallsNewest,
    GivesUpLoad,
    SetExpires,
    PersisterReads { to: u8 },
    PersisterCommits,
    PersisterIsKilled,
    RetiresMembers { to: u8 },
    AdvancesMembers,
    Recovers,
    NoticesTimeline,
    CopyCatchesUp(Fault),
    Happens(Fault),
}

impl Model for Membership {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        assert!(usize::from(self.flips) <= MOST_FLIPS, "the log has room for {MOST_FLIPS} flips");
        let set = Some(Set { generation: 1, members: 0b10, floor: Some(1) });
        let shard = Shard { has_meta: true, is_recovered: true, set, ..pipeline::empty_shard() };
        vec![State {
            shard,
            copy: None,
            rows: Rows { on: 0b11, persisted: (1, 0) },
            standby: None,
            has_new_timeline: false,
            load: None,
            row: None,
            batch: None,
            truth: 0b11,
            first_result: None,
            flips_left: self.flips,
            loads_left: self.loads,
            happened: 0,
            wrong: Wrong::default(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        Self::action_steps(actions);
        self.pipeline_steps(state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let next = match action {
            Action::Flips { target, on, key } => self.flips(state, target, on, key),
            Action::AsksForRow { target } => self.asks_for_row(state, target),
            Action::GivesUpRow => Some(State { row: None, ..*state }),
            Action::LoadReadsRows => self.load_reads_rows(state),
            Action::LoadInstalls => self.load_installs(state),
            Action::InstallsNewest => self.installs_newest(state),
            Action::GivesUpLoad => Some(State { load: None, ..*state }),
            Action::SetExpires => Some(State { shard: Shard { set: None, ..state.shard }, ..*state }),
            Action::PersisterReads { to } => self.persister_reads(state, to),
            Action::PersisterCommits => self.persister_commits(state),
            Action::PersisterIsKilled => Some(State { batch: None, ..*state }),
            Action::RetiresMembers { to } => self.retires_members(state, to),
            Action::AdvancesMembers => self.advances_members(state),
            Action::Recovers => self.recovers(state),
            Action::NoticesTimeline => self.notices_timeline(state),
            Action::CopyCatchesUp(fault) => self.copy_catches_up(state, fault),
            Action::Happens(fault) => self.happens(state, fault),
        };
        next.filter(|next| next != state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        Self::all_properties()
    }
}
