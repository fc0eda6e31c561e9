//! Read-through cache of the places of the newest notes, for the first page of the feed. Texts come from the cache of
//! notes. Never holds a list that was read before an invalidation of a note that may be in it.
//!
//! An invalidation names an id, and the order is by time: a high id may be of a note from long ago. So a note drops the
//! list unless this process has its row, whose time never changes, and it lies behind the list. Most changes of old
//! notes are comments, which are written by those who have just read the note.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use super::kept::Kept;
use plaudit_catalogue::primitives::{Moment, NoteId, PageRequest};
use plaudit_store::{
    StoreError, StoreResult,
    coalescer::Coalescer,
    expiring::Expiring,
    sql::{Db, content::note_lists},
};

/// The longest page, and one note more, which shows whether there is a next page.
const LONGEST: PageRequest<Moment> = PageRequest { first: 101, after: None };
const LENGTH: usize = LONGEST.first;
/// Upper bound for showing rows that somebody changed by SQL, without an invalidation.
const FRESH: Duration = Duration::from_secs(1);
/// How long a list is kept for the time in which PostgreSQL is away. Redis has its notes for a day.
const LIFE: Duration = Duration::from_hours(24);

/// Newest first.
type NewestPlaces = Arc<[Moment]>;

pub struct NewestNotes {
    kept: Arc<Kept<(), List>>,
    reads: Coalescer<(), NewestPlaces>,
    db: Db,
}

/// The places that were read last, without notes that were changed since.
#[derive(Clone, PartialEq, Eq, Debug)]
struct List {
    places: NewestPlaces,
    /// When its read began; `None` if a note may be missing since then.
    current_at: Option<Instant>,
}

impl NewestNotes {
    pub(super) fn new(db: Db) -> Self {
        let kept = Arc::new(Kept::new(Expiring::of_entries(1, LIFE)));
        Self { kept, reads: Coalescer::default(), db }
    }

    /// Places of the newest notes, newest first: at most 101. No statement if they are cached. While PostgreSQL
    /// is away, those that were read last, without notes that were changed since.
    pub async fn places(&self) -> StoreResult<NewestPlaces> {
        if let Some(list) = self.kept.get(&()).filter(|list| list.is_fresh(Instant::now())) {
            return Ok(list.places);
        }
        let (kept, db) = (Arc::clone(&self.kept), self.db.clone());
        let read = |_| async move { Ok(HashMap::from([((), read(&kept, &db).await?)])) };
        let places = match self.reads.get(&[()], read).await {
            Ok(mut read) => read.remove(&()),
            // Nothing is created meanwhile.
            Err(error) if error.is_postgresql_away() => {
                return self.kept.get(&()).map(|list| list.places).ok_or(error);
            }
            Err(error) => return Err(error),
        };
        places.ok_or_else(|| StoreError::Unexpected("the newest notes were not read".into()))
    }

    /// A note was created, removed or changed. `place`: `None` if it is not known.
    pub(super) fn invalidate(&self, note: NoteId, place: Option<Moment>) {
        self.kept.changed_to((), |list| Some(list.after_change(note, place)));
        self.reads.leave(&());
    }

    pub(super) fn invalidate_all(&self) {
        self.kept.changed_to((), |list| Some(List { current_at: None, ..list }));
        self.reads.leave(&());
    }
}

async fn read(kept: &Kept<(), List>, db: &Db) -> StoreResult<NewestPlaces> {
    let (mark, current_at) = (kept.mark(), Some(Instant::now()));
    let places: NewestPlaces = note_lists::newest_notes(db, LONGEST).await?.items.into();
    kept.keep((), List { places: Arc::clone(&places), current_at }, mark);
    Ok(places)
}

impl List {
    fn is_fresh(&self, now: Instant) -> bool {
        self.current_at.is_some_and(|at| now.duration_since(at) < FRESH)
    }

    /// A note that was changed may be hidden or removed.
    fn after_change(mut self, note: NoteId, place: Option<Moment>) -> Self {
        self.current_at = self.current_at.filter(|_| !may_contain(&self.places, place));
        if self.places.iter().any(|place| place.id == note.0) {
            self.places = self.places.iter().filter(|place| place.id != note.0).copied().collect();
        }
        self
    }
}

/// Whether a note at this place is in the list, or would be if everybody saw it.
fn may_contain(places: &[Moment], note: Option<Moment>) -> bool {
    let oldest = places.last().filter(|_| places.len() >= LENGTH);
    oldest.is_none_or(|oldest| note.is_none_or(|note| note >= *oldest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::primitives::Id;

    fn place(micros: usize, id: i64) -> Moment {
        Moment { micros: micros as i64, id: Id::try_from(id).unwrap() }
    }

    /// A list whose oldest note is of 1,000 and has the id 7.
    fn full() -> NewestPlaces {
        (1_000..1_000 + LENGTH).rev().map(|micros| place(micros, 7)).collect()
    }

    fn list(places: &NewestPlaces) -> (List, Instant) {
        let now = Instant::now();
        (List { places: Arc::clone(places), current_at: Some(now) }, now)
    }

    fn changed(at: Option<Moment>) -> impl FnOnce(List) -> List {
        move |list| list.after_change(NoteId(Id::try_from(at.map_or(9_000, |at| at.id.get())).unwrap()), at)
    }

    #[test]
    fn only_a_note_that_the_list_may_contain_invalidates_it() {
        for (note, remains) in [
            (Some(place(999, 9_000)), true), // from long ago, with a high id
            (Some(place(1_000, 6)), true),
            (Some(place(1_000, 7)), false),
            (Some(place(1_050, 1)), false),
            (Some(place(5_000, 9_001)), false),
            (None, false),
        ] {
            let (list, now) = list(&full());
            assert_eq!(changed(note)(list).is_fresh(now), remains, "{note:?}");
        }
        // A short list would contain every note.
        let (list, now) = list(&NewestPlaces::from([place(7, 7)]));
        assert!(!changed(Some(place(1, 1)))(list).is_fresh(now));
    }

    #[test]
    fn a_note_that_was_changed_is_left_out_of_what_is_shown_while_postgresql_is_away() {
        let (list, _) = list(&NewestPlaces::from([place(9, 9), place(8, 8)]));
        assert_eq!(*changed(Some(place(9, 9)))(list).places, [place(8, 8)]);
    }

    #[tokio::test]
    async fn a_read_during_which_a_note_was_invalidated_is_not_cached() {
        let notes = NewestNotes::new(Db::for_requests("postgres://127.0.0.1:1/nowhere", 1).unwrap());
        let is_fresh = || notes.kept.get(&()).is_some_and(|list| list.is_fresh(Instant::now()));
        for note in [None, Some(place(1_050, 7)), Some(place(1, 7))] {
            notes.invalidate_all();
            let before = notes.kept.mark();
            notes.invalidate(NoteId(Id::try_from(7).unwrap()), note); // its transaction committed after the read
            notes.kept.keep((), list(&full()).0, before);
            assert!(!is_fresh());
            notes.kept.keep((), list(&full()).0, notes.kept.mark());
            assert!(is_fresh());
        }
        notes.invalidate_all();
        assert!(!is_fresh());
    }

    #[test]
    fn a_list_expires_for_the_sake_of_rows_that_were_written_by_sql() {
        let (list, now) = list(&full());
        assert!(list.is_fresh(now) && !list.is_fresh(now + FRESH));
    }
}
