//! Rankings of notes by heat.

use std::{
    cmp::Reverse,
    collections::HashMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use super::HotWindow;
use crate::primitives::{Id, NoteId};

/// Hash of a ranking: equal rankings have the same id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RankingId(u64);

impl fmt::Display for RankingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for RankingId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

/// The hottest notes of a window at one moment, hottest first.
#[derive(PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ranking {
    pub id: RankingId,
    pub notes: Vec<NoteId>,
}

impl Ranking {
    /// Most notes of a ranking.
    pub const MOST: usize = 1_000;
    /// PostgreSQL finds candidates by coarse steps of heat: so many of the highest are ranked.
    pub const CANDIDATES: usize = 4 * Self::MOST;

    /// By heat in the window, which may name a note several times; those without any are left out.
    pub fn by_heat(window: HotWindow, heat: Vec<(Id, i64)>) -> Self {
        Self::of(window, ranked(heat, 1))
    }

    /// By the heat in totals, of candidates.
    pub fn by_totals(window: HotWindow, candidates: Vec<(Id, i64)>) -> Self {
        Self::of(window, ranked(candidates, i64::MIN))
    }

    fn of(window: HotWindow, notes: Vec<NoteId>) -> Self {
        let mut hasher = DefaultHasher::new();
        (window.name(), &notes).hash(&mut hasher);
        Self { id: RankingId(hasher.finish()), notes }
    }
}

/// Ranks notes by the sum of their heat, those with at least `least`; on a tie, the newer note first.
fn ranked(heat: Vec<(Id, i64)>, least: i64) -> Vec<NoteId> {
    let mut sums = HashMap::<Id, i64>::new();
    for (note, heat) in heat {
        *sums.entry(note).or_default() += heat;
    }
    let mut notes: Vec<(Id, i64)> = sums.into_iter().filter(|(_, heat)| *heat >= least).collect();
    notes.sort_unstable_by_key(|(note, heat)| Reverse((*heat, *note)));
    notes.truncate(Ranking::MOST);
    notes.into_iter().map(|(note, _)| NoteId(note)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Span;

    fn note(id: i64) -> NoteId {
        NoteId(Id::try_from(id).unwrap())
    }

    proptest! {
        #[test]
        fn the_hotter_note_comes_first_and_on_a_tie_the_newer_one(
            heat in prop::collection::btree_map(1..5_000_i64, 1..50_i64, 0..1_500),
        ) {
            let notes = heat.iter().map(|(id, heat)| (note(*id).0, *heat)).collect();
            let ranked = ranked(notes, 1);
            prop_assert_eq!(ranked.len(), heat.len().min(Ranking::MOST));
            for pair in ranked.windows(2) {
                let rank = |note: NoteId| (heat[&note.get()], note);
                prop_assert!(rank(pair[0]) > rank(pair[1]));
            }
        }
    }

    #[test]
    fn an_id_identifies_the_window_and_the_order() {
        let day = HotWindow::Last(Span::Day);
        let ranking = Ranking::of(day, vec![note(1), note(2)]);
        assert_eq!(ranking, Ranking::of(day, vec![note(1), note(2)]));
        assert_ne!(ranking.id, Ranking::of(day, vec![note(2), note(1)]).id);
        assert_ne!(ranking.id, Ranking::of(HotWindow::All, vec![note(1), note(2)]).id);
        assert_eq!(ranking.id.to_string().parse(), Ok(ranking.id));
    }
}
