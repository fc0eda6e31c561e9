//! Model of the replies to flips with `redis_replicas` 1 (`src/domain/edges/switch.rs`): when may a reply be a success, if the
//! master may be stopped, replaced by its replica, and wake up behind it?
//!
//! Two servers: a master and its replica, which may be promoted at any moment. The former master does not
//! notice, and goes on. Two clients switch one edge each, on whichever server they reach, and may repeat that
//! with the same key. A reader of the log may be connected to either server, too, and be late at each step. The
//! replica of the promoted server is never behind, and the hub misses no message: both would only delay a
//! success.

use stateright::{Model, Property};

use crate::variants::variants;

const SERVERS: usize = 2;
const EVENTS: usize = 2;

variants! {
    /// A rule that the others rely on.
    Guard {
        /// The reader sends what it has read only when replicas of that server have it (`src/store/redis/log/reading.rs`).
        ReplicasConfirm,
        /// It asks for the server's replication id after it has read, so that no entry is of a later one
        /// (`src/store/redis/nodes/log_connection.rs`).
        SequenceIsReadLast,
        /// A message answers for the events of its own replication id only: a master that was replaced gives offsets that its
        /// successor gives again (`Hub::wait_until_folded`).
        SequenceIsCompared,
        /// So does the answer of replicas that the request asks itself (`Plaudit::is_replicated`).
        AskedSequenceIsCompared,
        /// What a log has is persisted before its next generation begins (`src/counting/ownership/recovery.rs`).
        SurvivorsArePersisted,
    }
}

/// The model, for one run.
#[derive(Clone, Debug, Default)]
pub struct Replies {
    /// Guards that are omitted.
    pub without: Vec<Guard>,
}

/// Generation and number. A number of 0 is that of the marker with which a generation begins.
type Offset = (u8, u8);

const FIRST: Offset = (1, 0);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    servers: [Server; SERVERS],
    is_promoted: bool,
    /// A generation may still be raised without a loss: PostgreSQL went back.
    may_raise: bool,
    reader: Reader,
    /// How far the target has the log, and the replication id that the last message named: what the hub has heard.
    folded: (Offset, u8),
    /// The reply that each client waits for.
    answers: [Option<Answer>; EVENTS],
    /// Events that are persisted, one bit each.
    rows: u8,
    /// A reply was a success, and its event was lost already, or is lost if the replica is promoted now.
    is_wrong: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Server {
    /// `master_replid`
    sequence: u8,
    /// `redis_history`
    recovered_on: u8,
    /// Entries of all generations; without an event: the marker with which one begins.
    log: Vec<(Offset, Option<usize>)>,
}

/// Where a reader is between two folds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Reader {
    Idle,
    Connected { to: usize, sequence: u8 },
    Read { from: usize, sequence: u8, after: Offset, end: Offset },
    Confirmed { sequence: u8, after: Offset, end: Offset },
}

/// Where an event is, as a server with this replication id says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Answer {
    at: Offset,
    sequence: u8,
}

/// A step of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// `lua/flip_edge.lua`
    Appends {
        event: usize,
        server: usize,
    },
    /// The same, when its key shows that it was done.
    Repeats {
        event: usize,
        server: usize,
    },
    HearsFold(usize),
    AsksReplicas {
        event: usize,
        server: usize,
    },
    Connects(usize),
    Reads,
    Confirms,
    Folds,
    Gone,
    Recovers {
        raises: bool,
    },
    Replicates,
    ReplicaIsPromoted,
}

impl Server {
    fn end(&self) -> Offset {
        self.log.last().map_or(FIRST, |(offset, _)| *offset)
    }

    fn offset_of(&self, event: usize) -> Option<Offset> {
        self.log.iter().find(|(_, logged)| *logged == Some(event)).map(|(offset, _)| *offset)
    }
}

impl State {
    /// Whether everything that the server has is on its replica, too.
    fn replica_has_all(&self, server: usize) -> bool {
        let [former, successor] = &self.servers;
        if server == 0 { !self.is_promoted && former.log == successor.log } else { self.is_promoted }
    }

    /// Whether a failover keeps it: entries of an earlier generation are read no more.
    fn is_kept(&self, event: usize) -> bool {
        let successor = &self.servers[1];
        let is_read = |(generation, _): Offset| generation == successor.end().0;
        self.rows & 1 << event != 0 || successor.offset_of(event).is_some_and(is_read)
    }

    /// Whether the server answers requests.
    const fn takes_actions(&self, server: usize) -> bool {
        let is_master = server == 0 || self.is_promoted;
        is_master && self.servers[server].recovered_on == self.servers[server].sequence
    }
}

impl Replies {
    fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }

    fn step(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        match action {
            Action::Appends { event, server } => {
                let is_new = state.servers.iter().all(|server| server.offset_of(event).is_none());
                let is_first = is_new && state.answers[event].is_none();
                (is_first && state.takes_actions(server)).then_some(())?;
                let server = &mut next.servers[server];
                let (generation, number) = server.end();
                let (at, sequence) = ((generation, number + 1), server.sequence);
                server.log.push((at, Some(event)));
                next.answers[event] = Some(Answer { at, sequence });
            }
            Action::Repeats { event, server } => {
                state.takes_actions(server).then_some(())?;
                let server = &state.servers[server];
                let (at, sequence) = (server.offset_of(event)?, server.sequence);
                next.answers[event] = Some(Answer { at, sequence });
            }
            Action::HearsFold(event) => {
                let answer = heard(state, event)?;
                let is_own = state.folded.1 == answer.sequence || !self.has(Guard::SequenceIsCompared);
                is_own.then(|| succeeds(&mut next, event))?;
            }
            Action::AsksReplicas { event, server } => {
                let answer = heard(state, event)?;
                let is_own = state.servers[server].sequence == answer.sequence;
                let is_confirmed = is_own || !self.has(Guard::AskedSequenceIsCompared);
                (is_confirmed && state.replica_has_all(server)).then(|| succeeds(&mut next, event))?;
            }
            Action::Connects(to) => {
                (state.reader == Reader::Idle).then_some(())?;
                next.reader = Reader::Connected { to, sequence: state.servers[to].sequence };
            }
            Action::Reads => {
                let Reader::Connected { to: from, sequence } = state.reader else { return None };
                let (after, end) = (state.folded.0, state.servers[from].end());
                (end > after).then_some(())?;
                next.reader = Reader::Read { from, sequence, after, end };
            }
            Action::Confirms => {
                let Reader::Read { from, sequence, after, end } = state.reader else { return None };
                (state.replica_has_all(from) || !self.has(Guard::ReplicasConfirm)).then_some(())?;
                let now = state.servers[from].sequence;
                let sequence = if self.has(Guard::SequenceIsReadLast) { now } else { sequence };
                next.reader = Reader::Confirmed { sequence, after, end };
            }
            Action::Folds => {
                let Reader::Confirmed { sequence, after, end } = state.reader else { return None };
                (state.folded.0 == after).then_some(())?;
                next.folded = (end, sequence);
                next.reader = Reader::Idle;
            }
            Action::Gone => next.reader = Reader::Idle,
            Action::Recovers { raises } => {
                (!raises || state.may_raise).then_some(())?;
                self.recovers(&mut next, raises);
            }
            Action::Replicates => {
                let [former, successor] = &mut next.servers;
                (!state.is_promoted).then_some(())?;
                let entry = *former.log.get(successor.log.len())?;
                successor.log.push(entry);
            }
            Action::ReplicaIsPromoted => {
                (!state.is_promoted).then_some(())?;
                next.is_promoted = true;
                next.servers[1].sequence = 1;
            }
        }
        Some(next)
    }

    /// A log that is behind what is folded has lost entries: what survives is persisted, and its next
    /// generation begins.
    fn recovers(&self, state: &mut State, raises: bool) {
        let (folded, server) = (state.folded.0, &mut state.servers[usize::from(state.is_promoted)]);
        if folded > server.end() || raises {
            if self.has(Guard::SurvivorsArePersisted) {
                let events = server.log.iter().filter_map(|(_, event)| *event);
                state.rows = events.fold(state.rows, |rows, event| rows | 1 << event);
            }
            server.log.push(((folded.max(server.end()).0 + 1, 0), None));
        }
        state.may_raise &= !raises;
        server.recovered_on = server.sequence;
    }
}

/// The answer about an event that the target seems to have.
fn heard(state: &State, event: usize) -> Option<Answer> {
    state.answers[event].filter(|answer| state.folded.0 >= answer.at)
}

fn succeeds(state: &mut State, event: usize) {
    state.is_wrong |= !state.is_kept(event);
}

impl Model for Replies {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            servers: [Server::default(), Server::default()],
            is_promoted: false,
            may_raise: true,
            reader: Reader::Idle,
            folded: (FIRST, 0),
            answers: [None; EVENTS],
            rows: 0,
            is_wrong: false,
        }]
    }

    fn actions(&self, _: &State, actions: &mut Vec<Action>) {
        for event in 0..EVENTS {
            actions.push(Action::HearsFold(event));
            for server in 0..SERVERS {
                actions.push(Action::Appends { event, server });
                actions.push(Action::Repeats { event, server });
                actions.push(Action::AsksReplicas { event, server });
            }
        }
        for server in 0..SERVERS {
            actions.push(Action::Connects(server));
        }
        actions.extend([Action::Reads, Action::Confirms, Action::Folds, Action::Gone]);
        actions.extend([false, true].map(|raises| Action::Recovers { raises }));
        actions.extend([Action::Replicates, Action::ReplicaIsPromoted]);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        self.step(state, action).filter(|next| next != state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("a success is kept by a failover", |_, state: &State| !state.is_wrong)]
    }
}
