//! Rankings of hot notes: the notes with most likes and collects in a time window.

use std::{fmt, str::FromStr, sync::Arc};

use crate::{DomainError, DomainResult, Note, Plaudit};
use plaudit_catalogue::{
    HotWindow, Ranking, RankingId,
    primitives::{NoteId, PageRequest, Slice},
};

/// Cursor in a ranking. It names a snapshot, so the order is stable while somebody pages through it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HotNotesCursor {
    window: HotWindow,
    snapshot: RankingId,
    /// Position in the ranking, from 1.
    rank: usize,
}

impl fmt::Display for HotNotesCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.window.name(), self.snapshot, self.rank)
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a cursor of hot notes")]
pub struct ParseHotNotesCursorError;

impl FromStr for HotNotesCursor {
    type Err = ParseHotNotesCursorError;

    fn from_str(text: &str) -> Result<Self, ParseHotNotesCursorError> {
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
        parse().ok_or(ParseHotNotesCursorError)
    }
}

/// The hottest notes of a window, hottest first; at most 1,000 in all pages. Removed and hidden notes are left out.
/// For ten minutes later pages continue the order of the first one; after that, they continue at the same
/// rank of the present order.
///
/// # Errors
/// [`DomainError::BadInput`] for a cursor of another window.
pub async fn hot_notes(
    plaudit: &Plaudit,
    window: HotWindow,
    page: &PageRequest<HotNotesCursor>,
) -> DomainResult<Slice<(HotNotesCursor, Arc<Note>)>> {
    let PageRequest { first, after } = *page;
    let ranking = ranking(plaudit, window, after).await?;
    let begin = after.map_or(0, |cursor| cursor.rank);
    let mut rank = begin;
    let mut items = Vec::with_capacity(first + 1);
    while items.len() <= first {
        // If many of them are removed, take twice as many each time.
        let next = next(&ranking, rank, (first + 1).max(rank - begin));
        if next.is_empty() {
            break;
        }
        for note in plaudit.notes().get_many(next).await? {
            rank += 1;
            let cursor = HotNotesCursor { window, snapshot: ranking.id, rank };
            items.extend(note.filter(|note| note.is_public()).map(|note| (cursor, note)));
        }
    }
    Ok(page.slice(items))
}

async fn ranking(
    plaudit: &Plaudit,
    window: HotWindow,
    after: Option<HotNotesCursor>,
) -> DomainResult<Arc<Ranking>> {
    match after {
        None => Ok(plaudit.inner.rankings.current(window).await?),
        Some(cursor) if cursor.window == window => {
            Ok(plaudit.inner.rankings.snapshot(window, cursor.snapshot).await?)
        }
        Some(_) => Err(DomainError::bad_input(
            "after",
            "after: this cursor belongs to another window; pass an endCursor of the same window",
        )),
    }
}

/// At most `most` notes after a rank.
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
        fn a_cursor_parses_back(
            window in prop::sample::select(HotWindow::ALL), snapshot: u64, rank: usize,
        ) {
            let snapshot = format!("{snapshot:016x}").parse().unwrap();
            let cursor = HotNotesCursor { window, snapshot, rank };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }

        #[test]
        fn any_text_parses_without_a_panic(text in ".*") {
            let _ = text.parse::<HotNotesCursor>();
        }
    }

    #[test]
    fn invalid_cursors_are_rejected() {
        for text in ["", "note:42", "day:1", "year:1:1", "day:x:1", "day:1:-1", "day:1:1:1"] {
            assert_eq!(text.parse::<HotNotesCursor>(), Err(ParseHotNotesCursorError), "{text}");
        }
    }
}
