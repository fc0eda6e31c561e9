//! The part of a script's arguments that tells it which counters the kinds of entities have.

use redis::Cmd;

use crate::{
    catalogue::{Counts, Entity, EntityKind},
    event_log::Moves,
};

/// The kinds that a batch touches, in order; scripts name a kind by its position, from 1.
pub struct Kinds(Vec<EntityKind>);

impl Kinds {
    pub fn of(moves: &Moves) -> Self {
        let mut kinds: Vec<_> = moves.keys().map(|entity| entity.kind).collect();
        kinds.dedup(); // the moves are sorted by kind
        Self(kinds)
    }

    pub fn write(&self, cmd: &mut Cmd) {
        cmd.arg(self.0.len());
        for kind in &self.0 {
            cmd.arg(kind.counters().len());
            for counter in kind.counters() {
                cmd.arg(counter.name());
            }
        }
    }

    pub fn position(&self, entity: Entity) -> usize {
        self.0.partition_point(|kind| *kind < entity.kind) + 1
    }
}

/// One difference per counter of the entity's kind.
pub fn write_deltas(cmd: &mut Cmd, entity: Entity, deltas: &Counts) {
    for delta in deltas.values(entity.kind) {
        cmd.arg(delta);
    }
}
