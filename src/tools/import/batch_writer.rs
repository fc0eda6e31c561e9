//! A batch of lines that is being written, and what each kind of line needs of it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    carried::CarriedNumbers,
    line::{EdgeLine, Line, Reason},
    names::Names,
    rejects::{no_thing, no_user},
};
use plaudit_catalogue::{Entity, EntityKind, Flip};
use plaudit_counting::Moved;
use plaudit_store::sql::Tx;

/// A line that was parsed.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedLine {
    pub number: u64,
    pub line: Line,
    pub text: String,
}

/// What a batch does.
pub struct BatchWriter<'a> {
    pub(super) tx: &'a mut Tx,
    pub(super) names: &'a mut Names,
    pub(super) lines: &'a [ParsedLine],
    /// Nothing is written.
    pub(super) is_dry: bool,
    pub(super) moved: Moved,
    pub(super) touched: BTreeSet<Entity>,
    pub(super) rejected: BTreeMap<u64, Reason>,
    /// Rows that were written.
    pub(super) rows: u64,
}

impl<'a> BatchWriter<'a> {
    pub(super) fn all(&self) -> impl Iterator<Item = &'a Line> + use<'a> {
        self.lines.iter().map(|parsed| &parsed.line)
    }

    pub(super) fn reject(&mut self, number: u64, reason: Reason) {
        self.rejected.insert(number, reason);
    }

    /// What the lines of edges say, with their numbers.
    pub(super) fn edges(&mut self) -> Vec<(u64, Flip)> {
        let mut edges = Vec::new();
        for parsed in self.lines {
            let Line::Edge(line) = &parsed.line else { continue };
            match self.flip(line) {
                Ok(flip) => edges.push((parsed.number, flip)),
                Err(reason) => self.reject(parsed.number, reason),
            }
        }
        edges
    }

    pub(super) fn carried(&mut self) -> CarriedNumbers<'a> {
        let lines = self.lines.iter().filter_map(|parsed| Some((parsed.number, parsed.line.carried()?)));
        let (carried, rejected) = CarriedNumbers::of(lines, self.names);
        self.rejected.extend(rejected);
        carried
    }

    fn flip(&self, line: &EdgeLine) -> Result<Flip, Reason> {
        let EdgeLine { kind, target: key, on, at, .. } = line;
        let actor = self.names.user(&line.user).ok_or_else(|| no_user(&line.user))?;
        let unknown = || match kind.target() {
            EntityKind::User => no_user(key),
            thing => no_thing(thing.name(), key),
        };
        let (target, owner) = self.names.target(*kind, key).ok_or_else(unknown)?;
        Ok(Flip { kind: *kind, actor, target, owner, on: *on, at: *at, by: None })
    }
}
