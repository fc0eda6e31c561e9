//! Hot notes: those that were liked and collected most.

mod cache;

use std::{fmt, str::FromStr, sync::Arc};

pub(super) use cache::Rankings;
use cache::{Ranking, RankingId};

use super::{DomainError, DomainResult, Note, Plaudit};
use crate::{
    catalogue::HotWindow,
    primitives::{NoteId, PageRequest, Slice},
};

/// A place in a list of hot notes, of which the order stays as it was for who pages through it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HotPlace {
    window: HotWindow,
    snapshot: RankingId,
    /// From 1.
    rank: usize,
}

impl fmt::Display for HotPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.window.name(), self.snapshot, self.rank)
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a place in a list of hot notes")]
pub struct ParseHotPlaceError;

impl FromStr for HotPlace {
    type Err = ParseHotPlaceError;

    fn from_str(text: &str) -> Result<Self, ParseHotPlaceError> {
        let parse = || {
            let [window, snapshot, rank] = *text.split(':').collect::<Vec<_>>() else {
                return None;
            };
            Some(Self {
                window: HotWindow::from_name(window)?,
                snapshot: snapshot.parse().ok()?,
                rank: rank.parse().ok()?,
            })
        };
        parse().ok_or(ParseHotPlaceError)
    }
}

impl Plaudit {
    /// The hottest notes of a window, the hottest first; at most 1,000 in
    /// all pages. Removed notes are left out. Later pages go on in the order of the first one for ten
    /// minutes, then behind the same rank in the order of that moment.
    ///
    /// # Errors
    /// [`DomainError::BadInput`] for a place in the list of another window.
    pub async fn hot_notes(
        &self,
        window: HotWindow,
        page: &PageRequest<HotPlace>,
    ) -> DomainResult<Slice<(HotPlace, Arc<Note>)>> {
        let PageRequest { first, after } = *page;
        let ranking = self.ranking(window, after).await?;
        let begin = after.map_or(0, |place| place.rank);
        let mut rank = begin;
        let mut items = Vec::with_capacity(first + 1);
        while items.len() <= first {
            // Where many are removed, twice as many each time.
            let next = next(&ranking, rank, (first + 1).max(rank - begin));
            if next.is_empty() {
                break;
            }
            let mut present = self.notes().get_many(next).await?;
            for note in next {
                rank += 1;
                let place = HotPlace { window, snapshot: ranking.id, rank };
                items.extend(present.remove(note).map(|note| (place, note)));
            }
        }
        Ok(page.slice(items))
    }

    async fn ranking(&self, window: HotWindow, after: Option<HotPlace>) -> DomainResult<Arc<Ranking>> {
        match after {
            None => Ok(self.inner.rankings.current(window).await?),
            Some(place) if place.window == window => {
                Ok(self.inner.rankings.kept(window, place.snapshot).await?)
            }
            Some(_) => Err(DomainError::bad_input(
                "after",
                "after: it is a cursor of another window; pass an endCursor of the same window",
            )),
        }
    }
}

/// The notes behind a rank, at most so many.
fn next(ranking: &Ranking, rank: usize, most: usize) -> &[NoteId] {
    let behind = ranking.notes.get(rank..).unwrap_or_default();
    &behind[..most.min(behind.len())]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_place_reads_back_as_it_was_written(
            window in prop::sample::select(HotWindow::ALL), snapshot: u64, rank: usize,
        ) {
            let snapshot = format!("{snapshot:016x}").parse().unwrap();
            let place = HotPlace { window, snapshot, rank };
            prop_assert_eq!(place.to_string().parse(), Ok(place));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in ".*") {
            let _ = text.parse::<HotPlace>();
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["", "note:42", "day:1", "year:1:1", "day:x:1", "day:1:-1", "day:1:1:1"] {
            assert_eq!(text.parse::<HotPlace>(), Err(ParseHotPlaceError), "{text}");
        }
    }
}
