//! A batch of lines that is being written, and what each kind of line needs of it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    carried::CarriedNumbers,
    line::{EdgeLine, Line, Reason},
    names::Names,
};
use plaudit_catalogue::{Entity, Flip};
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

    /// The lines of a type, with their numbers.
    pub(super) fn of_type<L: 'a, F: Fn(&'a Line) -> Option<&'a L>>(
        &self,
        of_type: F,
    ) -> impl Iterator<Item = (u64, &'a L)> + use<'a, L, F> {
        self.lines.iter().filter_map(move |parsed| Some((parsed.number, of_type(&parsed.line)?)))
    }

    /// What the lines of edges say, with their numbers.
    pub(super) fn edges(&mut self) -> Vec<(u64, Flip)> {
        let mut edges = Vec::new();
        for (number, line) in self.of_type(|line| if let Line::Edge(of) = line { Some(of) } else { None }) {
            match self.flip(line) {
                Ok(flip) => edges.push((number, flip)),
                Err(reason) => self.reject(number, reason),
            }
        }
        edges
    }

    pub(super) fn carried(&mut self) -> CarriedNumbers<'a> {
        let (carried, rejected) = CarriedNumbers::of(self.of_type(Line::carried), self.names);
        self.rejected.extend(rejected);
        carried
    }

    fn flip(&self, line: &EdgeLine) -> Result<Flip, Reason> {
        let EdgeLine { kind, on, at, .. } = *line;
        let (actor, target) = self.names.edge(kind, &line.user, &line.target)?;
        Ok(Flip { kind, actor, target: target.id, owner: target.owner, on, at, by: None })
    }
}
